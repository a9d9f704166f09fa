/** Names at the ends of curves: none covers another or leaves its panel, and the least are left out. */
import { describe, expect, it } from "vitest";
import { type EndName, LINE, layNames, levelAt, nameColour } from "../src/figures/end-names";
import { DARK, LIGHT } from "../src/palette";

const name = (text: string, y: number, weight = 0): EndName => ({ text, y, colour: "#000000", weight });

describe("names at the ends of curves", () => {
  it("stay where their curves end if they are far apart", () => {
    const { laid, more } = layNames([name("b", 90), name("a", 10)], 0, 100);
    expect(laid.map(({ text, at }) => [text, at])).toEqual([
      ["a", 10],
      ["b", 90],
    ]);
    expect(more).toBe(0);
  });

  it("are pushed apart around the middle of those that would cover each other", () => {
    const { laid } = layNames([name("a", 50), name("b", 50), name("c", 50), name("d", 100)], 0, 200);
    expect(laid.map(({ at }) => at)).toEqual([50 - LINE, 50, 50 + LINE, 100]);
  });

  it("never leave the panel or cover each other, and keep the order of the curves", () => {
    // A small generator with a fixed seed: the same panels at every run.
    let state = 7;
    const random = (): number => {
      state = (state * 48271) % 2147483647;
      return state / 2147483647;
    };
    for (let round = 0; round < 500; round += 1) {
      const names = Array.from({ length: Math.floor(random() * 12) }, (_, index) =>
        name(String(index), Math.floor(random() ** 3 * 104), Math.floor(random() * 2)),
      );
      const { laid, more } = layNames(names, 0, 104);
      expect(laid.length + more).toBe(names.length);
      const rows = laid.map(({ at }) => at).concat(more > 0 ? [104] : []);
      rows.forEach((at, index) => {
        expect(at).toBeGreaterThanOrEqual(0);
        expect(at).toBeLessThanOrEqual(104);
        if (index > 0) expect(at - (rows[index - 1] as number)).toBeGreaterThanOrEqual(LINE - 1e-9);
      });
      const ends = laid.map(({ y }) => y);
      expect(ends).toEqual([...ends].sort((a, b) => a - b));
    }
  });

  it("leave out those of least weight, and count them", () => {
    const names = Array.from({ length: 9 }, (_, index) => name(String(index), 20, index === 8 ? 1 : 0));
    const { laid, more } = layNames(names, 0, 3 * LINE);
    expect(laid.map(({ text }) => text).sort()).toEqual(["0", "1", "8"]);
    expect(more).toBe(6);
  });

  it("begin at the value where the window ends, if the curve reaches it", () => {
    expect(
      levelAt(
        [
          [0, 1],
          [10, 3],
        ],
        [0, 5],
      ),
    ).toBe(2);
    expect(
      levelAt(
        [
          [0, 1],
          [4, null],
        ],
        [0, 4],
      ),
    ).toBeNull();
    expect(
      levelAt(
        [
          [3.5, 1],
          [4, null],
        ],
        [0, 4],
      ),
    ).toBe(1);
  });

  it.each([LIGHT, DARK])("have a contrast of 4.5 at least: $name", (ink) => {
    const luminance = (colour: string): number => {
      const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
        const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    for (const colour of ink.series) {
      const [name, panel] = [luminance(nameColour(colour, ink)), luminance(ink.panel)];
      const contrast = (Math.max(name, panel) + 0.05) / (Math.min(name, panel) + 0.05);
      expect(contrast, colour).toBeGreaterThanOrEqual(4.5);
    }
  });
});
