/** Who pays in a large network: members that miss their bound, by plan and by site. */
import { expect, it } from "vitest";
import type { Comparison, Run } from "../src/generated/lockgate";
import { byPlan, bySite, ruleOf, sentence } from "../src/sections/blame";
import { expectation, queueSummary, singleReport } from "./sample";

const plan = (megabits: number) => ({ value: megabits * 1e6, unit: "bit/s" as const });
const loss = (value: number | null) => (value === null ? null : { value, unit: "ratio" as const });
/** Six videos at two towers, one of which has two access points; one video received nothing. */
const table: Comparison = {
  title: "video: 7 members, the worst first",
  columns: ["member", "host", "queue", "plan", "loss"],
  rows: [
    ["video/1", "sub/1", "plan/1", plan(50), loss(0.19)],
    ["video/2", "sub/2", "plan/2", plan(50), loss(0.03)],
    ["video/3", "sub/3", "plan/3", plan(100), loss(0.02)],
    ["video/4", "sub/4", "plan/4", plan(100), loss(0.01)],
    ["video/5", "sub/5", "plan/5", plan(100), loss(0)],
    ["video/6", "sub/6", "plan/6", plan(50), loss(0)],
    ["video/7", "sub/7", "plan/7", plan(50), loss(null)],
  ],
  note: "",
};

function run(): Run {
  const [one] = singleReport().runs;
  if (!one) throw new Error("no run");
  const below = (parent: string | null) => queueSummary({ parent });
  const port = Object.values(one.summary.ports)[0];
  if (!port) throw new Error("no port");
  one.summary.ports["box:tower"] = {
    ...port,
    queues: {
      shaper: below(null),
      "site/North": below("shaper"),
      "site/South": below("shaper"),
      "site/AP1": below("site/North"),
      "site/AP2": below("site/North"),
      "plan/1": below("site/AP1"),
      "plan/2": below("site/AP1"),
      "plan/3": below("site/AP2"),
      "plan/4": below("site/AP2"),
      "plan/5": below("site/South"),
      "plan/6": below("site/South"),
      "plan/7": below("site/South"),
    },
  };
  one.summary.expect = [expectation({ that: "flow.video/*.loss", at_most: 0.01, value: 0.19, holds: false })];
  return one;
}

it("takes the bound of the group, and without one the rule for pain", () => {
  expect(ruleOf(run(), table)).toMatchObject({ column: "loss", high: 0.01, words: "loss ≤ 1\u202f%" });
  const free = run();
  free.summary.expect = [expectation({ that: "group.video.owd.p99.p95", below: 0.03 })];
  expect(ruleOf(free, table)).toMatchObject({ column: "loss", high: 0.05 });
  expect(ruleOf(free, { ...table, columns: ["member", "delay p99"] })).toMatchObject({
    column: "delay p99",
    high: 0.03,
  });
  expect(ruleOf(free, { ...table, columns: ["member"] })).toBeNull();
  // A part of the run has other values than the table.
  free.summary.expect = [expectation({ that: "flow.video/*.loss @ 1s..2s", at_most: 0.2 })];
  expect(ruleOf(free, table)).toMatchObject({ high: 0.05, isExpected: false });
});

it("counts those that miss by plan, the most first, and leaves out who received nothing", () => {
  const rule = ruleOf(run(), table);
  if (!rule) throw new Error("no rule");
  const plans = byPlan(table, rule);
  expect(plans.map(({ name, misses, members }) => [name, misses, members])).toEqual([
    ["50\u202fMbit/s", 2, 3],
    ["100\u202fMbit/s", 1, 3],
  ]);
  const all = { name: "", depth: 0, members: 6, misses: 3, of: [0.02, 0.19] as [number, number] };
  expect(sentence("video", rule, all, plans).replaceAll("\u202f", " ")).toBe(
    "3 of 6 in video miss loss ≤ 1 %, with 2 % to 19 %; 2 of them are among the 3 with a plan of 50 Mbit/s.",
  );
  // Nothing is missed that is not expected, and a value beyond a bound does not read as the bound.
  const unexpected = { ...rule, high: 0.05, isExpected: false };
  const of = [0.0504, 0.19] as [number, number];
  expect(sentence("video", unexpected, { ...all, of }, []).replaceAll("\u202f", " ")).toBe(
    "3 of 6 in video lose more than 5 %: 5.04 % to 19 %.",
  );
  // Of plans that do not differ, the site is named.
  const { parts } = bySite(table, rule, run());
  expect(sentence("video", rule, all, [], parts).replaceAll("\u202f", " ")).toBe(
    "3 of 6 in video miss loss ≤ 1 %, with 2 % to 19 %; 2 of them are among the 2 below site/AP1.",
  );
  expect(byPlan({ ...table, rows: table.rows.filter((row) => row[3] === table.rows[0]?.[3]) }, rule)).toEqual(
    [],
  );
});

it("has the sites as a tree, the one with the most misses first, and none if all are below the same", () => {
  const rule = ruleOf(run(), table);
  if (!rule) throw new Error("no rule");
  const { port, parts } = bySite(table, rule, run());
  expect(port).toBe("box:tower");
  expect(parts.map(({ name, depth, misses, members }) => [name, depth, misses, members])).toEqual([
    ["site/North", 0, 3, 4],
    ["site/AP1", 1, 2, 2],
    ["site/AP2", 1, 1, 2],
    ["site/South", 0, 0, 2],
  ]);
  const flat = run();
  for (const queue of Object.values(flat.summary.ports["box:tower"]?.queues ?? {}))
    queue.parent = queue.parent === null ? null : "shaper";
  expect(bySite(table, rule, flat).parts).toEqual([]);
});
