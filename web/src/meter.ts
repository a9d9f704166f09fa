/** Meters of a value and its bound, in the report and on the live page. */

/** A meter: the length of its bar in per cent, and the style that places its tick, the bound. */
export interface Meter {
  width: number;
  style: string;
}

/**
 * Returns the meter of a row by the part of its bound that is used, 1 at the bound, and by what is wanted: the bar is
 * the value, the tick the bound. Above a lower bound the bar goes beyond the tick, as it does above an upper one.
 */
export function meterOf(used: number, wanted: string): Meter {
  const isLower = /^(above|at least) /.test(wanted);
  const value = Math.max(0, isLower ? (used > 0 ? 1 / used : Number.MAX_VALUE) : used);
  const most = Math.max(1, value);
  return {
    width: 100 * (value / most),
    style: most > 1 ? `--bound:${(100 / most).toFixed(1)}%` : "",
  };
}
