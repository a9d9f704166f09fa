/** Progress of a simulation against real time, from the arrival times of its samples. */

/** Real time over which the rate is computed, in milliseconds. */
const SPAN_MS = 5_000;
/** Least real time needed for a rate, in milliseconds. */
const LEAST_MS = 1_000;

/** Times of the last samples, and the rate that follows from them. */
export class Progress {
  /** Time of the run in seconds and real time in milliseconds, the latest last. */
  #seen: { readonly at: number; readonly now: number }[] = [];

  /** Requested pace at the last sample. */
  #pace = 0;

  /**
   * Adds a sample: its time `at` in seconds of the run, the real time `now` in milliseconds, and the
   * requested pace (0 for as fast as possible).
   */
  take(at: number, now: number, pace: number): void {
    if (pace !== this.#pace) this.clear();
    this.#pace = pace;
    const last = this.#seen.at(-1);
    if (last && at <= last.at) return;
    this.#seen.push({ at, now });
    // One sample older than the span is kept, so that a rate exists even if samples are far apart.
    const first = this.#seen.findLastIndex((seen) => now - seen.now >= SPAN_MS);
    if (first > 0) this.#seen.splice(0, first);
  }

  /** Removes all samples, because the run is paused or has another pace. */
  clear(): void {
    this.#seen = [];
  }

  /** Seconds of the run per second of real time; null until there are enough samples. */
  get rate(): number | null {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (!first || !last || last.now - first.now < LEAST_MS) return null;
    return (1_000 * (last.at - first.at)) / (last.now - first.now);
  }

  /** The rate in words; empty if it equals the requested pace. */
  get words(): string {
    const { rate } = this;
    if (rate === null || (this.#pace > 0 && rate > 0.95 * this.#pace)) return "";
    return `${Number(rate.toPrecision(2))}× real time`;
  }
}
