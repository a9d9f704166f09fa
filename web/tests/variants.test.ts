/** Variants on the page: their looks, and the figures made of them. */
import { describe, expect, it } from "vitest";
import { frontFigure, placed } from "../src/figures/front";
import { gridOf, heatFigure } from "../src/figures/heat";
import { intervalsFigure } from "../src/figures/intervals";
import { multiplesFigure, pairOf } from "../src/figures/multiples";
import type { Standing, Variable, VariantMetric, Variants } from "../src/generated/lockgate";
import { LIGHT } from "../src/palette";
import { lookOf } from "../src/variants";

const metric = (
  path: string,
  better: "lower" | "higher",
  means: (number | null)[],
  standings: Standing[],
): VariantMetric => ({
  path,
  words: path,
  unit: "s",
  better,
  best: standings.indexOf("best"),
  reference: standings.indexOf("best"),
  variants: means.map((mean, at) => ({
    mean,
    half_width: 0.1,
    seeds: [mean],
    difference: standings[at] === "best" ? null : 0.5,
    difference_half_width: 0.2,
    standing: standings[at] as Standing,
    times: null,
  })),
  bounds: [null, null],
});

const variable = (name: string, values: string[], numbers: number[]): Variable => ({
  name,
  path: "",
  unit: "%",
  values,
  numbers,
});

/** Four variants: rate 99 and 95 % by delay 1 and 2. */
const data: Variants = {
  variables: [variable("rate", ["99%", "95%"], [99, 95]), variable("delay", ["1", "2"], [1, 2])],
  variants: [0, 1, 2, 3].map((at) => ({ label: `v${at}`, values: [at >> 1, at & 1], missed: [] })),
  seeds: [1, 2, 3],
  metrics: [
    metric("flow.a.owd.p99", "lower", [1, 4, 1.1, 3], ["best", "differs", "same", "equal"]),
    metric("flow.a.goodput", "higher", [1, 2, 3, null], ["differs", "differs", "best", "unknown"]),
  ],
  fronts: [{ x: 0, y: 1, on: [0, 2] }],
  table: { title: "", columns: [], rows: [], note: "" },
};
const [delay, goodput] = data.metrics as [VariantMetric, VariantMetric];

describe("variants", () => {
  it("have the first variable as colour and the second as mark", () => {
    expect(data.variants.map((_, at) => lookOf(data, at))).toEqual([
      { colour: 0, mark: 0 },
      { colour: 0, mark: 1 },
      { colour: 1, mark: 0 },
      { colour: 1, mark: 1 },
    ]);
  });

  it("have a key of the standings that occur, and a row each", () => {
    const figure = intervalsFigure(data, delay, {});
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
    const grid = gridOf(data, delay);
    expect(grid?.x.values).toEqual(["95%", "99%"]);
    expect(grid?.cells[0]).toEqual({ column: 1, row: 0, at: 0, mean: 1 });
    expect(gridOf(data, goodput)?.cells).toHaveLength(3);
    if (grid) expect(heatFigure(data, delay, grid).table().rows).toHaveLength(4);
  });

  it("are multiples of the variable with numbers over the other, and a front by name", () => {
    expect(pairOf(data)?.x.variable.name).toBe("rate");
    const [front] = data.fronts;
    if (!front) throw new Error("no front");
    const multiples = multiplesFigure(data, delay, {});
    const { columns, rows } = multiples.table();
    expect([columns[0], ...rows.map(([value]) => value)]).toEqual(["delay", "1", "1", "2", "2"]);
    const { option } = multiples.draw(LIGHT, 900) as { option: { yAxis: { name: string }[] } };
    expect(option.yAxis.map(({ name }) => name.split(", ")[0])).toEqual(["delay: 1", "delay: 2"]);
    expect(frontFigure(data, front, {}).caption).toContain("#1 v0, #3 v2");
    expect(frontFigure(data, front, {}).table().rows).toHaveLength(3);
  });
});

describe("the numbers of a trade-off", () => {
  it("lie over no other number and no point, and stand back where there is no room", () => {
    const at = (x: number, y: number, number: number, isFirst = false) => ({
      x,
      y,
      text: String(number),
      isFirst,
    });
    // Alone, and of two neighbours one at another side.
    expect(placed([at(100, 100, 1)])).toEqual(["right"]);
    expect(placed([at(100, 100, 7), at(116, 100, 11)])).toEqual(["top", "right"]);
    // Those of the front first: of points at one place only one number has room on each side.
    const heap = Array.from({ length: 6 }, (_, number) => at(100, 100, number + 1, number === 5));
    const sides = placed(heap.map((point, index) => ({ ...point, x: point.x + 0.1 * index })));
    expect(sides[5]).toBe("right");
    expect(sides.filter((side) => side === null).length).toBe(2);
    const apart = placed([at(100, 100, 1), at(100, 130, 2, true), at(100, 160, 3)]);
    expect(apart).toEqual(["right", "right", "right"]);
  });
});
