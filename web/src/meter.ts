/** Meters of how much of a bound is used, in the report and on the live page. */

/** Returns the position of the bound in a meter: at its end, or before it if more than all of the bound is used. */
export const boundOf = (used: number): string => (used > 1 ? `--bound:${(100 / used).toFixed(1)}%` : "");
