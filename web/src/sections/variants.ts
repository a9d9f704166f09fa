/**
 * Table of a comparison: a row for each variant, each metric with its interval, the best marked, and the
 * differences.
 */

import { h } from "../dom";
import { standingWords } from "../figures/intervals";
import { columnScale, NONE, plural, significant } from "../format";
import type { Cell } from "../report";
import { makeTable } from "../table";
import { metricName, type Standing, type VariantMetric, type Variants } from "../variants";

const MARKS: Record<Standing, string> = {
  best: "★",
  reference: "base",
  same: "=",
  differs: "",
  unknown: "?",
};

export function variantsSubtitle(data: Variants): string {
  return `${plural(data.variants.length, "variant")} × ${plural(data.seeds, "seed")}`;
}

export function variantsTable(data: Variants): HTMLElement {
  const rows: Cell[][] = data.variants.map((variant, at) => [
    at + 1,
    ...data.variables.map((variable, index) => variable.values[variant.values[index] ?? -1] ?? null),
    ...data.metrics.map((metric) => metric.variants[at]?.mean ?? null),
  ]);
  const table = makeTable({
    name: "variants",
    rows,
    limit: 40,
    columns: [
      { title: "#", csv: "number" },
      ...data.variables.map(({ name }) => ({ title: name, csv: name })),
      ...data.metrics.map((metric) => ({
        title: metricName(metric.path),
        csv: metric.path,
        unit: metric.unit,
        draw: (_: Cell, row: number) => cell(metric, row),
      })),
    ],
  });
  const note =
    "Mean ± half the width of the 95 % interval. ★ best; = no difference from it is seen (paired by seed, all of a metric judged together at 5 %); no mark: the difference is real; ? too few values to tell.";
  return h("div", { class: "variants" }, table, h("p", { class: "note" }, note));
}

function cell(metric: VariantMetric, row: number): HTMLElement {
  const values = metric.variants[row];
  if (!values || values.mean === null) return h("span", {}, NONE);
  const { factor, label } = columnScale(
    metric.variants.map(({ mean }) => mean),
    metric.unit,
  );
  const shown = (value: number): string => significant(value / factor, 3, true);
  const half = values.halfWidth === null ? "" : ` ± ${significant(values.halfWidth / factor, 2)}`;
  const apart =
    values.difference === null
      ? ""
      : `: ${shown(values.difference)}${values.differenceHalfWidth === null ? "" : ` ± ${shown(values.differenceHalfWidth)}`} ${label}`;
  const title = `${standingWords(values.standing)}${apart}`;
  const best = values.standing === "best";
  return h(
    "span",
    { class: `standing ${values.standing}`, title },
    best ? h("b", {}, shown(values.mean)) : shown(values.mean),
    h("small", {}, half),
    h("i", { role: "img", "aria-label": standingWords(values.standing) }, MARKS[values.standing]),
  );
}
