/** Formatting of quantities on the live page. */

/** Formats a rate in bit/s with its prefix. */
export const rate = (bps: number): string =>
  bps >= 1e9
    ? `${(bps / 1e9).toFixed(2)} G`
    : bps >= 1e6
      ? `${(bps / 1e6).toFixed(2)} M`
      : bps >= 1e3
        ? `${(bps / 1e3).toFixed(1)} k`
        : `${bps.toFixed(0)} `;
/** Formats a number of bytes; a dash if unknown. */
export const bytes = (count: number | null): string =>
  count === null ? "–" : count >= 1e6 ? `${(count / 1e6).toFixed(2)} MB` : `${(count / 1e3).toFixed(1)} kB`;
/** Formats a time in seconds with its unit; a dash if unknown. */
export const time = (seconds: number | null): string =>
  seconds === null
    ? "–"
    : seconds >= 1
      ? `${seconds.toFixed(2)} s`
      : seconds >= 1e-3
        ? `${(seconds * 1e3).toFixed(1)} ms`
        : `${(seconds * 1e6).toFixed(0)} µs`;
