/** Figures that a report contains as data: reproductions of a paper's figures, sweeps, bounds. */
import type { EChartsOption } from "echarts";
import { axisLook, extent, pointed, yAxis } from "../axis";
import { base, haloed, tooltip } from "../chart";
import { axisChoice, type Figure, type Settings } from "../figure";
import { quantity, shortened } from "../format";
import type {
  Axis as AxisData,
  FigureBound,
  Figure as FigureData,
  FigureSeries,
} from "../generated/lockgate";
import { type Dash, dashOf, type Ink, MODE_NAMES, strokeOf } from "../palette";
import type { Numbers } from "../report";
import { tip } from "../tooltip";
import { type Axis, type Curve, curvesOption, curvesTable, footed } from "./curves";

const HEIGHT = 320;
/** Width and height in pixels beside the plot, and height of a line of labels. */
const [SIDES, FOOT, LINE] = [90, 82, 14];
const PAPER_MARKS = ["diamond", "triangle", "rect", "circle"];
/** Marks of points, by the name of their series where strokes are those of modes. */
const POINT_MARKS = ["circle", "triangle", "rect", "diamond"];

/**
 * Series of one name in several modes are the same quantity, measured in several ways, and share a colour. If
 * there is only one name, the colours distinguish the modes too.
 */
function colourOf(figure: FigureData, ink: Ink, series: FigureSeries): string {
  if (series.bound) return ink.bad;
  const names = namesOf(figure);
  if (names.length === 1) {
    const modes = { sim: 0, live: 1, theory: ink.series.length - 1, paper: 2 };
    return ink.series[modes[series.mode]] as string;
  }
  return ink.series[names.indexOf(series.name) % ink.series.length] as string;
}

/** Returns the series that are measured, without bounds. */
const measuredOf = (figure: FigureData): FigureSeries[] => figure.series.filter(({ bound }) => !bound);

const namesOf = (figure: FigureData): string[] => [...new Set(measuredOf(figure).map((item) => item.name))];

const several = (figure: FigureData): boolean =>
  new Set(
    measuredOf(figure)
      .filter((item) => item.mode !== "paper")
      .map((item) => item.mode),
  ).size > 1;

const label = (figure: FigureData, series: FigureSeries): string => {
  const { bound } = series;
  if (bound) return `${series.name} ${quantity(bound.value, unitOf(figure, bound))}`;
  if (series.name === "") return MODE_NAMES[series.mode];
  const oneMode = measuredOf(figure).every((other) => other.mode === series.mode);
  return oneMode ? series.name : `${series.name} (${MODE_NAMES[series.mode]})`;
};

function curvesOf(figure: FigureData, ink: Ink): Curve[] {
  const mixed = several(figure);
  const names = namesOf(figure);
  let papers = 0;
  return figure.series.map((series) => {
    const place = names.indexOf(series.name);
    // An outlined bar stands for a mode.
    const isBound = Boolean(series.bound);
    const dash: Dash =
      mixed || isBound ? dashOf(series.mode) : figure.kind === "bar" ? null : strokeOf(place);
    const paper = series.mode === "paper";
    const few = series.x.length <= 40 && series.mode !== "theory";
    // The point that a search recommends.
    const chosen = figure.kind === "scatter" && (series.name === "winner" || series.name === "knee");
    return {
      name: label(figure, series),
      x: series.x,
      y: series.y,
      error: series.error ?? [],
      ...(series.labels === undefined ? {} : { labels: series.labels }),
      colour: colourOf(figure, ink, series),
      dash,
      mark: isBound
        ? null
        : paper
          ? (PAPER_MARKS[papers++ % PAPER_MARKS.length] ?? "diamond")
          : chosen
            ? "diamond"
            : few || figure.kind === "scatter"
              ? (POINT_MARKS[mixed && series.mode !== "theory" ? place % POINT_MARKS.length : 0] ?? null)
              : null,
      ...(paper || (mixed && series.mode === "sim") ? { hollow: ink.panel } : {}),
      level: paper || chosen ? 8 : series.mode === "theory" ? 6 : 2,
      points: paper || (figure.kind === "scatter" && series.mode !== "theory"),
      allMarked: few,
    };
  });
}

/** Radius of a point with its distance from its text, and width of a letter, in pixels. */
const [POINT, LETTER] = [8, 8];

/** Returns the curves without the texts that would lie over a point or another text: the table has them. */
function uncrowded(curves: readonly Curve[], log: readonly [boolean, boolean], width: number): Curve[] {
  const scaled = (value: number | null, axis: 0 | 1): number =>
    log[axis] ? Math.log(Math.max(value ?? 0, 1e-300)) : (value ?? 0);
  const room = [width - SIDES, HEIGHT - FOOT] as const;
  const ends = ([0, 1] as const).map((axis) => {
    const all = curves.flatMap(({ x, y }) => [...(axis === 0 ? x : y)].map((value) => scaled(value, axis)));
    return [Math.min(...all), Math.max(...all)] as const;
  }) as [readonly [number, number], readonly [number, number]];
  /** Returns where a value is, in pixels; the axes reach at least as far as the values. */
  const placeOf = (value: number | null, axis: 0 | 1): number => {
    const [low, high] = ends[axis];
    return room[axis] * (high > low ? (scaled(value, axis) - low) / (high - low) : 0.5);
  };
  const placesOf = ({ x, y }: Curve): [number, number][] =>
    [...x].map((value, index) => [placeOf(value, 0), placeOf(y[index] ?? null, 1)]);
  const points = curves.filter(({ labels }) => labels !== undefined).flatMap(placesOf);
  const taken: [number, number, number][] = [];
  // The chosen point comes first.
  const order = [...curves].sort((a, b) => (b.level ?? 0) - (a.level ?? 0));
  const labels = new Map(
    order.map((curve) => [
      curve,
      placesOf(curve).map(([x, y], index) => {
        const label = curve.labels?.[index] ?? "";
        const end = x + POINT + LETTER * label.length;
        const isBeside = (other: number): boolean => Math.abs(other - y) < LINE;
        const isCrowded =
          points.some((point) => point[0] > x && point[0] < end + POINT && isBeside(point[1])) ||
          taken.some(([from, to, at]) => from < end && to > x && isBeside(at));
        if (isCrowded) return "";
        taken.push([x, end, y]);
        return label;
      }),
    ]),
  );
  return curves.map((curve) =>
    curve.labels === undefined ? curve : { ...curve, labels: labels.get(curve) ?? [] },
  );
}

/** Returns the unit of the axis that a bound is on. */
const unitOf = (figure: FigureData, { is_of_x }: FigureBound): string => figure[is_of_x ? "x" : "y"].unit;

/** Returns the corner for the label of a bound, in the part that it forbids: another one for each kind. */
function cornerOf({ is_of_x, is_lower }: FigureBound): string {
  if (is_of_x) return is_lower ? "insideBottomLeft" : "insideTopRight";
  return is_lower ? "insideBottomRight" : "insideTopLeft";
}

/** Returns the shading of the parts of a figure that bounds forbid; labels in one corner are below each other. */
function beyond(figure: FigureData, ink: Ink): object[] {
  const taken = new Map<string, number>();
  return figure.series.flatMap(({ bound }) => {
    if (!bound) return [];
    const { is_of_x, is_lower, value } = bound;
    const ends = is_lower ? [-Infinity, value] : [value, Infinity];
    const position = cornerOf(bound);
    const line = taken.get(position) ?? 0;
    taken.set(position, line + 1);
    return [
      {
        type: "line",
        data: [],
        silent: true,
        markArea: {
          silent: true,
          itemStyle: { color: ink.bad, opacity: 0.1 },
          label: {
            show: true,
            position,
            offset: [0, (position.startsWith("insideTop") ? 1 : -1) * line * LINE],
            color: ink.bad,
            fontSize: 11,
            fontWeight: 600,
            ...haloed(ink),
          },
          data: [
            // Without an end, up to the edge of the picture.
            ends.map((end, index) => ({
              ...(index === 0
                ? { name: `misses ${is_lower ? "≥" : "≤"} ${quantity(value, unitOf(figure, bound))}` }
                : {}),
              coord: is_of_x
                ? [end, index === 0 ? -Infinity : Infinity]
                : [index === 0 ? -Infinity : Infinity, end],
            })),
          ],
        },
      },
    ];
  });
}

export function extraFigure(figure: FigureData, settings: Settings): Figure {
  const axis = (from: AxisData, key: string): Axis => ({
    name: from.label,
    unit: from.unit,
    log: (settings[key] ?? (from.log ? "log" : "linear")) === "log",
    zero: key === "y",
  });
  const [x, y] = [axis(figure.x, "x"), axis(figure.y, "y")];
  const isBars = figure.kind === "bar";
  return {
    id: `extra-${figure.id}`,
    title: figure.title,
    caption: figure.caption,
    empty: figure.series.some((series) => series.y.some((value) => value !== null))
      ? null
      : "This figure has no points.",
    choices: [...(isBars ? [] : [axisChoice("x", x.log)]), axisChoice("y", y.log)],
    key: (ink) => [
      {
        label: "",
        entries: curvesOf(figure, ink).map((curve) => ({
          label: curve.name,
          colour: curve.colour,
          kind: isBars && curve.points !== true ? "swatch" : "line",
          dash: curve.points ? [0.01, 99] : curve.dash,
          ...(curve.hollow === undefined ? {} : { hollow: curve.hollow }),
          mark: curve.mark,
        })),
      },
    ],
    height: () => HEIGHT,
    draw: (ink, width) => ({
      option: isBars
        ? barsOption(figure, ink, y, width)
        : curvesOption(
            ink,
            uncrowded(curvesOf(figure, ink), [x.log, y.log], width),
            x,
            y,
            beyond(figure, ink),
          ),
    }),
    table: () =>
      curvesTable(
        curvesOf(figure, { series: ["#000"] } as unknown as Ink),
        column(figure.x, "x"),
        column(figure.y, "y"),
      ),
  };
}

const column = (axis: AxisData, otherwise: string): string =>
  [axis.label || otherwise, axis.unit === "" ? "" : `[${axis.unit}]`].filter((part) => part !== "").join(" ");

/**
 * Returns the style of a bar, whose outline corresponds to a line's stroke: simulation dashed and pale, live
 * full, theory dotted and empty.
 */
function barLook(curve: Curve): object {
  if (curve.dash === null) return { color: curve.colour };
  return {
    color: `${curve.colour}${curve.hollow === undefined ? "00" : "40"}`,
    borderColor: curve.colour,
    borderWidth: 1.6,
    borderType: curve.dash,
  };
}

/**
 * Draws half-widths on bars, each over its own bar. A bar's position within its group is computed as the
 * chart library computes it.
 */
function barErrors(
  figure: FigureData,
  ink: Ink,
  curves: readonly Curve[],
  names: readonly string[],
): object[] {
  const bars = figure.series.filter((_, at) => curves[at]?.points !== true);
  return bars.flatMap((series, place) => {
    const data = series.x.flatMap((x, at) => {
      const [y, half] = [series.y[at] ?? null, series.error?.[at] ?? null];
      return y === null || half === null || half <= 0 ? [] : [[names.indexOf(String(x)), y - half, y + half]];
    });
    if (data.length === 0) return [];
    return [
      {
        type: "custom",
        silent: true,
        z: 6,
        data,
        encode: { x: 0, y: [1, 2] },
        renderItem: (
          _: unknown,
          api: {
            value(index: number): number;
            coord(point: [number, number]): [number, number];
            barLayout(request: object): { offsetCenter: number }[];
          },
        ) => {
          const shift = api.barLayout({ count: bars.length, barMaxWidth: 34 })[place]?.offsetCenter ?? 0;
          const [x, low] = api.coord([api.value(0), api.value(1)]);
          const [, high] = api.coord([api.value(0), api.value(2)]);
          return footed(x + shift, low, high, ink.text);
        },
      },
    ];
  });
}

/** Returns the number of a column where a series has this position; null if it has none. */
const valueAt = (series: FigureSeries, column: Numbers, name: string): number | null =>
  column[series.x.map(String).indexOf(name)] ?? null;

/** Returns a series of bars; of points, for the values of a paper. */
function barsOf(curve: Curve, ink: Ink): object {
  if (!curve.points) return { type: "bar", name: curve.name, barMaxWidth: 34, itemStyle: barLook(curve) };
  return {
    type: "scatter",
    name: curve.name,
    symbol: curve.mark ?? "diamond",
    symbolSize: 10,
    itemStyle: { color: ink.panel, borderColor: curve.colour, borderWidth: 2 },
    z: 8,
  };
}

function barsOption(figure: FigureData, ink: Ink, y: Axis, width: number): EChartsOption {
  const names = [...new Set(figure.series.flatMap((series) => series.x.map(String)))];
  const curves = curvesOf(figure, ink);
  const range = extent(
    figure.series.map((series) =>
      series.y.map((item, at) => (item === null ? null : item + (series.error?.[at] ?? 0))),
    ),
    y.log,
  );
  const letters = Math.max(4, Math.floor((width - 80) / Math.max(1, names.length) / 6.5));
  return {
    ...base(ink),
    grid: { left: 62, right: 18, top: 36, bottom: 46, outerBoundsMode: "none" },
    xAxis: {
      ...axisLook(ink),
      type: "category",
      data: names,
      name: figure.x.label,
      nameLocation: "middle",
      nameGap: 26,
      splitLine: { show: false },
      axisLabel: {
        color: ink.text,
        fontSize: 11,
        hideOverlap: true,
        formatter: (name: string) => shortened(name, letters),
      },
    },
    yAxis: yAxis({ name: y.name, unit: y.unit, range, log: y.log, ink }),
    tooltip: {
      ...tooltip(ink),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (parameters: unknown) => {
        const name = names[(parameters as { dataIndex: number }[])[0]?.dataIndex ?? -1] ?? "";
        const rows = figure.series.map((series, at) => {
          const half = valueAt(series, series.error ?? [], name);
          const width = half === null ? "" : ` ± ${pointed(half, y.unit)}`;
          return {
            colour: curves[at]?.colour ?? ink.text,
            cells: [label(figure, series), pointed(valueAt(series, series.y, name), y.unit) + width],
          };
        });
        return tip(name, [], rows);
      },
    },
    series: [
      ...figure.series.map((series, at) => ({
        ...barsOf(curves[at] as Curve, ink),
        data: names.map((name) => valueAt(series, series.y, name)),
      })),
      ...barErrors(figure, ink, curves, names),
    ],
  } as EChartsOption;
}
