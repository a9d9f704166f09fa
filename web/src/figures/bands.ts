/** Percentiles over the members of groups over time: a panel a group, bands from the median to the largest delay. */
import type { EChartsOption } from "echarts";
import { type Extent, extent, pointed, timeAxis, yAxis } from "../axis";
import { base, tooltip } from "../chart";
import { nearest, type Point } from "../decimate";
import { axisChoice, type Figure, type KeyEntry, type Settings } from "../figure";
import { quantity, shortened, significant } from "../format";
import type { Expectation, Figure as FigureData } from "../generated/lockgate";
import { type Ink, mixed } from "../palette";
import { limitsOf, type Numbers, type Report } from "../report";
import { placeOf, tip } from "../tooltip";
import { boundLook, carrier } from "./carrier";
import { endNames, levelAt } from "./end-names";
import { endOf } from "./time";
import { reaching } from "./time-bounds";

const LEFT = 58;
const NAMES = 54;
const NARROW = 18;
/** Least width at which the curves are named at their ends. */
const NAMED_FROM = 420;
const PANEL = 92;
const GAP = 30;
const TOP = 24;
const FOOT = 44;

/** Curves of a group, from the median up: the end of their names, and the opacity of the band above each. */
const CURVES = [
  { name: "p50", words: "half of the members", width: 2, above: 0.3 },
  { name: "p95", words: "95 %", width: 1.2, above: 0.17 },
  { name: "p99", words: "99 %", width: 1.2, above: 0.08 },
  { name: "max", words: "all", width: 0.8, above: 0 },
] as const;

interface Group {
  name: string;
  curves: { name: string; x: Numbers; y: Numbers }[];
}

/** Returns the curves by group, in the order of the data. */
export function groupsOf(figure: FigureData): Group[] {
  const groups = new Map<string, Group>();
  for (const series of figure.series) {
    const cut = series.name.lastIndexOf(" ");
    const [name, curve] = [series.name.slice(0, cut), series.name.slice(cut + 1)];
    const group = groups.get(name) ?? { name, curves: [] };
    groups.set(name, group);
    group.curves.push({
      name: curve,
      x: series.x,
      y: series.y,
    });
  }
  return [...groups.values()];
}

/** Expectation on a delay that has an upper bound. */
type Bounded = Pick<Expectation, "that"> & { high: number };

/** Returns the expectations on a delay of a group's members that have an upper bound. */
function boundsOf(report: Report, group: string): Bounded[] {
  const starts = [`group.${group}.owd.`, `flow.${group}/*.owd.`, `flow."${group}/*".owd.`];
  return report.runs
    .flatMap(({ summary }) => summary.expect)
    .filter(({ that }) => starts.some((start) => that.startsWith(start)))
    .flatMap((expect) => {
      const { high } = limitsOf(expect);
      return high === null ? [] : [{ that: expect.that, high }];
    });
}

export function bandsFigure(figure: FigureData, report: Report, settings: Settings): Figure {
  const groups = groupsOf(figure);
  const log = settings["y"] === "log";
  const last = extent(groups.flatMap(({ curves }) => curves.map(({ x }) => x)))?.[1] ?? 1;
  const end = endOf(last, report.runs[0]?.summary.duration_s ?? 0);
  const range = [0, end] as const;
  const height = TOP + groups.length * PANEL + (groups.length - 1) * GAP + FOOT;
  let width = 0;
  const drawn = (ink: Ink): Drawn => ({
    groups,
    report,
    log,
    range,
    ink,
    width,
    unit: figure.y.unit,
    name: figure.y.label,
  });
  return {
    id: `extra-${figure.id}`,
    title: figure.title,
    caption: figure.caption,
    empty: groups.length === 0 ? "Nothing was received." : null,
    choices: [axisChoice("y", log)],
    key: (ink) => [
      {
        label: "at or below the line",
        entries: CURVES.map(
          ({ name, words }, at): KeyEntry => ({
            label: `${name}: ${words}`,
            colour: mixed(ink.series[0] as string, ink.panel, [0, 0.3, 0.6, 0.78][at] as number),
            kind: "swatch",
          }),
        ),
      },
    ],
    height: () => height,
    draw: (ink, shown, window) => {
      width = shown;
      return { option: option(drawn(ink), window ?? range) };
    },
    table: () => ({
      columns: ["group", "percentile", "time_s", `${figure.y.label} [${figure.y.unit}]`],
      rows: groups.flatMap((group) =>
        group.curves.flatMap((curve) =>
          curve.x.map((x, at) => [group.name, curve.name, x, curve.y[at] ?? null]),
        ),
      ),
    }),
    zoom: (ink, window) => zoomed(drawn(ink), window),
    range,
  };
}

interface Drawn {
  groups: readonly Group[];
  report: Report;
  log: boolean;
  range: readonly [number, number];
  ink: Ink;
  width: number;
  unit: string;
  name: string;
}

/** Returns the vertical pixel at which a panel begins. */
const topOf = (panel: number): number => TOP + panel * (PANEL + GAP);

/** Returns the parts that depend on the window: the time axes, and the names at the ends of the curves. */
function zoomed(drawn: Drawn, window: readonly [number, number]): EChartsOption {
  const { groups, ink, log, width } = drawn;
  const last = groups.length - 1;
  return {
    xAxis: groups.map((_, panel) =>
      timeAxis({ panel, isLast: panel === last, window, range: drawn.range, ink }),
    ),
    series:
      width < NAMED_FROM
        ? []
        : groups.map((group, at) => named(group, at, window, ink, colourOf(ink, at), log)),
  } as EChartsOption;
}

const colourOf = (ink: Ink, group: number): string => ink.series[group % ink.series.length] as string;

function option(drawn: Drawn, window: readonly [number, number]): EChartsOption {
  const { groups, ink, log, unit, width } = drawn;
  const right = width >= NAMED_FROM ? NAMES : NARROW;
  const warmup = drawn.report.runs[0]?.summary.warmup_s ?? 0;
  const bounds = groups.map((group) => boundsOf(drawn.report, group.name));
  const { xAxis, series: names } = zoomed(drawn, window);
  return {
    ...base(ink),
    grid: groups.map((_, at) => ({
      left: LEFT,
      right,
      top: topOf(at),
      height: PANEL,
      outerBoundsMode: "none",
    })),
    xAxis,
    yAxis: groups.map((group, at) => ({
      ...yAxis({
        name: `${group.name}: ${drawn.name}`,
        unit,
        range: rangeOf(group, bounds[at] ?? [], log, warmup),
        log,
        ink,
        parts: 3,
      }),
      gridIndex: at,
    })),
    tooltip: {
      ...tooltip(ink),
      trigger: "axis",
      formatter: (parameters: unknown) => tipOf(drawn, parameters),
    },
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: ink.soft }, label: { show: false } },
    series: [
      ...groups.flatMap((group, at) => seriesOf(drawn, group, at, bounds[at] ?? [])),
      ...(names as object[]),
    ],
  } as EChartsOption;
}

/** Returns the lines, the bands and the curves of a group. */
function seriesOf(
  { ink, log, unit, report }: Drawn,
  group: Group,
  at: number,
  bounds: readonly Bounded[],
): object[] {
  const colour = colourOf(ink, at);
  const place = { xAxisIndex: at, yAxisIndex: at };
  return [
    carrier({
      ink,
      panel: at,
      lines: bounds.map((bound) => ({ ...boundLook(ink, wordsOf(bound, unit)), yAxis: bound.high })),
      opacity: 1,
      warmup: report.runs[0]?.summary.warmup_s ?? 0,
      words: at === 0 ? "warm-up" : "",
    }),
    ...group.curves.slice(0, -1).map((curve, index) => ({
      ...place,
      ...band(curve, group.curves[index + 1] ?? curve, log, {
        fill: colour,
        opacity: CURVES[index]?.above ?? 0,
      }),
    })),
    ...group.curves.map((curve, index) => ({
      ...place,
      type: "line",
      name: `${group.name} ${curve.name}`,
      data: points(curve, log),
      showSymbol: false,
      silent: true,
      z: 3,
      lineStyle: { color: colour, width: CURVES[index]?.width ?? 1, join: "round" },
      itemStyle: { color: colour },
    })),
  ];
}

/** Returns the words of a bound: `p99 < 30 ms`; of a percentile over members `p99 of 95 % < 30 ms`. */
function wordsOf({ that, high }: Bounded, unit: string): string {
  const metric = that
    .replace(/^.*?\.owd\./, "")
    .replace(/\.p(\d\d?)$/, " of $1 %")
    .replace(/\.worst$/, " of the worst");
  return `${shortened(metric, 24)} < ${quantity(high, unit)}`;
}

const points = ({ x, y }: Group["curves"][number], log: boolean): Point[] =>
  x.flatMap((at, index): Point[] => {
    const value = y[index] ?? null;
    return at === null ? [] : [[at, log && value !== null && value <= 0 ? null : value]];
  });

/** Returns the extent of a group's delays behind the warm-up, and of the bounds near to them. */
function rangeOf(group: Group, bounds: readonly Bounded[], log: boolean, warmup: number): Extent {
  const values = group.curves.map(({ x, y }) => y.filter((_, at) => (x[at] ?? 0) >= warmup));
  return reaching(
    extent(values, log),
    bounds.map(({ high }) => high),
  );
}

/** Returns the area between two curves over the same times as one shape. */
function band(
  lower: Group["curves"][number],
  upper: Group["curves"][number],
  log: boolean,
  style: { fill: string; opacity: number },
): object {
  const [low, high] = [points(lower, log), points(upper, log)];
  const corners = [...low, ...[...high].reverse()].filter(([, y]) => y !== null);
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 2,
    data: [corners[0] ?? [0, 0]],
    renderItem: (_: unknown, api: { coord(point: Point): [number, number] }) => ({
      type: "polygon",
      shape: { points: corners.map((corner) => api.coord(corner)) },
      style,
    }),
  };
}

function named(
  group: Group,
  index: number,
  window: readonly [number, number],
  ink: Ink,
  colour: string,
  log: boolean,
): object {
  const names = group.curves.flatMap((curve) => {
    const value = levelAt(points(curve, log), window);
    return value === null ? [] : [{ text: curve.name, value, colour, weight: curve.name === "max" ? 0 : 1 }];
  });
  return endNames({
    index,
    top: topOf(index) + 2,
    bottom: topOf(index) + PANEL - 2,
    end: window[1],
    names,
    ink,
  });
}

function tipOf({ groups, ink, unit }: Drawn, parameters: unknown): HTMLElement | string {
  const at = placeOf(parameters);
  if (!Number.isFinite(at)) return "";
  const rows = groups.map((group, index) => ({
    colour: ink.series[index % ink.series.length] as string,
    cells: [
      group.name,
      ...CURVES.map(({ name }) => {
        const curve = group.curves.find((one) => one.name === name);
        return pointed(curve ? curve.y[nearest(curve.x, at)] : null, unit);
      }),
    ],
  }));
  return tip(`${significant(at, 6)} s`, ["", ...CURVES.map(({ name }) => name)], rows);
}
