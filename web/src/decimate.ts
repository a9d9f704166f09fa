/**
 * Reduction of a series to points that can be drawn: the smallest and the largest value of each bucket, so that no
 * spike is lost, or means. Buckets begin at multiples of their length, so that a moving window does not change
 * them, and those of each length are computed once.
 */
import type { Numbers } from "./report";

/** A point to draw; a null y breaks the line. */
export type Point = [x: number, y: number | null];

/** Least length of buckets whose points are kept; those of shorter ones are many, and soon computed. */
const KEPT = 16;

/** Points of all buckets of one length, and the index of the first point of each bucket, with one more at the end. */
interface Level {
  points: Point[];
  starts: Int32Array;
}

/** Series of numbers that is drawn in parts. */
export class Reduced {
  /** Places; -Infinity for a missing one, which is not drawn. */
  readonly #x: Float64Array;
  /** Values; NaN for a gap. */
  readonly #y: Float64Array;
  readonly #levels = new Map<number, Level>();
  #sums: { values: Float64Array; counts: Int32Array } | null = null;

  constructor(x: Numbers, y: Numbers) {
    this.#x = Float64Array.from(x, (at) => at ?? -Infinity);
    this.#y = Float64Array.from(x, (_, index) => y[index] ?? Number.NaN);
  }

  /**
   * Returns the extremes within a window, with one bucket more beyond each edge so that lines reach it: at most
   * about `3 * buckets` points, less than that without gaps. A gap in the data stays a gap.
   */
  extremes(buckets: number, window?: readonly [number, number]): Point[] {
    const [first, last] = this.#span(window);
    let size = 1;
    if (last - first > 2 * buckets) while ((last - first) / size > buckets) size *= 2;
    if (size >= KEPT) {
      const { points, starts } = this.#level(size);
      return points.slice(starts[Math.floor(first / size)], starts[Math.ceil(last / size)]);
    }
    const points: Point[] = [];
    for (let from = Math.floor(first / size) * size; from < last; from += size)
      this.#pushExtremes(points, from, Math.min(this.#x.length, from + size));
    return points;
  }

  /**
   * Returns means over runs of equally many samples, at most about `most` within a window, each at the middle of
   * its run. Missing samples leave a gap.
   */
  means(most: number, window?: readonly [number, number]): Point[] {
    const [first, last] = this.#span(window);
    const size = Math.max(1, Math.ceil((last - first - 2) / most));
    const { values, counts } = this.#prefixes();
    const points: Point[] = [];
    for (let from = Math.floor(first / size) * size; from < last; from += size) {
      const to = Math.min(from + size, this.#x.length);
      const at = ((this.#x[from] as number) + (this.#x[to - 1] as number)) / 2;
      if (at === -Infinity) continue;
      const count = (counts[to] as number) - (counts[from] as number);
      points.push([at, count === 0 ? null : ((values[to] as number) - (values[from] as number)) / count]);
    }
    return points;
  }

  /** Returns the range of indices whose x lies in the window, and one more on each side. */
  #span(window?: readonly [number, number]): [number, number] {
    const length = this.#x.length;
    if (!window) return [0, length];
    return [
      Math.max(0, lowerBound(this.#x, window[0]) - 1),
      Math.min(length, lowerBound(this.#x, window[1]) + 2),
    ];
  }

  #level(size: number): Level {
    const known = this.#levels.get(size);
    if (known) return known;
    const buckets = Math.ceil(this.#x.length / size);
    const level: Level = { points: [], starts: new Int32Array(buckets + 1) };
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      level.starts[bucket] = level.points.length;
      this.#pushExtremes(level.points, bucket * size, Math.min(this.#x.length, (bucket + 1) * size));
    }
    level.starts[buckets] = level.points.length;
    this.#levels.set(size, level);
    return level;
  }

  #pushExtremes(points: Point[], from: number, to: number): void {
    const [x, y] = [this.#x, this.#y];
    let least = -1;
    let most = -1;
    let gap = -1;
    for (let index = from; index < to; index += 1) {
      const value = y[index] as number;
      if (x[index] === -Infinity) continue;
      if (Number.isNaN(value)) gap = index;
      else {
        if (least < 0 || value < (y[least] as number)) least = index;
        if (most < 0 || value > (y[most] as number)) most = index;
      }
    }
    const chosen = [...new Set([least, most, gap])].filter((index) => index >= 0).sort((a, b) => a - b);
    for (const index of chosen)
      points.push([x[index] as number, index === gap ? null : (y[index] as number)]);
  }

  /** Returns the sums and counts of all values before each index. */
  #prefixes(): { values: Float64Array; counts: Int32Array } {
    if (this.#sums) return this.#sums;
    const values = new Float64Array(this.#y.length + 1);
    const counts = new Int32Array(this.#y.length + 1);
    this.#y.forEach((value, index) => {
      const missing = Number.isNaN(value);
      values[index + 1] = (values[index] as number) + (missing ? 0 : value);
      counts[index + 1] = (counts[index] as number) + (missing ? 0 : 1);
    });
    this.#sums = { values, counts };
    return this.#sums;
  }
}

const known = new WeakMap<Numbers, Reduced>();

/** Returns the reduction of a column over its times, which is kept as long as the column. */
export function reduced(x: Numbers, y: Numbers): Reduced {
  let found = known.get(y);
  if (!found) {
    found = new Reduced(x, y);
    known.set(y, found);
  }
  return found;
}

/**
 * Returns the indices of values between gaps, without a neighbour on either side. A line does not show them,
 * because it needs two points.
 */
export function isolated(y: ArrayLike<number | null | undefined>): number[] {
  const missing = (index: number): boolean => (y[index] ?? null) === null;
  const found: number[] = [];
  for (let index = 0; index < y.length; index += 1)
    if (!missing(index) && missing(index - 1) && missing(index + 1)) found.push(index);
  return found;
}

/**
 * Returns those of `indices`, which ascend, that have the smallest or the largest value of their column. Columns
 * are `width` wide along x.
 */
export function columnExtremes(
  indices: readonly number[],
  x: ArrayLike<number>,
  y: ArrayLike<number | null | undefined>,
  width: number,
): number[] {
  const found: number[] = [];
  let column = Number.NaN;
  let least = 0;
  let most = 0;
  const push = (): void => {
    if (Number.isNaN(column)) return;
    found.push(Math.min(least, most));
    if (least !== most) found.push(Math.max(least, most));
  };
  for (const index of indices) {
    const at = Math.floor((x[index] ?? 0) / width);
    const value = y[index] ?? 0;
    if (at !== column) {
      push();
      [column, least, most] = [at, index, index];
    }
    if (value < (y[least] ?? 0)) least = index;
    if (value > (y[most] ?? 0)) most = index;
  }
  push();
  return found;
}

/** Returns the first index whose x is not below `value`; the length if there is none. */
export function lowerBound(x: ArrayLike<number | null>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? -Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index whose x is nearest to `value`; -1 for an empty series. */
export function nearest(x: Numbers, value: number): number {
  const after = lowerBound(x, value);
  if (x.length === 0) return -1;
  if (after >= x.length) return x.length - 1;
  if (after === 0) return 0;
  return value - (x[after - 1] ?? -Infinity) <= (x[after] ?? Infinity) - value ? after - 1 : after;
}

/**
 * Returns the index whose x is nearest to `value`. If it has no y: the nearest one with a y, if that is at
 * most `reach` away.
 */
export function nearestValue(x: Numbers, y: Numbers, value: number, reach: number): number {
  const closest = nearest(x, value);
  const has = (index: number): boolean => (y[index] ?? null) !== null;
  if (closest < 0 || has(closest)) return closest;
  const distance = (index: number): number => Math.abs((x[index] ?? Infinity) - value);
  let best = -1;
  for (let index = lowerBound(x, value - reach); index < x.length && distance(index) <= reach; index += 1)
    if (has(index) && (best < 0 || distance(index) < distance(best))) best = index;
  return best < 0 ? closest : best;
}
