/** Small multiples: a metric over one variable, a panel for each value of another, all on the same axes. */
import type { EChartsOption } from "echarts";
import { axisLook, extent, pointed, variantsWantLog, xAxis, yAxis } from "../axis";
import { base, tooltip } from "../chart";
import { axisChoice, type Figure, type Settings } from "../figure";
import { shortened, slug } from "../format";
import type { Variable, VariantMetric, Variants } from "../generated/lockgate";
import type { Ink } from "../palette";
import { tip } from "../tooltip";
import { metricName, varying } from "../variants";
import { footed } from "./curves";

const PANEL = 190;
/** Largest number of panels; more would be unreadable. */
const MOST = 16;

interface Point {
  at: number;
  x: number;
  mean: number;
  half: number | null;
}

interface Panel {
  title: string;
  /** Value of the variable by which the panels differ. */
  value: string;
  points: Point[];
}

interface Request {
  data: Variants;
  metric: VariantMetric;
  /** Variable of the horizontal axis, and the one by which the panels differ. */
  x: { variable: Variable; index: number };
  by: { variable: Variable; index: number };
}

/**
 * Chooses two variables of a comparison. The numeric one, or the one with more values, is the horizontal
 * axis.
 */
export function pairOf(data: Variants): Pick<Request, "x" | "by"> | null {
  const [first, second] = varying(data);
  if (!first || !second) return null;
  const weight = ({ variable }: typeof first): number =>
    (variable.numbers.length > 0 ? 1000 : 0) + variable.values.length;
  return weight(first) >= weight(second) ? { x: first, by: second } : { x: second, by: first };
}

function panelsOf({ data, metric, x, by }: Request): Panel[] {
  return by.variable.values.slice(0, MOST).map((value, panel) => ({
    title: `${shortened(by.variable.name, 22)}: ${shortened(value, 18)}`,
    value,
    points: data.variants.flatMap((variant, at) => {
      const values = metric.variants[at];
      const place = variant.values[x.index] ?? 0;
      if (variant.values[by.index] !== panel || !values || values.mean === null) return [];
      return [{ at, x: x.variable.numbers[place] ?? place, mean: values.mean, half: values.half_width }];
    }),
  }));
}

export function multiplesFigure(data: Variants, metric: VariantMetric, settings: Settings): Figure {
  const pair = pairOf(data);
  const request = pair === null ? null : { data, metric, ...pair };
  const panels = request === null ? [] : panelsOf(request);
  const means = panels.map((panel) => panel.points.map((point) => point.mean));
  const log = (settings["y"] ?? (variantsWantLog(extent(means, true)) ? "log" : "linear")) === "log";
  const columnsOf = (width: number): number => Math.max(1, Math.min(panels.length, Math.floor(width / 230)));
  const others = varying(data).length > 2 ? " The other variables are in the points above each other." : "";
  return {
    id: `multiples-${slug(metric.path)}`,
    title: `${metricName(metric, 60)} by ${pair?.x.variable.name ?? ""} and ${pair?.by.variable.name ?? ""}`,
    caption: `Means with their 95 % intervals; all panels have the same axes.${others}`,
    empty: means.flat().length === 0 ? "No run has a value of it." : null,
    choices: [axisChoice("y", log)],
    key: () => [],
    height: (width) => Math.ceil(panels.length / columnsOf(width)) * PANEL,
    draw: (ink, width) => ({
      option: request === null ? {} : option(request, panels, { ink, width, log, columns: columnsOf(width) }),
    }),
    table: () => ({
      columns: [pair?.by.variable.name ?? "panel", pair?.x.variable.name ?? "x", "mean", "half_width"],
      rows: panels.flatMap((panel) => panel.points.map(({ x, mean, half }) => [panel.value, x, mean, half])),
    }),
  };
}

interface Look {
  ink: Ink;
  width: number;
  log: boolean;
  columns: number;
}

/** Returns the horizontal axis of a variable: of numbers, or of words. */
function axisOf({ name, unit, values, numbers }: Variable, ink: Ink, parts: number): object {
  if (numbers.length > 0) return xAxis({ name, unit, range: extent([numbers]), ink, parts, zero: false });
  return {
    ...axisLook(ink),
    type: "category",
    data: values,
    splitLine: { show: false },
    axisLabel: {
      color: ink.text,
      fontSize: 11,
      interval: 0,
      formatter: (value: string) => shortened(value, 10),
    },
  };
}

function option(request: Request, panels: readonly Panel[], look: Look): EChartsOption {
  const { ink, width, log, columns } = look;
  const { metric, x, data } = request;
  const all = panels.flatMap((panel) => panel.points);
  const ends = [-1, 1].map((sign) => all.map((point) => point.mean + sign * (point.half ?? 0)));
  const range = extent(ends, log);
  const cell = width / columns;
  const place = (at: number): { left: number; top: number; width: number; height: number } => ({
    left: (at % columns) * cell + 52,
    top: Math.floor(at / columns) * PANEL + 30,
    width: cell - 52 - 16,
    height: PANEL - 30 - 46,
  });
  const horizontal = axisOf(x.variable, ink, Math.max(2, Math.floor((cell - 70) / 60)));
  const name = (at: number): object => ({
    ...horizontal,
    gridIndex: at,
    // Only the bottom row has axis titles.
    ...(at + columns >= panels.length ? {} : { name: "" }),
  });
  return {
    ...base(ink),
    grid: panels.map((_, at) => ({ ...place(at), outerBoundsMode: "none" })),
    xAxis: panels.map((_, at) => name(at)),
    yAxis: panels.map((panel, at) => ({
      ...yAxis({ name: panel.title, unit: metric.unit, range, log, ink, parts: 3, zero: false }),
      gridIndex: at,
    })),
    tooltip: {
      ...tooltip(ink),
      trigger: "item",
      formatter: ({ data: point }: { data?: { point?: Point } }) => {
        if (!point?.point) return "";
        const { at, mean, half } = point.point;
        const width = half === null ? "" : ` ± ${pointed(half, metric.unit)}`;
        return tip(
          data.variants[at]?.label ?? "",
          [],
          [{ cells: ["mean", pointed(mean, metric.unit) + width] }],
        );
      },
    },
    series: panels.flatMap((panel, at) => seriesOf(panel, at, ink)),
  } as EChartsOption;
}

function seriesOf(panel: Panel, at: number, ink: Ink): object[] {
  const axes = { xAxisIndex: at, yAxisIndex: at };
  const colour = ink.series[0] as string;
  const points = [...panel.points].sort((a, b) => a.x - b.x);
  const sole = new Set(points.map((point) => point.x)).size === points.length;
  return [
    {
      ...axes,
      type: "line",
      silent: true,
      showSymbol: false,
      lineStyle: { color: colour, width: 1.4 },
      data: sole ? points.map((point) => [point.x, point.mean]) : [],
    },
    {
      ...axes,
      type: "custom",
      silent: true,
      clip: true,
      data: points.flatMap(({ x, mean, half }) => (half === null ? [] : [[x, mean - half, mean + half]])),
      encode: { x: 0, y: [1, 2] },
      renderItem: (
        _: unknown,
        api: { value(index: number): number; coord(point: [number, number]): [number, number] },
      ) => {
        const [left, low] = api.coord([api.value(0), api.value(1)]);
        const [, high] = api.coord([api.value(0), api.value(2)]);
        return footed(left, low, high, colour);
      },
    },
    {
      ...axes,
      type: "scatter",
      symbolSize: 7,
      itemStyle: { color: colour },
      data: points.map((point) => ({ value: [point.x, point.mean], point })),
    },
  ];
}
