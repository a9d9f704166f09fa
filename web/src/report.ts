/**
 * Data of a report as its page uses them. Their types are generated from Rust, where all statistics are computed; the
 * page only draws. Units are base SI.
 */
import type { Cell as AnyCell, Expectation, Quantity, ReportData } from "./generated/lockgate";

/** Data of a page. */
export type Report = ReportData;

/** Data of a page that carries none: the template. */
export const EMPTY: Report = {
  schema: 0,
  version: "",
  generated: "",
  title: "",
  verdict: [],
  command: "",
  scenario: "",
  scenario_hash: "",
  host: "",
  topology: { nodes: [], links: [] },
  definitions: [],
  runs: [],
  comparisons: [],
  figures: [],
};

/** Column of a series: a missing sample is null, and is drawn as a gap. */
export type Numbers = readonly (number | null)[];

/** Cell of a table that the page makes: text, or a number in a base unit. */
export type Cell = Exclude<AnyCell, Quantity>;

export const isQuantity = (cell: AnyCell): cell is Quantity => typeof cell === "object" && cell !== null;

/** Returns the largest lower bound of an expectation, and the smallest upper one; null without one. */
export function limitsOf(expect: Expectation): { low: number | null; high: number | null } {
  const [least, most] = expect.between ?? [];
  const known = (bounds: (number | null | undefined)[]): number[] =>
    bounds.filter((bound) => typeof bound === "number");
  const lower = known([expect.above, expect.at_least, least]);
  const upper = known([expect.below, expect.at_most, most]);
  return {
    low: lower.length > 0 ? Math.max(...lower) : null,
    high: upper.length > 0 ? Math.min(...upper) : null,
  };
}

/**
 * Returns whether a report is of runs: that of an experiment has figures and tables instead, and that of a comparison
 * variants.
 */
export const hasRuns = ({ runs, variants }: Report): boolean => runs.length > 0 && !variants;

/** Returns the sentence on the seed of curves and tables, if there are several; of variants each section says it. */
export function seedNote({ runs, variants }: Report): string {
  const first = runs[0]?.summary;
  return variants || !first || first.runs <= 1 ? "" : ` Seed ${first.seed}, the first of ${first.runs}.`;
}
