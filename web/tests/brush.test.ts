/** Window that is dragged by its brush: checked without a browser. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dragged } from "../src/brush";
import { SharedWindow } from "../src/shared-window";

describe("a drag of the brush", () => {
  const range = [0, 20] as const;
  const dragTo = (part: Parameters<typeof dragged>[0], start: number, end: number): readonly number[] =>
    dragged(part, [6, 12], start, end, range, 0.1);

  it("moves an end, which stays in the range and beyond the other one", () => {
    expect(dragTo("to", 12, 15)).toEqual([6, 15]);
    expect(dragTo("to", 12, 99)).toEqual([6, 20]);
    expect(dragTo("to", 12, 1)).toEqual([6, 6.1]);
    expect(dragTo("from", 6, 2)).toEqual([2, 12]);
    expect(dragTo("from", 6, -3)).toEqual([0, 12]);
    expect(dragTo("from", 6, 30)).toEqual([11.9, 12]);
  });

  it("moves the whole window at its length", () => {
    expect(dragTo("all", 8, 9)).toEqual([7, 13]);
    expect(dragTo("all", 8, 99)).toEqual([14, 20]);
    expect(dragTo("all", 8, -99)).toEqual([0, 6]);
  });

  it("selects a new window in either direction, and none by a click", () => {
    expect(dragTo("new", 15, 18)).toEqual([15, 18]);
    expect(dragTo("new", 4, -5)).toEqual([0, 4]);
    expect(dragTo("new", 15, 15.05)).toEqual([6, 12]);
  });
});

describe("a window that moves", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is told as moving until it rests, and is one step back", () => {
    const time = new SharedWindow();
    const told: [boolean, number | null][] = [];
    time.onChange(() => told.push([time.isMoving, time.window?.[0] ?? null]));
    time.show([1, 2], true);
    time.move([3, 4]);
    vi.advanceTimersByTime(100);
    time.move([5, 6]);
    expect(time.isMoving).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([
      [false, 1],
      [true, 3],
      [true, 5],
      [false, 5],
    ]);
    time.back();
    expect(time.window).toEqual([1, 2]);
  });

  it("is one step back from a drag that paused", () => {
    const time = new SharedWindow();
    time.show([1, 2]);
    const end = time.hold();
    time.move([3, 4]);
    vi.advanceTimersByTime(1000);
    expect(time.isMoving).toBe(false);
    time.move([5, 6]);
    end();
    time.hold()();
    time.back();
    expect(time.window).toEqual([1, 2]);
    time.back();
    expect(time.window).toBe(null);
  });

  it("rests when it is let go, and is told so once", () => {
    const time = new SharedWindow();
    const told: boolean[] = [];
    time.move([3, 4]);
    time.onChange(() => told.push(time.isMoving));
    time.settle();
    time.settle();
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([false]);
  });
});
