/** Curves over a value: the common part of distribution functions, densities and the figures of a report. */
import type { EChartsOption } from "echarts";
import { type Extent, extent, pointed, xAxis, yAxis } from "../axis";
import { base, haloed, tooltip } from "../chart";
import { lowerBound, reduced } from "../decimate";
import type { Table } from "../figure";
import type { Dash, Ink } from "../palette";
import type { Numbers } from "../report";
import { placeOf, type TipRow, tip } from "../tooltip";

/** Number of buckets to which more points are reduced, because no screen has more columns. */
const BUCKETS = 1000;

export interface Curve {
  name: string;
  x: Numbers;
  y: Numbers;
  /** Half-widths around y, if any. */
  error?: Numbers;
  colour: string;
  dash: Dash;
  /** Width of the line in pixels, if it is not that of the others. */
  width?: number;
  mark: string | null;
  /** Offset of the marks along a line, 0 to 1 of their spacing. */
  phase?: number;
  /** Fill colour of marks in outline, so that the curves below stay visible. */
  hollow?: string;
  /** Drawing order: higher ones are on top. */
  level?: number;
  /** Texts at the points, one for each; none without. */
  labels?: readonly string[];
  /** True for points without a line between them. */
  points?: boolean;
  /** True for a mark on every point, not only on the few that tell lines apart. */
  allMarked?: boolean;
}

export interface Axis {
  name: string;
  unit: string;
  log: boolean;
  /** Fixed limits, for fractions. */
  limits?: { min: number; max: number };
  zero?: boolean;
}

/** Returns the option of a chart of curves on two continuous axes, with further series behind them. */
export function curvesOption(
  ink: Ink,
  curves: readonly Curve[],
  x: Axis,
  y: Axis,
  behind: readonly object[] = [],
): EChartsOption {
  const xs = extent(
    curves.map((curve) => curve.x),
    x.log,
  );
  const ys = extent(
    curves.flatMap((curve) => [curve.y, ...bounds(curve)]),
    y.log,
  );
  return {
    ...base(ink),
    grid: { left: 62, right: 28, top: 36, bottom: 46, outerBoundsMode: "none" },
    xAxis: { ...xAxis(request(ink, x, xs)), ...x.limits },
    yAxis: { ...yAxis(request(ink, y, ys)), ...y.limits },
    tooltip: {
      ...tooltip(ink),
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: ink.soft, width: 1 }, snap: false },
      formatter: (parameters: unknown) => tipOf(parameters, curves, x, y),
    },
    series: [...behind, ...curves.flatMap((curve) => seriesOf(curve, ink, x.log, y.log))],
  } as EChartsOption;
}

const request = (ink: Ink, axis: Axis, range: Extent): Parameters<typeof xAxis>[0] => ({
  name: axis.name,
  unit: axis.unit,
  range,
  log: axis.log,
  ink,
  zero: axis.zero ?? true,
});

function bounds(curve: Curve): Numbers[] {
  if (!curve.error || curve.error.length === 0) return [];
  return [-1, 1].map((sign) =>
    curve.y.map((value, index) => {
      const half = curve.error?.[index] ?? null;
      return value === null || half === null ? null : value + sign * half;
    }),
  );
}

/** Returns the points with their texts; null without, and of so many points that they are reduced. */
function labelled({ labels, x, colour }: Curve, data: readonly unknown[][], ink: Ink): object[] | null {
  if (labels === undefined || data.length !== labels.length || data.length !== x.length) return null;
  return data.map((value, index) => ({
    value,
    label: {
      show: true,
      position: "right",
      distance: 4,
      formatter: labels[index],
      color: colour,
      fontSize: 11,
      ...haloed(ink),
    },
  }));
}

function seriesOf(curve: Curve, ink: Ink, xLog: boolean, yLog: boolean): object[] {
  const data = reduced(curve.x, curve.y)
    .extremes(BUCKETS)
    .filter(([x]) => !xLog || x > 0)
    .map(([x, y]) => [x, y !== null && yLog && y <= 0 ? null : y]);
  const marks = curve.mark === null ? [] : data.filter(([, y]) => y !== null);
  const step = curve.points || curve.allMarked ? 1 : Math.max(1, Math.floor(marks.length / 10));
  const series: object[] = [];
  if (!curve.points) {
    series.push({
      type: "line",
      name: curve.name,
      data,
      // A single point has no visible line.
      showSymbol: data.length === 1,
      silent: true,
      z: curve.level ?? 2,
      lineStyle: {
        color: curve.colour,
        width: curve.width ?? 1.8,
        type: curve.dash ?? "solid",
        join: "round",
      },
      itemStyle: { color: curve.colour },
    });
  }
  if (curve.points || curve.mark !== null) {
    series.push({
      type: "scatter",
      name: curve.name,
      symbol: curve.mark ?? "circle",
      symbolSize: curve.points && curve.hollow !== undefined ? 11 : 8,
      silent: true,
      z: (curve.level ?? 2) + 1,
      itemStyle: {
        color: curve.hollow ?? curve.colour,
        borderColor: curve.colour,
        borderWidth: 1.8,
        opacity: 1,
      },
      data:
        labelled(curve, data, ink) ??
        (curve.mark === null ? data : marks).filter(
          (_, index) => index % step === Math.floor(step * (curve.phase ?? 0.5)),
        ),
    });
  }
  if (curve.error?.some((half) => half !== null && half > 0)) series.push(errorBars(curve));
  return series;
}

/** Returns a vertical stroke with a foot at either end. */
export function footed(x: number, low: number, high: number, stroke: string): object {
  const line = (x1: number, y1: number, x2: number, y2: number): object => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style: { stroke, lineWidth: 1.2 },
  });
  return {
    type: "group",
    children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)],
  };
}

/** Returns an error bar for every point of a curve that has a half-width. */
function errorBars(curve: Curve): object {
  return {
    type: "custom",
    name: curve.name,
    silent: true,
    clip: true,
    data: curve.x.flatMap((x, index) => {
      const y = curve.y[index] ?? null;
      const half = curve.error?.[index] ?? null;
      return x === null || y === null || half === null || half <= 0 ? [] : [[x, y - half, y + half]];
    }),
    encode: { x: 0, y: [1, 2] },
    renderItem: (
      _: unknown,
      api: { value(index: number): number; coord(point: [number, number]): [number, number] },
    ) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      return footed(x, low, high, curve.colour);
    },
  };
}

/**
 * Returns the value of a curve at x: that of the last point not beyond it. The x of the curve must not
 * decrease.
 */
function valueAt(curve: Curve, x: number): number | null {
  const after = lowerBound(curve.x, x);
  const index = curve.x[after] === x ? after : after - 1;
  return index < 0 ? null : (curve.y[index] ?? null);
}

function tipOf(parameters: unknown, curves: readonly Curve[], x: Axis, y: Axis): HTMLElement | string {
  const at = placeOf(parameters);
  if (!Number.isFinite(at)) return "";
  const rows: TipRow[] = curves
    .slice(0, 24)
    .map((curve) => ({ colour: curve.colour, cells: [curve.name, pointed(valueAt(curve, at), y.unit)] }));
  return tip(`${x.name}: ${pointed(at, x.unit)}`, [], rows);
}

/** Returns all points of some curves as a table in base units. */
export function curvesTable(curves: readonly Curve[], x: string, y: string): Table {
  const errors = curves.some((curve) => curve.error && curve.error.length > 0);
  return {
    columns: ["curve", x, y, ...(errors ? ["half_width"] : [])],
    rows: curves.flatMap((curve) =>
      curve.x.map((value, index) => [
        curve.name,
        value,
        curve.y[index] ?? null,
        ...(errors ? [curve.error?.[index] ?? null] : []),
      ]),
    ),
  };
}
