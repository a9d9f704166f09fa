/**
 * Table of a comparison: a row for each variant, each metric with its interval and its mark. The cells are those of
 * the terminal's table.
 */

import { variantsWantLog } from "../axis";
import { h } from "../dom";
import { standingWords, variantColour } from "../figures/intervals";
import { columnScale, NONE, plural, quantity, significant } from "../format";
import type { VariantMetric, Variants, VariantValues } from "../generated/lockgate";
import type { Cell } from "../report";
import type { Selection } from "../selection";
import { type Column, makeTable } from "../table";
import type { Theme } from "../theme";
import { lookOf, metricName } from "../variants";

export function variantsSubtitle(data: Variants): string {
  return `${plural(data.variants.length, "variant")} × ${plural(data.seeds.length, "seed")}`;
}

/** `selection` shows a variant's curves beside the best one's; without it, the numbers are plain. */
export function variantsTable(data: Variants, theme: Theme, selection?: Selection): HTMLElement {
  // Between the number with the variables, and whether expectations hold, are the metrics, which are sorted by their means.
  const first = 1 + data.variables.length;
  const { columns, addresses = [], rows: told, note: marks } = data.table;
  const textOf = (row: number, at: number): string => String(told[row]?.[at] ?? NONE);
  // The rows are ranked; their first cell is the number of the variant.
  const variantOf = (row: number): number => Number(textOf(row, 0)) - 1;
  const rows = told.map((_, row) =>
    columns.map((_, at): Cell => {
      const metric = data.metrics[at - first];
      return metric
        ? (metric.variants[variantOf(row)]?.mean ?? null)
        : at === 0
          ? variantOf(row) + 1
          : textOf(row, at);
    }),
  );
  const table = makeTable({
    name: "variants",
    rows,
    limit: 40,
    look: (row) => rowLook(data, variantOf(row)),
    columns: columns.map((title, at): Column => {
      const metric = data.metrics[at - first];
      const address = addresses[at] || (at === 0 ? "number" : title);
      const named = address === addresses[at] ? { csv: address, hint: address } : { csv: address };
      if (at === 0) return { title, ...named, draw: (_, row) => numberOf(data, variantOf(row), selection) };
      if (!metric) return { title, ...named };
      const draw = (_: Cell, row: number): HTMLElement =>
        cell(data, metric, variantOf(row), textOf(row, at), theme);
      return { title: `${metricName(metric)}${boundWords(metric)}`, ...named, draw };
    }),
  });
  const bounded = data.metrics.some(({ bounds }) => bounds.some((bound) => bound !== null));
  const isTaken = data.recommended !== undefined && data.recommended !== null;
  // What the signs in the cells say, where they are first met; of those of the table only what is in it.
  const cells = told.flat().map(String);
  const signs = marks.split(/ {3,}/).filter((sign) => cells.some((text) => text.endsWith(sign.charAt(0))));
  const key = [
    ...signs,
    "no mark: a real difference",
    ...(data.metrics.some(({ variants }) => variants.some(({ times }) => times))
      ? ["×3: three times as bad as the best"]
      : []),
    ...(bounded ? ["✗ misses the bound (red tick); ✗ 1/3 in one of three seeds"] : []),
  ];
  const note =
    `${isTaken ? "The variant to take is first, and has a bar" : "Those that keep most expectations are first"}. Mean ± half the width of the 95 % interval, ` +
    `paired by seed, all of a metric judged together at 5 %.` +
    `${data.metrics.some(isLog) ? " Axes whose values differ much are logarithmic." : ""}`;
  return h(
    "div",
    { class: "variants" },
    h("p", { class: "note marks" }, ...key.map((sign) => h("span", {}, sign))),
    table,
    h("p", { class: "note" }, note),
  );
}

/** Returns the bounds of a metric in words: ` < 50 ms`; empty without. */
function boundWords({ bounds: [low, high], unit }: VariantMetric): string {
  const words = [
    low === null ? "" : ` >\u00a0${quantity(low, unit)}`,
    high === null ? "" : ` <\u00a0${quantity(high, unit)}`,
  ];
  return words.join("");
}

/** Returns in how many seeds a variant misses the bounds of a metric, if it does not in all: ` 1/3`. */
function missedIn({ bounds: [low, high] }: VariantMetric, { seeds }: VariantValues): string {
  const known = seeds.filter((value) => value !== null);
  const missed = known.filter(
    (value) => (low !== null && value < low) || (high !== null && value > high),
  ).length;
  return missed > 0 && missed < known.length ? ` ${missed}/${known.length}` : "";
}

/** Returns the class of a variant's row: the one to take, or one that misses an expectation. */
const rowLook = (data: Variants, at: number): string =>
  at === data.recommended ? "taken" : (data.variants[at]?.missed.length ?? 0) > 0 ? "failing" : "";

/** Returns the number of a variant, which shows its curves over those of the variant to take. */
function numberOf({ recommended }: Variants, at: number, selection?: Selection): HTMLElement | string {
  if (!selection || recommended === undefined || recommended === null || at === recommended)
    return String(at + 1);
  const title = `Show the delay of #${at + 1} over that of #${recommended + 1}`;
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      title,
      "aria-label": `${at + 1}: ${title}`,
      onclick: () => {
        selection.showRuns([recommended, at]);
        document.getElementById("figure-time")?.scrollIntoView({ block: "center" });
      },
    },
    String(at + 1),
  );
}

/** Shapes of the means, by the variables after the first: circle, diamond, square, triangle, cross. */
const SHAPES = [
  "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
  "M0-4.8L4.8 0L0 4.8L-4.8 0z",
  "M-3.4-3.4h6.8v6.8h-6.8z",
  "M0-4.6L4.6 3.6h-9.2z",
  "M-4-2.2L-2.2-4L0-1.8L2.2-4L4-2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0z",
];
/** Width and height in pixels of the axis in a cell. */
const AXIS = [110, 12] as const;

/** Returns a cell with its text and its place on the column's axis; the difference from the reference is its title. */
function cell(data: Variants, metric: VariantMetric, row: number, text: string, theme: Theme): HTMLElement {
  const values = metric.variants[row];
  if (!values || values.mean === null) return h("span", {}, NONE);
  const { factor, label } = columnScale(
    metric.variants.map(({ mean }) => mean),
    metric.unit,
  );
  const shown = (value: number): string => significant(value / factor, 3, true);
  const half = values.difference_half_width === null ? "" : ` ± ${shown(values.difference_half_width)}`;
  const apart = values.difference === null ? "" : `: ${shown(values.difference)}${half} ${label}`;
  const title = `${standingWords(values.standing)}${apart}`;
  const best = values.standing === "best";
  const misses = data.variants[row]?.missed.includes(data.metrics.indexOf(metric)) ?? false;
  const times = values.times ? ` ×${significant(values.times, 2)}` : "";
  const axis = h("span", { class: "place", "aria-hidden": "true" });
  const draw = (): void => {
    // Safe as HTML: colours and numbers.
    axis.innerHTML = placeOf(
      metric,
      values,
      { colour: variantColour(theme.ink, data, row), bound: theme.ink.bad },
      lookOf(data, row).mark,
    );
  };
  draw();
  theme.onChange(draw);
  return h(
    "span",
    { class: `standing ${values.standing}`, title },
    best ? h("b", {}, text) : h("span", {}, text),
    times === "" ? null : h("span", { class: "times", title: "Times as bad as the best" }, times),
    misses
      ? h(
          "span",
          { class: "misses", title: "Misses its expectation; seeds that do, if not all" },
          ` ✗${missedIn(metric, values)}`,
        )
      : null,
    axis,
  );
}

/** Returns the extent of the axis that a column's cells share: of the means, and of bounds that are not far off. */
function extentOf({ variants, bounds }: VariantMetric): readonly [number, number] {
  const means = variants.flatMap(({ mean }) => (mean === null ? [] : [mean]));
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const near = bounds.flatMap((bound) =>
    bound !== null && bound <= 4 * high && bound >= low / 4 ? [bound] : [],
  );
  return [Math.min(low, ...near), Math.max(high, ...near)];
}

const isLog = (metric: VariantMetric): boolean => variantsWantLog(extentOf(metric));

/** Returns the mean as a dot, its interval as a line and the bounds as rules, on an axis that the column's cells share. */
function placeOf(
  metric: VariantMetric,
  values: VariantValues,
  { colour, bound }: { colour: string; bound: string },
  mark: number,
): string {
  const [low, high] = extentOf(metric);
  const log = isLog(metric);
  const scale = (value: number): number => (log ? Math.log(Math.max(value, low / 3)) : value);
  const [from, to] = [scale(low), scale(high)];
  const [width, height] = AXIS;
  const x = (value: number): number => {
    const at = to > from ? (scale(value) - from) / (to - from) : 0.5;
    return 5 + Math.min(1.04, Math.max(-0.04, at)) * (width - 10);
  };
  const mean = values.mean ?? 0;
  const half = values.half_width ?? 0;
  const line = (x1: number, x2: number, stroke: string, wide: number): string =>
    `<line x1="${x1.toFixed(1)}" x2="${x2.toFixed(1)}" y1="${height / 2}" y2="${height / 2}" stroke="${stroke}" stroke-width="${wide}"/>`;
  const rules = metric.bounds.map((value) =>
    value === null || value < low || value > high
      ? ""
      : `<line class="bound" x1="${x(value).toFixed(1)}" x2="${x(value).toFixed(1)}" y1="0" y2="${height}" stroke="${bound}" stroke-width="2"/>`,
  );
  const dot = `<path transform="translate(${x(mean).toFixed(1)} ${height / 2})" d="${SHAPES[mark % SHAPES.length]}" fill="${colour}"/>`;
  return `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${line(0, width, "currentColor", 0.4)}${rules.join("")}${line(x(mean - half), x(mean + half), colour, 2)}${dot}</svg>`;
}
