/**
 * Two metrics of all variants against each other, with the Pareto front: variants that no other beats in
 * both.
 */
import type { EChartsOption } from "echarts";
import { extent, pointed, variantsWantLog, xAxis, yAxis } from "../axis";
import { base, haloed, tooltip } from "../chart";
import { axisChoice, type Figure, type Settings } from "../figure";
import type { Front, VariantMetric, Variants } from "../generated/lockgate";
import type { Ink } from "../palette";
import { tip } from "../tooltip";
import { metricName } from "../variants";
import { variantColour } from "./intervals";

const HEIGHT = 320;
const GRID = { left: 62, right: 28, top: 36, bottom: 46 };
/** Radius of a point, distance of its number from it, and width and height of a digit, in pixels. */
const [RADIUS, GAP, DIGIT, LINE] = [6, 3, 8, 14];
/** Opacity of a variant that misses an expectation. */
const FAINT = 0.4;

interface Point {
  at: number;
  x: number;
  y: number;
  halfX: number;
  halfY: number;
  on: boolean;
}

interface Request {
  data: Variants;
  x: VariantMetric;
  y: VariantMetric;
  points: Point[];
}

export function frontFigure(data: Variants, front: Front, settings: Settings): Figure {
  const [x, y] = [data.metrics[front.x], data.metrics[front.y]] as [VariantMetric, VariantMetric];
  const points = data.variants.flatMap((_, at): Point[] => {
    const [one, other] = [x.variants[at], y.variants[at]];
    if (!one || !other || one.mean === null || other.mean === null) return [];
    const on = front.on.includes(at);
    return [{ at, x: one.mean, y: other.mean, halfX: one.half_width ?? 0, halfY: other.half_width ?? 0, on }];
  });
  const log = (axis: "x" | "y"): boolean =>
    (settings[axis] ??
      (variantsWantLog(extent([points.map((point) => point[axis])], true)) ? "log" : "linear")) === "log";
  const toward = (metric: VariantMetric): string => (metric.better === "lower" ? "less" : "more");
  const names = front.on.map((at) => `#${at + 1} ${data.variants[at]?.label ?? ""}`);
  return {
    id: `front-${front.x}-${front.y}`,
    title: `${metricName(y, 40)} against ${metricName(x, 40)}`,
    caption:
      `Filled: on the front, beaten by no other variant in both (${toward(x)} of the horizontal and ${toward(y)} of the vertical axis is better): ` +
      `${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}. Numbers as in the table; strokes: 95 % intervals.`,
    empty: points.length === 0 ? "No variant has a value of both." : null,
    choices: [axisChoice("x", log("x")), axisChoice("y", log("y"))],
    key: (ink) => [
      {
        label: "",
        entries: [
          { label: "on the front", colour: ink.text, kind: "line", dash: [4, 3], mark: "circle" },
          {
            label: "beaten in both",
            colour: ink.text,
            kind: "line",
            dash: [0.01, 99],
            mark: "circle",
            hollow: ink.panel,
          },
          ...(data.variants.some(({ missed }) => missed.length > 0)
            ? [
                {
                  label: "misses an expectation",
                  colour: ink.rule,
                  kind: "line" as const,
                  dash: [0.01, 99],
                  mark: "circle",
                  hollow: ink.rule,
                },
              ]
            : []),
        ],
      },
    ],
    height: () => HEIGHT,
    draw: (ink, width) => ({
      option: option({ data, x, y, points }, { ink, width, log: [log("x"), log("y")] }),
    }),
    table: () => ({
      columns: ["variant", x.path, y.path, "on_front"],
      rows: points.map((point) => [
        data.variants[point.at]?.label ?? "",
        point.x,
        point.y,
        point.on ? "yes" : "no",
      ]),
    }),
  };
}

interface Look {
  ink: Ink;
  width: number;
  log: readonly [boolean, boolean];
}

function option({ data, x, y, points }: Request, { ink, width, log }: Look): EChartsOption {
  const ends = (of: "x" | "y"): number[] =>
    points.flatMap((point) => {
      const half = of === "x" ? point.halfX : point.halfY;
      return [point[of] - half, point[of] + half];
    });
  const front = points.filter((point) => point.on).sort((a, b) => a.x - b.x || a.y - b.y);
  const across = xAxis({
    name: metricName(x, 30),
    unit: x.unit,
    range: extent([ends("x")], log[0]),
    log: log[0],
    ink,
    parts: width < 500 ? 4 : 6,
    zero: false,
  }) as Limits;
  const up = yAxis({
    name: metricName(y, 30),
    unit: y.unit,
    range: extent([ends("y")], log[1]),
    log: log[1],
    ink,
    zero: false,
  });
  const [wide, high] = [width - GRID.left - GRID.right, HEIGHT - GRID.top - GRID.bottom];
  const sides = placed(
    points.map((point) => ({
      x: GRID.left + wide * share(across, point.x, log[0]),
      y: GRID.top + high * (1 - share(up as Limits, point.y, log[1])),
      text: String(point.at + 1),
      isFirst: point.on,
    })),
    [GRID.left, 0, width, HEIGHT - GRID.bottom],
  );
  return {
    ...base(ink),
    grid: { ...GRID, outerBoundsMode: "none" },
    xAxis: across,
    yAxis: up,
    tooltip: {
      ...tooltip(ink),
      trigger: "item",
      formatter: ({ data: item }: { data?: { point?: Point } }) => tipOf({ data, x, y, points }, item?.point),
    },
    series: [
      {
        type: "line",
        silent: true,
        showSymbol: false,
        z: 1,
        lineStyle: { color: ink.soft, width: 1.4, type: [4, 3] },
        data: front.map((point) => [point.x, point.y]),
      },
      crosses(points, data, ink),
      numbered(points, data, ink, sides),
    ],
  } as EChartsOption;
}

/** Limits of an axis. */
interface Limits {
  min?: number;
  max?: number;
}

/** Returns the position of a value on an axis, from 0 to 1. */
function share({ min = 0, max = 1 }: Limits, value: number, log: boolean): number {
  const scale = (one: number): number => (log ? Math.log(Math.max(one, 1e-300)) : one);
  const [from, to] = [scale(min), scale(max)];
  return to > from ? (scale(value) - from) / (to - from) : 0.5;
}

/** Sides of a point at which its number may stand. */
const SIDES = ["right", "top", "left", "bottom"] as const;
type Side = (typeof SIDES)[number];
interface Numbered {
  x: number;
  y: number;
  text: string;
  /** True if its number is placed before those of others. */
  isFirst: boolean;
}
type Box = readonly [left: number, top: number, right: number, bottom: number];
const EVERYWHERE: Box = [-Infinity, -Infinity, Infinity, Infinity];

/**
 * Returns the side of each point at which its number lies over no other number and no point, within this room; null
 * without one.
 */
export function placed(points: readonly Numbered[], room: Box = EVERYWHERE): (Side | null)[] {
  const dots = points.map(({ x, y }): Box => [x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS]);
  const taken: Box[] = [];
  const sides: (Side | null)[] = points.map(() => null);
  const meets = (a: Box, b: Box): boolean => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const order = points.map((_, index) => index);
  order.sort((a, b) => Number(points[b]?.isFirst) - Number(points[a]?.isFirst) || a - b);
  for (const index of order) {
    const { x, y, text } = points[index] as Numbered;
    const [wide, high] = [DIGIT * text.length, LINE];
    const boxes: Record<Side, Box> = {
      right: [x + RADIUS + GAP, y - high / 2, x + RADIUS + GAP + wide, y + high / 2],
      top: [x - wide / 2, y - RADIUS - GAP - high, x + wide / 2, y - RADIUS - GAP],
      left: [x - RADIUS - GAP - wide, y - high / 2, x - RADIUS - GAP, y + high / 2],
      bottom: [x - wide / 2, y + RADIUS + GAP, x + wide / 2, y + RADIUS + GAP + high],
    };
    const free = SIDES.find((side) => {
      const box = boxes[side];
      // Below and beside the picture the axes have their own numbers.
      if (box[0] < room[0] || box[1] < room[1] || box[2] > room[2] || box[3] > room[3]) return false;
      return ![...taken, ...dots.filter((_, dot) => dot !== index)].some((other) => meets(box, other));
    });
    if (free === undefined) continue;
    sides[index] = free;
    taken.push(boxes[free]);
  }
  return sides;
}

/** Returns the variants as points with their numbers, filled on the front. */
function numbered(
  points: readonly Point[],
  data: Variants,
  ink: Ink,
  sides: readonly (Side | null)[],
): object {
  return {
    type: "scatter",
    z: 5,
    symbolSize: 11,
    data: points.map((point, index) => ({
      point,
      value: [point.x, point.y],
      itemStyle: {
        color: point.on ? variantColour(ink, data, point.at) : ink.panel,
        borderColor: variantColour(ink, data, point.at),
        borderWidth: 1.8,
        opacity: (data.variants[point.at]?.missed.length ?? 0) > 0 ? FAINT : 1,
      },
      label: {
        // Without room its number is in the table, and at the pointer.
        show: sides[index] !== null,
        position: sides[index] ?? "right",
        distance: GAP,
        formatter: String(point.at + 1),
        color: point.on ? ink.text : ink.soft,
        fontSize: 11,
        fontWeight: point.on ? 700 : 400,
        ...haloed(ink),
      },
    })),
  };
}

/** Returns the intervals of both metrics as crosses. */
function crosses(points: readonly Point[], data: Variants, ink: Ink): object {
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 3,
    data: points.map((point) => [point.x, point.y, point.halfX, point.halfY, point.at]),
    encode: { x: 0, y: 1 },
    renderItem: (
      _: unknown,
      api: { value(index: number): number; coord(point: [number, number]): [number, number] },
    ) => {
      const [x, y, halfX, halfY, at] = [0, 1, 2, 3, 4].map((index) => api.value(index)) as [
        number,
        number,
        number,
        number,
        number,
      ];
      const line = (from: [number, number], to: [number, number]): object => {
        const [x1, y1] = api.coord(from);
        const [x2, y2] = api.coord(to);
        return {
          type: "line",
          shape: { x1, y1, x2, y2 },
          style: { stroke: variantColour(ink, data, at), lineWidth: 1, opacity: 0.6 },
        };
      };
      return {
        type: "group",
        children: [line([x - halfX, y], [x + halfX, y]), line([x, y - halfY], [x, y + halfY])],
      };
    },
  };
}

function tipOf({ data, x, y }: Request, point: Point | undefined): HTMLElement | string {
  if (!point) return "";
  const cell = (metric: VariantMetric, mean: number, half: number): { cells: string[] } => ({
    cells: [metricName(metric), `${pointed(mean, metric.unit)} ± ${pointed(half, metric.unit)}`],
  });
  return tip(
    `#${point.at + 1} ${data.variants[point.at]?.label ?? ""}`,
    [],
    [cell(x, point.x, point.halfX), cell(y, point.y, point.halfY)],
    point.on ? "on the front" : "beaten in both",
  );
}
