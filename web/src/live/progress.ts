/** Progress of a simulation against real time, from the times at which its samples came. */

/** Real time over which the rate is taken, in milliseconds. */
const SPAN_MS = 5_000;
/** Least real time for a rate, in milliseconds. */
const LEAST_MS = 1_000;

/** The times of the last samples, and the rate that they make. */
export class Progress {
  /** Time of the run in seconds and real time in milliseconds, the latest last. */
  #seen: { readonly at: number; readonly now: number }[] = [];

  /** Pace that was asked for with the last of them. */
  #pace = 0;

  /** Takes the time `at` of the latest sample in seconds of the run, the real time `now` in milliseconds, and the pace that was asked for (0 for as fast as possible). */
  take(at: number, now: number, pace: number): void {
    if (pace !== this.#pace) this.clear();
    this.#pace = pace;
    const last = this.#seen.at(-1);
    if (last && at <= last.at) return;
    this.#seen.push({ at, now });
    // One older than the span stays, so that samples that are far apart have a rate too.
    const first = this.#seen.findLastIndex((seen) => now - seen.now >= SPAN_MS);
    if (first > 0) this.#seen.splice(0, first);
  }

  /** Forgets what was seen, because the run is held or has another pace. */
  clear(): void {
    this.#seen = [];
  }

  /** Seconds of the run per second of real time; null as long as too little was seen. */
  get rate(): number | null {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (!first || !last || last.now - first.now < LEAST_MS) return null;
    return (1_000 * (last.at - first.at)) / (last.now - first.now);
  }

  /** The rate in words; empty where it is the pace that was asked for. */
  get words(): string {
    const { rate } = this;
    if (rate === null || (this.#pace > 0 && rate > 0.95 * this.#pace)) return "";
    return `${Number(rate.toPrecision(2))}× real time`;
  }
}
