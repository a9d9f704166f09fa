/**
 * Reduction of points that keeps spikes: the smallest and the largest value of every bucket, in the order of
 * time.
 */
import type { Numbers } from "./report";

/** A point to draw; a null y breaks the line. */
export type Point = [x: number, y: number | null];

/**
 * Returns the points of a series within a window, with one more beyond each edge so that lines reach it: at
 * most about `2 * buckets` points. A gap in the data stays a gap.
 */
export function decimate(
  x: Numbers,
  y: Numbers,
  buckets: number,
  window?: readonly [number, number],
): Point[] {
  const [first, last] = window ? span(x, window) : [0, x.length];
  const count = last - first;
  const points: Point[] = [];
  if (count <= 2 * buckets) {
    for (let index = first; index < last; index += 1) {
      const at = x[index];
      if (at !== null && at !== undefined) points.push([at, y[index] ?? null]);
    }
    return points;
  }
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const from = first + Math.floor((bucket * count) / buckets);
    const to = first + Math.floor(((bucket + 1) * count) / buckets);
    pushExtremes(points, x, y, from, to);
  }
  return points;
}

/**
 * Returns means over runs of equally many samples, at most about `most` within a window, each at the middle
 * of its run. Runs begin at multiples of their length, so that a moving window does not change them. Missing
 * samples leave a gap.
 */
export function averaged(x: Numbers, y: Numbers, most: number, window: readonly [number, number]): Point[] {
  const [first, last] = span(x, window);
  const size = Math.max(1, Math.ceil((last - first - 2) / most));
  const points: Point[] = [];
  for (let from = Math.floor(first / size) * size; from < last; from += size) {
    const to = Math.min(from + size, x.length);
    const values = y.slice(from, to).filter((value) => value !== null);
    const [begin, end] = [x[from], x[to - 1]];
    if (typeof begin !== "number" || typeof end !== "number") continue;
    points.push([
      (begin + end) / 2,
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length,
    ]);
  }
  return points;
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

function pushExtremes(points: Point[], x: Numbers, y: Numbers, from: number, to: number): void {
  let least = -1;
  let most = -1;
  let gap = -1;
  for (let index = from; index < to; index += 1) {
    const value = y[index] ?? null;
    if (x[index] === null || x[index] === undefined) continue;
    if (value === null) gap = index;
    else {
      if (least < 0 || value < (y[least] as number)) least = index;
      if (most < 0 || value > (y[most] as number)) most = index;
    }
  }
  const chosen = [...new Set([least, most, gap])].filter((index) => index >= 0).sort((a, b) => a - b);
  for (const index of chosen) points.push([x[index] as number, y[index] ?? null]);
}

/**
 * Returns the range of indices whose x lies in the window, and one more on each side. `x` must not decrease.
 */
function span(x: Numbers, window: readonly [number, number]): [number, number] {
  const first = lowerBound(x, window[0]);
  const last = lowerBound(x, window[1]);
  return [Math.max(0, first - 1), Math.min(x.length, last + 2)];
}

/** Returns the first index whose x is not below `value`; the length if there is none. */
export function lowerBound(x: Numbers, value: number): number {
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
