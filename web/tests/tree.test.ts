/** The tree of a large network: hops from the core to the members, each with the ports of both directions. */
import { expect, it } from "vitest";
import type { Comparison } from "../src/generated/lockgate";
import { blame, hopsOf, usesOf } from "../src/sections/tree";

const bits = (value: number) => ({ value, unit: "bit/s" as const });
const share = (value: number) => ({ value, unit: "ratio" as const });
const time = (value: number) => ({ value, unit: "s" as const });
/** The rows as Rust writes them: the most drops first. */
const table: Comparison = {
  title: "Where packets wait and are dropped",
  columns: [
    "port",
    "rate",
    "used",
    "dropped",
    "of all drops",
    "queues that drop",
    "longest wait p99",
    "in queue",
  ],
  rows: [
    ["bng:olt", bits(1e10), share(0.99), 96_704, share(1), "17 of 67", time(0.7), "plan/182"],
    ["olt:sub/* (200 ports)", bits(1e9), share(0.2), 0, share(0), "0 of 67", time(1e-5), "fifo"],
    ["internet:bng", bits(4e10), share(0.06), 0, share(0), "0 of 1", time(6e-7), "fifo"],
    ["bng:internet", bits(4e10), share(0.001), 0, share(0), "0 of 1", null, "fifo"],
    ["olt:bng", bits(1e10), share(0.005), 0, share(0), "0 of 1", null, "fifo"],
    ["sub/*:olt (200 ports)", bits(1e9), share(0.004), 0, share(0), "0 of 20", null, "fifo"],
    ["bng:cache", bits(1e10), share(0.1), 3, share(0), "1 of 1", time(2e-3), "fifo"],
  ],
  note: "",
};

it("goes from the core to the members, with the ports of both directions", () => {
  const uses = usesOf(table);
  expect(uses[1]).toMatchObject({ name: "olt:sub/*", ports: 200, used: 0.2, wait: 1e-5, queue: "fifo" });
  const hops = hopsOf(uses);
  expect(hops.map(({ node, depth }) => [node, depth])).toEqual([
    ["internet", 0],
    ["bng", 1],
    ["olt", 2],
    ["sub/*", 3],
    ["cache", 2],
  ]);
  expect(hops.map(({ there, back }) => [there?.used ?? null, back?.used ?? null])).toEqual([
    [null, null],
    [0.06, 0.001],
    [0.99, 0.005],
    [0.2, 0.004],
    [0.1, null],
  ]);
});

it("says all of the drops only of all of them, those of ports beyond the table too", () => {
  const told = (dropped: number, of: number): string => {
    const [first, ...rest] = table.rows;
    const row = (first ?? []).map((cell, at) => (at === 3 ? dropped : at === 4 ? share(dropped / of) : cell));
    return blame(usesOf({ ...table, rows: [row, ...rest] })).replaceAll("\u202f", " ");
  };
  const waits = "; the longest wait is 700 ms (p99) in plan/182.";
  expect(told(96_704, 96_704)).toBe(`bng:olt is 99 % used: all of the 96 704 drops are there${waits}`);
  expect(told(96_704, 96_707)).toBe(
    `bng:olt is 99 % used: over 99.9 % of the 96 707 drops are there${waits}`,
  );
  expect(told(96_704, 120_880)).toBe(`bng:olt is 99 % used: 80 % of the 120 880 drops are there${waits}`);
});

it("ends, whatever the table says", () => {
  const odd = { ...table, rows: [["no port"], ["a:b"], ["b:c"], ["c:a"], ["a:a"]] };
  expect(
    hopsOf(usesOf(odd))
      .map(({ node }) => node)
      .sort(),
  ).toEqual(["a", "b", "c"]);
  expect(hopsOf(usesOf({ ...table, rows: [] }))).toEqual([]);
});
