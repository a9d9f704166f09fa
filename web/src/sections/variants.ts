/**
 * Table of a comparison: a row for each variant, each metric with its interval and its mark. The cells are those of
 * the terminal's table.
 */

import { h } from "../dom";
import { standingWords } from "../figures/intervals";
import { columnScale, NONE, plural, significant } from "../format";
import type { Cell } from "../report";
import { makeTable } from "../table";
import { metricName, type VariantMetric, type Variants } from "../variants";

export function variantsSubtitle(data: Variants): string {
  return `${plural(data.variants.length, "variant")} × ${plural(data.seeds, "seed")}`;
}

export function variantsTable(data: Variants): HTMLElement {
  const rows: Cell[][] = data.variants.map((variant, at) => [
    at + 1,
    ...data.variables.map((variable, index) => variable.values[variant.values[index] ?? -1] ?? null),
    ...data.metrics.map((metric) => metric.variants[at]?.mean ?? null),
  ]);
  const first = 1 + data.variables.length;
  const table = makeTable({
    name: "variants",
    rows,
    limit: 40,
    columns: [
      { title: "#", csv: "number" },
      ...data.variables.map(({ name }) => ({ title: name, csv: name })),
      ...data.metrics.map((metric, index) => ({
        title: metricName(metric.path),
        csv: metric.path,
        draw: (_: Cell, row: number) => cell(metric, row, data.cells[row]?.[first + index] ?? NONE),
      })),
    ],
  });
  const note = `Mean ± half the width of the 95 % interval. ${data.note}. Paired by seed, all of a metric judged together at 5 %; no mark: the difference is real.`;
  return h("div", { class: "variants" }, table, h("p", { class: "note" }, note));
}

/** Returns a cell with its text; the difference from the reference is its title. */
function cell(metric: VariantMetric, row: number, text: string): HTMLElement {
  const values = metric.variants[row];
  if (!values || values.mean === null) return h("span", {}, NONE);
  const { factor, label } = columnScale(
    metric.variants.map(({ mean }) => mean),
    metric.unit,
  );
  const shown = (value: number): string => significant(value / factor, 3, true);
  const half = values.differenceHalfWidth === null ? "" : ` ± ${shown(values.differenceHalfWidth)}`;
  const apart = values.difference === null ? "" : `: ${shown(values.difference)}${half} ${label}`;
  const title = `${standingWords(values.standing)}${apart}`;
  const best = values.standing === "best";
  return h("span", { class: `standing ${values.standing}`, title }, best ? h("b", {}, text) : text);
}
