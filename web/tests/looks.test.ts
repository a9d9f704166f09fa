/** Colours, strokes and marks: checked without a browser. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { shares } from "../src/figures/rows";
import { COLOURS, DARK, dashOf, LIGHT, strokeOf } from "../src/palette";
import { runName } from "../src/style";

describe("looks", () => {
  it.each([
    ["simulation", "sim", "simulation"],
    ["sim", "sim", "simulation"],
    ["live", "live", "live"],
    ["fifo", "sim", "fifo (simulation)"],
    ["live", "sim", "live (simulation)"],
  ] as const)("calls a run labelled %s of mode %s %s", (label, mode, wanted) =>
    expect(runName({ label, mode })).toBe(wanted),
  );

  it("has simulation dashed, live solid and theory dotted where they meet", () => {
    expect([dashOf("sim"), dashOf("live"), dashOf("theory")]).toEqual([[6, 3], null, [1.5, 3]]);
  });

  it("has a stroke for each colour, and never the same colour and stroke again", () => {
    const strokes = (from: number, to: number): string[] =>
      Array.from({ length: to - from }, (_, at) => JSON.stringify(strokeOf(from + at)));
    expect(new Set(strokes(0, COLOURS)).size).toBe(COLOURS);
    const looks = strokes(0, COLOURS ** 2).map((stroke, slot) => `${LIGHT.series[slot % COLOURS]} ${stroke}`);
    expect(new Set(looks).size).toBe(COLOURS ** 2);
  });

  it("has text that can be read on its ground, in both themes", () => {
    const light = (colour: string): number => {
      const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
        const part = parseInt(colour.slice(at, at + 2), 16) / 255;
        return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a: string, b: string): number =>
      (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    for (const ink of [LIGHT, DARK]) {
      for (const colour of [ink.text, ink.soft, ink.accent, ink.good, ink.bad, ink.warn])
        expect(contrast(colour, ink.page)).toBeGreaterThan(4.5);
      expect(ink.series).toHaveLength(COLOURS);
    }
  });

  it("has the same colours for flows in both themes, seen on either ground", () => {
    expect(DARK.series).toEqual(LIGHT.series);
  });

  it("shortens the second part of a row's label before the first", () => {
    expect(shares(30, [{ first: "voice", second: "simulated" }])).toEqual({ first: 5, second: 23 });
    expect(shares(10, [{ first: "voice", second: "on this machine" }])).toEqual({ first: 5, second: 4 });
    expect(shares(10, [{ first: "a-very-long-name", second: "" }])).toEqual({ first: 10, second: 0 });
  });
});

describe("the first paint", () => {
  it("has the colours of the palette", () => {
    const css = readFileSync(new URL("../src/style/answer.css", import.meta.url), "utf8");
    const [light = "", dark = ""] = [...css.matchAll(/:root \{([^}]*)\}/g)].map((found) => found[1] ?? "");
    for (const [text, ink] of [
      [light, LIGHT],
      [dark, DARK],
    ] as const)
      for (const found of text.matchAll(/--(\w+): (#\w+);/g))
        expect([found[1], found[2]]).toEqual([found[1], ink[found[1] as keyof typeof ink]]);
    expect(light.match(/--/g)).toHaveLength(11);
  });
});
