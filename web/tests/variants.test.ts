/** Variants on the page: their reading, and the figures made of them. */
import { describe, expect, it } from "vitest";
import { frontFigure } from "../src/figures/front";
import { gridOf, heatFigure } from "../src/figures/heat";
import { intervalsFigure } from "../src/figures/intervals";
import { multiplesFigure, pairOf } from "../src/figures/multiples";
import { LIGHT } from "../src/palette";
import { readVariants, type Variants } from "../src/variants";

const metric = (path: string, better: string, means: (number | null)[], best: number): unknown => ({
  path,
  unit: "s",
  better,
  best,
  reference: best,
  variants: means.map((mean, at) => ({
    mean,
    half_width: 0.1,
    seeds: [mean],
    difference: at === best ? null : 0.5,
    difference_half_width: 0.2,
    verdict: at === best ? null : at === 2 ? "not-seen" : at === 3 ? "equal" : "differs",
  })),
});

const variable = (name: string, values: string[], numbers: number[]): unknown => ({
  name,
  unit: "%",
  values,
  numbers,
});

/** Four variants: rate 99 and 95 % by delay 1 and 2. */
function read(): Variants {
  const found = readVariants({
    variables: [variable("rate", ["99%", "95%"], [99, 95]), variable("delay", ["1", "2"], [1, 2])],
    variants: [0, 1, 2, 3].map((at) => ({ label: `v${at}`, values: [at >> 1, at & 1] })),
    seeds: [1, 2, 3],
    metrics: [
      metric("flow.a.owd.p99", "lower", [1, 4, 1.1, 3], 0),
      metric("flow.a.goodput", "higher", [1, 2, 3, null], 2),
    ],
    fronts: [{ x: 0, y: 1, on: [0, 2] }],
    table: {
      columns: ["#", "rate", "delay", "a", "b", "holds"],
      rows: ["2/2", "1/2", "2/2", "0/2"].map((holds, at) => [at, "", "", "", "", holds].map(String)),
    },
  });
  if (!found) throw new Error("not read");
  return found;
}

describe("variants", () => {
  it("are read as they stand, and not at all where they do not fit together", () => {
    const data = read();
    expect(data.seeds).toBe(3);
    expect(data.metrics[0]?.variants.map(({ standing }) => standing)).toEqual([
      "best",
      "differs",
      "same",
      "equal",
    ]);
    // The first variable is the colour, the second the mark, and a column of the table what holds.
    expect(data.variants.map(({ colour, mark }) => [colour, mark])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
    expect(data.holds).toEqual(["2/2", "1/2", "2/2", "0/2"]);
    expect(readVariants(undefined)).toBeNull();
    expect(readVariants({ variants: [{}], metrics: [{ path: "x", variants: [] }] })).toBeNull();
  });

  it("have a key of the standings that occur, and a row each", () => {
    const data = read();
    const first = data.metrics[0];
    if (!first) throw new Error("no metric");
    const figure = intervalsFigure(data, first, {});
    expect(figure.key(LIGHT)[0]?.entries.map(({ label }) => label)).toEqual([
      "best",
      "no difference seen",
      "practically equal",
      "really differs",
    ]);
    expect(figure.table().rows).toHaveLength(4);
    expect(figure.height(390)).toBe(4 * 24 + 64);
  });

  it("are a grid in ascending order, without the variants that have no value", () => {
    const data = read();
    const [delay, goodput] = data.metrics;
    if (!delay || !goodput) throw new Error("no metric");
    const grid = gridOf(data, delay);
    expect(grid?.x.values).toEqual(["95%", "99%"]);
    expect(grid?.cells[0]).toEqual({ column: 1, row: 0, at: 0, mean: 1 });
    expect(gridOf(data, goodput)?.cells).toHaveLength(3);
    if (grid) expect(heatFigure(data, delay, grid).table().rows).toHaveLength(4);
  });

  it("are multiples of the variable with numbers over the other, and a front by name", () => {
    const data = read();
    expect(pairOf(data)?.x.variable.name).toBe("rate");
    const first = data.metrics[0];
    const front = data.fronts[0];
    if (!first || !front) throw new Error("no metric");
    expect(multiplesFigure(data, first, {}).table().rows).toHaveLength(4);
    expect(frontFigure(data, front, {})?.caption).toContain("#1 v0, #3 v2");
    expect(frontFigure(data, front, {})?.table().rows).toHaveLength(3);
  });
});
