/**
 * Two metrics of all variants against each other, with the Pareto front: variants that no other beats in
 * both.
 */
import type { EChartsOption } from "echarts";
import { extent, pointed, variantsWantLog, xAxis, yAxis } from "../axis";
import { base, tooltip } from "../chart";
import { axisChoice, type Figure, type Settings } from "../figure";
import type { Front, VariantMetric, Variants } from "../generated/lockgate";
import type { Ink } from "../palette";
import { tip } from "../tooltip";
import { metricName } from "../variants";
import { variantColour } from "./intervals";

const HEIGHT = 320;

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
  return {
    ...base(ink),
    grid: { left: 62, right: 28, top: 36, bottom: 46, outerBoundsMode: "none" },
    xAxis: xAxis({
      name: metricName(x, 30),
      unit: x.unit,
      range: extent([ends("x")], log[0]),
      log: log[0],
      ink,
      parts: width < 500 ? 4 : 6,
      zero: false,
    }),
    yAxis: yAxis({
      name: metricName(y, 30),
      unit: y.unit,
      range: extent([ends("y")], log[1]),
      log: log[1],
      ink,
      zero: false,
    }),
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
      numbered(points, data, ink),
    ],
  } as EChartsOption;
}

/** Returns the variants as points with their numbers, filled on the front. */
function numbered(points: readonly Point[], data: Variants, ink: Ink): object {
  return {
    type: "scatter",
    z: 5,
    symbolSize: 11,
    data: points.map((point) => ({
      point,
      value: [point.x, point.y],
      itemStyle: {
        color: point.on ? variantColour(ink, data, point.at) : ink.panel,
        borderColor: variantColour(ink, data, point.at),
        borderWidth: 1.8,
      },
      label: {
        show: points.length <= 40 || point.on,
        // Neighbours have their labels on different sides.
        position: ["right", "top", "left", "bottom"][point.at % 4],
        distance: 4,
        formatter: String(point.at + 1),
        color: point.on ? ink.text : ink.soft,
        fontSize: 11,
        fontWeight: point.on ? 700 : 400,
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
