/**
 * Variants of a comparison: their variables, every metric over the seeds, and the fronts, read from the
 * page's data.
 */

import { shortened } from "./format";
import type * as wire from "./generated/lockgate";
import { list, type Numbers, number, numbers, record, text, texts, words } from "./read";

export interface Variable {
  name: string;
  /** Path of the setting; empty if the scenario names the variation. */
  path: string;
  unit: string;
  values: string[];
  /** Values as numbers in the unit; empty for words. */
  numbers: number[];
}

export interface Variant {
  label: string;
  /** For each variable, the index of its value. */
  values: number[];
  /** Index of its colour: that of its value of the first variable with several. */
  colour: number;
  /** Index of its mark: that of its values of the others. */
  mark: number;
}

/**
 * Standing of a variant's difference from the reference; `best` and `reference` are the variants themselves.
 */
export type Standing = "best" | "reference" | "same" | "equal" | "differs" | "unknown";

export interface VariantValues {
  mean: number | null;
  halfWidth: number | null;
  seeds: Numbers;
  difference: number | null;
  differenceHalfWidth: number | null;
  standing: Standing;
}

export interface VariantMetric {
  path: string;
  /** The path in words, as the terminal has it: `call delay p99`. */
  words: string;
  unit: string;
  better: "lower" | "higher" | null;
  best: number | null;
  reference: number | null;
  variants: VariantValues[];
}

export interface Front {
  x: number;
  y: number;
  on: number[];
}

export interface Variants {
  variables: Variable[];
  variants: Variant[];
  seeds: number;
  metrics: VariantMetric[];
  fronts: Front[];
  /** Cells of the table, a row a variant, as the terminal and notebooks have them. */
  cells: string[][];
  /** How many expectations each variant keeps: `3/4`; empty if none were judged. */
  holds: string[];
  /** Meaning of the marks in the cells. */
  note: string;
}

const indices = (value: unknown): number[] => numbers(value).filter((item) => item !== null);

function standing(verdict: unknown, at: number, best: number | null, reference: number | null): Standing {
  if (at === best) return "best";
  if (at === reference) return "reference";
  if (verdict === "differs" || verdict === "equal") return verdict;
  return verdict === "not-seen" || verdict === "same" ? "same" : "unknown";
}

function metric(value: unknown): VariantMetric {
  const raw = record<wire.VariantMetric>(value);
  const [best, reference] = [number(raw["best"]), number(raw["reference"])];
  return {
    path: text(raw["path"]),
    words: text(raw["path"]).replace(/^(flow|group)\./, ""),
    unit: text(raw["unit"]),
    better: raw["better"] === "lower" || raw["better"] === "higher" ? raw["better"] : null,
    best,
    reference,
    variants: list(raw["variants"]).map((item, at) => {
      const values = record<wire.VariantValues>(item);
      return {
        mean: number(values["mean"]),
        halfWidth: number(values["half_width"]),
        seeds: numbers(values["seeds"]),
        difference: number(values["difference"]),
        differenceHalfWidth: number(values["difference_half_width"]),
        standing: standing(values["verdict"], at, best, reference),
      };
    }),
  };
}

/** Returns the look of a variant: the first variable by colour, the others by mark. */
function look(variables: readonly Variable[], values: readonly number[]): { colour: number; mark: number } {
  const counts = variables.map((variable) => variable.values.length);
  const first = Math.max(
    0,
    counts.findIndex((count) => count > 1),
  );
  const mark = counts.reduce(
    (sum, count, index) => (index === first ? sum : sum * count + (values[index] ?? 0)),
    0,
  );
  return { colour: values[first] ?? 0, mark };
}

/** Reads the variants; null if the page has none, or if they are inconsistent. */
export function readVariants(value: unknown): Variants | null {
  const raw = record<wire.Variants>(value);
  const variables = list(raw["variables"]).map((item): Variable => {
    const variable = record<wire.Variable>(item);
    return {
      name: text(variable["name"]),
      path: text(variable["path"]),
      unit: text(variable["unit"]),
      values: texts(variable["values"]),
      numbers: indices(variable["numbers"]),
    };
  });
  const variants = list(raw["variants"]).map((item): Variant => {
    const variant = record<wire.VariantData>(item);
    const values = indices(variant["values"]);
    return { label: text(variant["label"]), values, ...look(variables, values) };
  });
  const metrics = list(raw["metrics"]).map(metric);
  const fits = metrics.every((one) => one.variants.length === variants.length);
  if (variants.length === 0 || !fits) return null;
  const front = (item: unknown): Front => {
    const one = record<wire.Front>(item);
    return { x: number(one["x"]) ?? 0, y: number(one["y"]) ?? 0, on: indices(one["on"]) };
  };
  const fronts = list(raw["fronts"])
    .map(front)
    .filter(({ x, y }) => metrics[x] && metrics[y]);
  const table = record<wire.Comparison>(raw["table"]);
  const cells = list(table["rows"]).map(texts);
  const seeds = list(raw["seeds"]).length;
  const heads = texts(table["columns"]);
  const isJudged = heads.at(-1) === "holds";
  // The heads of the metrics are the last ones, before those of the expectations.
  const first = heads.length - (isJudged ? 1 : 0) - metrics.length;
  if (first > 0)
    metrics.forEach((one, index) => {
      one.words = heads[first + index] || one.words;
    });
  const holds = isJudged ? cells.map((row) => row.at(-1) ?? "") : [];
  return { variables, variants, seeds, metrics, fronts, cells, holds, note: words(table["note"]) };
}

/** Returns the name of a metric as axes and headings show it. */
export function metricName({ words }: VariantMetric, most = 44): string {
  return shortened(words, most);
}

/** Returns the variables with more than one value. */
export function varying(data: Variants): { variable: Variable; index: number }[] {
  return data.variables
    .map((variable, index) => ({ variable, index }))
    .filter(({ variable }) => variable.values.length > 1);
}
