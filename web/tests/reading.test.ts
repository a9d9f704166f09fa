/** Reading of a report's data, and its sentences: checked without a browser. */
import { describe, expect, it } from "vitest";
import { type Report, readReport } from "../src/report";
import { sentencesOf, tallyOf } from "../src/sections/verdict";
import { Selection } from "../src/selection";
import { edgeReport, sampleReport } from "./sample";

const sampled = (): Report => readReport(sampleReport());
const edged = (): Report => readReport(JSON.parse(JSON.stringify(edgeReport())));

describe("reading", () => {
  it("reads the sample in full", () => {
    const report = sampled();
    expect(report.runs.map((run) => run.mode)).toEqual(["sim", "live"]);
    expect(report.runs[0]?.flows[0]?.series.time_s).toHaveLength(600);
    expect(report.runs[0]?.summary.flows["voice"]?.spreads["owd_s"]?.["p99"]).toBeGreaterThan(0.01);
    expect(report.runs[0]?.summary.expect.map((item) => item.bounds)).toContainEqual([
      { words: "between", values: [0.005, 0.08] },
    ]);
    expect(tallyOf(report)).toEqual({ state: "bad", text: "2 of 10 expectations missed" });
  });

  it.each([
    [null],
    [undefined],
    [3],
    ["x"],
    [[]],
    [{}],
    [{ runs: [null, 3, {}], figures: [null], comparisons: [{ rows: [3] }], topology: 7 }],
  ])("makes something of %j", (value) => {
    const report = readReport(value);
    expect(() => new Selection(report).view()).not.toThrow();
    expect(tallyOf(report).state).toBe("none");
  });

  it("takes a flow named like a property of objects for a flow", () => {
    expect(Object.keys(edged().runs[0]?.summary.flows ?? {})).toContain("__proto__");
  });

  it("reads every bound of an expectation, and the tightest on each side", () => {
    const read = (expect: object) =>
      readReport({ runs: [{ summary: { expect: [expect] } }] }).runs[0]?.summary.expect[0];
    const two = read({ that: "flow.a.goodput", above: 6.6e6, below: 6.9e6 });
    expect(two?.bounds).toEqual([
      { words: "above", values: [6.6e6] },
      { words: "below", values: [6.9e6] },
    ]);
    expect([two?.low, two?.high]).toEqual([6.6e6, 6.9e6]);
    const many = read({ that: "x", at_most: 9, below: 8, between: [1, 7], at_least: 2, above: 0 });
    expect(many?.bounds).toHaveLength(5);
    expect([many?.low, many?.high]).toEqual([2, 7]);
    const none = read({ that: "x" });
    expect([none?.bounds, none?.low, none?.high, none?.members]).toEqual([[], null, null, null]);
  });

  it("has microseconds in sentences as in the numbers of the page, and leaves the rest alone", () => {
    const verdict = ["Longest wait: 522 us (p99) of 5 users.", "lockgate run a.toml --set gap=5us"];
    const report = readReport({ verdict, scenario: "gap = '5 us'" });
    expect(report.verdict).toEqual(["Longest wait: 522 µs (p99) of 5 users.", verdict[1]]);
    expect(report.scenario).toBe("gap = '5 us'");
  });

  it("never calls an undecided expectation held", () => {
    const one = (holds: boolean | null): Report =>
      readReport({
        runs: [
          {
            summary: {
              expect: [
                { that: "x", below: 1, value: 0, holds },
                { that: "y", below: 1, value: 0, holds: true },
              ],
            },
          },
        ],
      });
    expect(tallyOf(one(null)).state).toBe("none");
    expect(tallyOf(one(true)).state).toBe("good");
    expect(tallyOf(one(false)).state).toBe("bad");
  });
});

describe("verdict", () => {
  it("does not say of an expectation what its row says", () => {
    const report = {
      ...sampled(),
      verdict: [
        "✗ missed: flow.web.owd.p95 is 84.2 ms, expected below 50 ms",
        "Web pages wait behind the upload.",
      ],
    };
    expect(sentencesOf(report)).toEqual(["Web pages wait behind the upload."]);
  });
});
