/**
 * A metric of all variants: the mean over the seeds with its 95 % interval, and the values of the seeds; the
 * best is marked.
 */
import type { EChartsOption } from "echarts";
import { extent, pointed, variantsWantLog, xAxis } from "../axis";
import { base, tooltip } from "../chart";
import { axisChoice, type Figure, type KeyEntry, type Settings } from "../figure";
import { plural, slug } from "../format";
import type { Standing, VariantMetric, Variants, VariantValues } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Numbers } from "../report";
import { tip } from "../tooltip";
import { lookOf, metricName } from "../variants";
import { labelWidth, type RowLabel, rowAxis } from "./rows";

/** Style of each standing: the shape of the mark, and whether it is filled. */
const LOOKS: Record<Standing, { mark: string; filled: boolean; words: string }> = {
  best: { mark: "diamond", filled: true, words: "best" },
  reference: { mark: "rect", filled: true, words: "compared with" },
  same: { mark: "circle", filled: false, words: "no difference seen" },
  equal: { mark: "circle", filled: false, words: "practically equal" },
  differs: { mark: "circle", filled: true, words: "really differs" },
  unknown: { mark: "triangle", filled: false, words: "too few values to tell" },
};

export const standingWords = (standing: Standing): string => LOOKS[standing].words;

/** Returns the colour of a variant, the same as that of its curves. */
export const variantColour = (ink: Ink, data: Variants, at: number): string =>
  ink.series[lookOf(data, at).colour % ink.series.length] as string;

/** Returns row labels such as `1  fifo 95%`. The number is that of the table and of the points of fronts. */
function rowsOf(data: Variants): RowLabel[] {
  return data.variants.map((variant, at) => {
    const words = variant.values.map((value, index) => data.variables[index]?.values[value] ?? "");
    const [first = variant.label, ...rest] = words;
    return { first, second: `${rest.join(" ")}${rest.length > 0 ? "  " : ""}#${at + 1}` };
  });
}

function bounds(values: readonly VariantValues[]): Numbers[] {
  return [-1, 1].map((sign) =>
    values.map(({ mean, half_width }) => (mean === null ? null : mean + sign * (half_width ?? 0))),
  );
}

export function intervalsFigure(data: Variants, metric: VariantMetric, settings: Settings): Figure {
  const seeds = metric.variants.map((values) => values.seeds);
  const wide = variantsWantLog(extent(seeds, true));
  const log = (settings["x"] ?? (wide ? "log" : "linear")) === "log";
  const found = new Set(metric.variants.filter(({ mean }) => mean !== null).map(({ standing }) => standing));
  const key = (ink: Ink): KeyEntry[] =>
    (Object.keys(LOOKS) as Standing[])
      .filter((standing) => found.has(standing))
      .map((standing) => ({
        label: LOOKS[standing].words,
        colour: ink.text,
        kind: "line",
        dash: [0.01, 99],
        mark: LOOKS[standing].mark,
        ...(LOOKS[standing].filled ? {} : { hollow: ink.panel }),
      }));
  const direction =
    metric.better === null ? "" : ` ${metric.better === "lower" ? "Less" : "More"} is better.`;
  return {
    id: `intervals-${slug(metric.path)}`,
    title: metricName(metric, 60),
    caption: `Mean over ${plural(data.seeds.length, "seed")} with its 95 % interval; small points: the seeds.${direction}`,
    empty: found.size === 0 ? "No run has a value of it." : null,
    choices: [axisChoice("x", log)],
    key: (ink) => [{ label: "", entries: key(ink) }],
    height: () => data.variants.length * 24 + 64,
    draw: (ink, width) => ({
      option: option(data, metric, { ink, width, log }),
    }),
    table: () => ({
      columns: ["variant", "mean", "half_width", "difference", "difference_half_width", "standing"],
      rows: data.variants.map((variant, at) => {
        const values = metric.variants[at];
        return [
          variant.label,
          values?.mean ?? null,
          values?.half_width ?? null,
          values?.difference ?? null,
          values?.difference_half_width ?? null,
          standingWords(values?.standing ?? "unknown"),
        ];
      }),
    }),
  };
}

interface Look {
  ink: Ink;
  width: number;
  log: boolean;
}

function option(data: Variants, metric: VariantMetric, { ink, width, log }: Look): EChartsOption {
  const rows = rowsOf(data);
  const room = labelWidth(width, rows);
  const range = extent([...metric.variants.map((values) => values.seeds), ...bounds(metric.variants)], log);
  const shown = metric.variants
    .map((values, at) => ({ values, at }))
    .filter(({ values }) => values.mean !== null);
  return {
    ...base(ink),
    grid: { left: room, right: 22, top: 10, bottom: 46, outerBoundsMode: "none" },
    xAxis: xAxis({
      name: metricName(metric, width < 500 ? 28 : 44),
      unit: metric.unit,
      range,
      log,
      ink,
      parts: width < 500 ? 4 : 6,
      zero: false,
    }),
    yAxis: rowAxis(ink, rows, room),
    tooltip: {
      ...tooltip(ink),
      trigger: "item",
      formatter: (parameters: { data?: { at?: number } }) => tipOf(data, metric, parameters.data?.at),
    },
    series: [
      {
        type: "scatter",
        symbolSize: 4,
        silent: true,
        z: 2,
        data: shown.flatMap(({ values, at }) =>
          values.seeds
            .filter((value) => value !== null && (!log || value > 0))
            .map((value) => ({
              value: [value, at],
              itemStyle: { color: variantColour(ink, data, at), opacity: 0.35 },
            })),
        ),
      },
      horizontalBars(ink, data, shown, log),
      {
        type: "scatter",
        z: 5,
        data: shown.map(({ values, at }) => {
          const { mark, filled } = LOOKS[values.standing];
          const colour = variantColour(ink, data, at);
          return {
            at,
            value: [values.mean, at],
            symbol: mark,
            symbolSize: values.standing === "best" ? 14 : 9,
            itemStyle: { color: filled ? colour : ink.panel, borderColor: colour, borderWidth: 1.8 },
          };
        }),
      },
    ],
  } as EChartsOption;
}

/** Returns the intervals as strokes with feet. */
function horizontalBars(
  ink: Ink,
  data: Variants,
  shown: readonly { values: VariantValues; at: number }[],
  log: boolean,
): object {
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 4,
    data: shown.flatMap(({ values: { mean, half_width: half }, at }) => {
      if (mean === null || half === null) return [];
      return [[log ? Math.max(mean - half, mean / 10) : mean - half, mean + half, at]];
    }),
    encode: { x: [0, 1], y: 2 },
    renderItem: (
      _: unknown,
      api: { value(index: number): number; coord(point: [number, number]): [number, number] },
    ) => {
      const at = api.value(2);
      const [low, y] = api.coord([api.value(0), at]);
      const [high] = api.coord([api.value(1), at]);
      const line = (x1: number, y1: number, x2: number, y2: number): object => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style: { stroke: variantColour(ink, data, at), lineWidth: 1.8 },
      });
      return {
        type: "group",
        children: [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)],
      };
    },
  };
}

function tipOf(data: Variants, metric: VariantMetric, at: number | undefined): HTMLElement | string {
  const values = metric.variants[at ?? -1];
  if (at === undefined || !values) return "";
  const half = (width: number | null): string => (width === null ? "" : ` ± ${pointed(width, metric.unit)}`);
  const rows = [{ cells: ["mean", pointed(values.mean, metric.unit) + half(values.half_width)] }];
  if (values.difference !== null) {
    const to = data.variants[metric.reference ?? 0]?.label ?? "";
    rows.push({
      cells: [`less ${to}`, pointed(values.difference, metric.unit) + half(values.difference_half_width)],
    });
  }
  return tip(data.variants[at]?.label ?? "", [], rows, standingWords(values.standing));
}
