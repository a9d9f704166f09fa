/** Limits and ticks of axes: checked without a browser. */
import { describe, expect, it } from "vitest";
import { extent, linearLimits, logLimits, niceStep, tickFormatter, timeAxis, wantsLog } from "../src/axis";
import { THIN } from "../src/format";
import { LIGHT } from "../src/palette";

const spaced = (text: string): string => text.replaceAll(THIN, " ");

describe("axes", () => {
  it.each([
    [60, "Time, s", "30"],
    [0.0099, "Time, ms", "4.95"],
  ])("count the time of a run of %d s by its unit", (end, name, middle) => {
    const range = [0, end] as const;
    const axis = timeAxis({ panel: 0, isLast: true, window: range, range, ink: LIGHT }) as {
      name: string;
      axisLabel: { formatter: (value: number) => string };
    };
    expect([axis.name, axis.axisLabel.formatter(end / 2)]).toEqual([name, middle]);
  });

  it("steps by 1, 2, 2.5 or 5", () => {
    expect(
      [niceStep(10, 5), niceStep(1, 4), niceStep(0.037, 4), niceStep(7, 2)].map((step) =>
        Number(step.toPrecision(6)),
      ),
    ).toEqual([2, 0.25, 0.01, 5]);
    expect(niceStep(0, 4)).toBe(1);
    expect(niceStep(Infinity, 4)).toBe(1);
  });

  it.each([[[0, 9.98e6]], [[0.01, 0.061]], [[-3, 8]], [[5, 5]], [[0, 0]], [null]] as const)(
    "encloses %j on whole steps",
    (range) => {
      const { min, max, interval } = linearLimits(range, 4);
      expect(min).toBeLessThanOrEqual(range?.[0] ?? 0);
      expect(max).toBeGreaterThanOrEqual(range?.[1] ?? 0);
      expect(max).toBeGreaterThan(min);
      expect(Math.abs(Math.round((max - min) / interval) - (max - min) / interval)).toBeLessThan(1e-9);
    },
  );

  it.each([[[0.011, 0.17]], [[1e-4, 1]], [[5, 5]], [[1, 1]], [[0.9, 1.1]], [[1e-9, 1e9]], [null]] as const)(
    "encloses %j on a logarithmic axis of a decade or more",
    (range) => {
      const { min, max } = logLimits(range);
      expect(min).toBeGreaterThan(0);
      expect(min).toBeLessThanOrEqual((range?.[0] ?? 1) * (1 + 1e-9));
      expect(max).toBeGreaterThanOrEqual((range?.[1] ?? 1) * (1 - 1e-9));
      expect(max / min).toBeGreaterThanOrEqual(9.99);
    },
  );

  it("leaves out nulls, and what a logarithm cannot take", () => {
    expect(
      extent([
        [null, 3],
        [1, null],
      ]),
    ).toEqual([1, 3]);
    expect(extent([[-1, 0, 2]], true)).toEqual([2, 2]);
    expect(extent([[null]])).toBeNull();
    expect(wantsLog([1e-6, 1])).toBe(true);
    expect(wantsLog([0, 1])).toBe(false);
  });

  it("tells ticks apart where the axis is a small part of its values", () => {
    const format = tickFormatter("s", [0.01107, 0.0111], false);
    const ticks = [0.01107, 0.011075, 0.01108, 0.011085, 0.01109].map(format);
    expect(new Set(ticks).size).toBe(ticks.length);
    expect(tickFormatter("s", [0, 0.05], false)(0.025)).toBe("25");
  });

  it("writes ticks in the prefix of the axis, and on a logarithmic one each in its own", () => {
    expect([0, 2.5e6, 1e7].map(tickFormatter("bit/s", [0, 1e7], false))).toEqual(["0", "2.5", "10"]);
    expect([1e-5, 1e-3, 1].map(tickFormatter("s", [1e-5, 1], true)).map(spaced)).toEqual([
      "10 µs",
      "1 ms",
      "1 s",
    ]);
    expect([1, 0.01, 1e-4].map(tickFormatter("fraction", [1e-4, 1], true))).toEqual(["1", "0.01", "10⁻⁴"]);
    // Two ticks of one axis; on a long one the ends are too near to the decades beside them.
    expect([5e-5, 1e-4].map(tickFormatter("fraction", [5e-5, 0.02], true))).toEqual(["5×10⁻⁵", "10⁻⁴"]);
    expect([5e-5, 1e-4].map(tickFormatter("fraction", [5e-5, 1], true))).toEqual(["", "10⁻⁴"]);
    expect([1e5, 2e5].map(tickFormatter("", [0.001, 2e5], true))).toEqual(["10⁵", ""]);
  });

  it("labels each tick of a logarithmic axis with its own value, and no two that are near", () => {
    const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const tickOf = (label: string): number => {
      const [, lead = "", power = ""] = /^(?:([\d.]+)×)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/.exec(label) ?? [];
      if (power === "") return Number(label.replaceAll(THIN, ""));
      const exponent = [...power].map((digit) => (digit === "⁻" ? "-" : digits.indexOf(digit))).join("");
      return Number(lead || 1) * 10 ** Number(exponent);
    };
    for (let low = -12; low < 12; low += 0.37) {
      for (const span of [0, 0.2, 0.9, 1.1, 2, 2.9, 3.4, 6, 11]) {
        const { min, max } = logLimits([10 ** low, 10 ** (low + span)]);
        const format = tickFormatter("", [min, max], true);
        const decades = Array.from({ length: 30 }, (_, index) => Number(`1e${index - 14}`));
        const inside = decades.filter((decade) => decade > min * 1.001 && decade < max / 1.001);
        const labelled = [min, ...inside, max].filter((tick) => format(tick) !== "");
        expect(labelled.length, `${min} to ${max}`).toBeGreaterThanOrEqual(2);
        for (const tick of labelled) expect(tickOf(format(tick)) / tick).toBeCloseTo(1, 6);
        const places = labelled.map((tick) => Math.log(tick / min) / Math.log(max / min));
        for (const [index, place] of places.entries())
          if (index > 0) expect(place - (places[index - 1] ?? 0), `${min} to ${max}`).toBeGreaterThan(0.07);
      }
    }
  });
});
