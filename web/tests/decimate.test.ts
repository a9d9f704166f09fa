/** Reduction of series to points: checked without a browser. */
import { describe, expect, it } from "vitest";
import { columnExtremes, isolated, lowerBound, nearest, nearestValue, Reduced } from "../src/decimate";

describe("decimation", () => {
  const x = Array.from({ length: 100_000 }, (_, index) => index);

  it("keeps a spike of a single sample, high or low", () => {
    const y = x.map(() => 1);
    y[54_321] = 9;
    y[70_001] = -9;
    const points = new Reduced(x, y).extremes(500);
    expect(points.length).toBeLessThanOrEqual(1500);
    expect(points).toContainEqual([54_321, 9]);
    expect(points).toContainEqual([70_001, -9]);
    expect(points.every((point, index) => index === 0 || point[0] > (points[index - 1]?.[0] ?? -1))).toBe(
      true,
    );
  });

  it.each([
    ["kept", 40_000],
    ["short", 1_000],
  ])("takes the same points of a part for every window, and reaches its edges: %s buckets", (_, span) => {
    const y = x.map((at) => (at % 997 === 0 ? null : at === 54_321 ? 99 : Math.sin(at)));
    const series = new Reduced(x, y);
    const cut = (from: number): readonly (readonly [number, number | null])[] => {
      const points = series.extremes(200, [from + 0.5, from + span - 0.5]);
      expect(points[0]?.[0]).toBeLessThanOrEqual(from + 1 + span / 100);
      expect(points.at(-1)?.[0]).toBeGreaterThanOrEqual(from + span - 1 - span / 100);
      expect(points.length).toBeLessThanOrEqual(600);
      return points;
    };
    const middle = 54_000;
    const inside = (from: number): string =>
      JSON.stringify(cut(from).filter(([at]) => Math.abs(at - middle) < 0.35 * span));
    const seen = inside(middle - span / 2);
    if (span > 1_000) expect(seen).toContain("[54321,99]");
    for (const by of [1, 3, 7, 30]) expect(inside(middle - span / 2 + by), `${by}`).toBe(seen);
  });

  it("leaves a gap a gap", () => {
    const y = x.map((at) => (at === 40_000 ? null : at % 7));
    expect(new Reduced(x, y).extremes(500).some(([at, value]) => at === 40_000 && value === null)).toBe(true);
  });

  it("cuts to a window and one point beyond each edge", () => {
    const y = x.map((at) => at);
    expect(new Reduced(x, y).extremes(500, [10.5, 13.5]).map(([at]) => at)).toEqual([10, 11, 12, 13, 14, 15]);
    expect(new Reduced([], []).extremes(10)).toEqual([]);
    expect(new Reduced([1, 2], [5]).extremes(10)).toEqual([
      [1, 5],
      [2, null],
    ]);
  });

  it("means runs of samples that do not move with the window, and leaves a gap a gap", () => {
    const some = x.slice(0, 1000);
    const y = some.map((at) => (at >= 500 && at < 600 ? null : at % 2));
    const whole = new Reduced(some, y).means(100, [0, 999]);
    expect(whole.length).toBeLessThanOrEqual(102);
    expect(
      whole
        .filter(([, value]) => value !== null)
        .every(([, value]) => Math.abs((value as number) - 0.5) < 0.06),
    ).toBe(true);
    expect(whole.some(([at, value]) => at > 520 && at < 580 && value === null)).toBe(true);
    const later = new Set(new Reduced(some, y).means(50, [301, 799]).map(([at]) => at));
    expect(
      new Reduced(some, y)
        .means(50, [311, 809])
        .filter(([at]) => at > 320 && at < 780)
        .every(([at]) => later.has(at)),
    ).toBe(true);
    expect(new Reduced([1, 2, 3], [4, null, 6]).means(100, [0, 9])).toEqual([
      [1, 4],
      [2, null],
      [3, 6],
    ]);
  });

  it("finds places in a sorted column", () => {
    expect([0, 2, 2.5, 9].map((value) => lowerBound([1, 2, 3], value))).toEqual([0, 1, 2, 3]);
    expect([-5, 1.4, 1.6, 99].map((value) => nearest([1, 2, 3], value))).toEqual([0, 0, 1, 2]);
    expect(nearest([], 1)).toBe(-1);
  });

  it("finds values without a neighbour", () => {
    expect(isolated([1, null, 2, 3, null, 4, undefined, null, 5])).toEqual([0, 5, 8]);
    expect(isolated([null, null])).toEqual([]);
    expect(isolated([7])).toEqual([0]);
  });

  it("keeps the extremes of each column of pixels", () => {
    const x = [0, 1, 2, 3, 10, 11, 12, 25];
    const y = [5, 9, null, 1, 4, 4, 4, 7];
    expect(columnExtremes([0, 1, 3, 4, 5, 6, 7], x, y, 10)).toEqual([1, 3, 4, 7]);
    expect(columnExtremes([0, 1, 3], x, y, 1)).toEqual([0, 1, 3]);
    expect(columnExtremes([], x, y, 1)).toEqual([]);
  });

  it("finds the nearest value within reach", () => {
    const at = (value: number, reach: number): number =>
      nearestValue([1, 2, 3, 4, 5, 6], [1, null, null, 4, null, null], value, reach);
    expect([at(1.2, 0), at(1.9, 1), at(2.9, 2), at(6, 1)]).toEqual([0, 0, 3, 5]);
    expect(nearestValue([], [], 1, 9)).toBe(-1);
  });
});
