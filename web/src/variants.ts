/** Variants of a comparison: their looks, and the names that axes and headings show. */
import { shortened } from "./format";
import type { Variable, VariantMetric, Variants } from "./generated/lockgate";

/**
 * Returns the look of a variant: the index of its colour, that of its value of the first variable with several, and the
 * index of its mark, that of its values of the others.
 */
export function lookOf({ variables, variants }: Variants, at: number): { colour: number; mark: number } {
  const values = variants[at]?.values ?? [];
  const first = Math.max(
    0,
    variables.findIndex((variable) => variable.values.length > 1),
  );
  const mark = variables.reduce(
    (sum, variable, index) => (index === first ? sum : sum * variable.values.length + (values[index] ?? 0)),
    0,
  );
  return { colour: values[first] ?? 0, mark };
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
