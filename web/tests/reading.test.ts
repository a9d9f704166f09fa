/** Names and sentences of a report's data: checked without a browser. */
import { describe, expect, it } from "vitest";
import { micro } from "../src/format";
import { limitsOf } from "../src/report";
import { sentencesOf, tallyOf } from "../src/sections/verdict";
import { Selection } from "../src/selection";
import { edgeReport, expectation, sampleReport } from "./sample";

describe("data", () => {
  it("may name a flow like a property of objects", () => {
    const report = JSON.parse(JSON.stringify(edgeReport()));
    expect(new Selection(report).ranked).toContain("__proto__");
    expect(Object.keys(report.runs[0].summary.flows)).toContain("__proto__");
  });

  it("have the tightest bound of an expectation on each side", () => {
    expect(limitsOf(expectation({ that: "x", above: 6.6e6, below: 6.9e6 }))).toEqual({
      low: 6.6e6,
      high: 6.9e6,
    });
    const many = expectation({ that: "x", at_most: 9, below: 8, between: [1, 7], at_least: 2, above: 0 });
    expect(limitsOf(many)).toEqual({ low: 2, high: 7 });
    expect(limitsOf(expectation({ that: "x", below: null }))).toEqual({ low: null, high: null });
  });
});

describe("sentences", () => {
  it("have microseconds as the numbers of the page have them", () => {
    expect(micro("Longest wait: 522 us (p99) of 5 users.")).toBe("Longest wait: 522 µs (p99) of 5 users.");
    expect(micro("lockgate run a.toml --set gap=5us")).toBe("lockgate run a.toml --set gap=5us");
  });

  it("count the expectations", () => {
    expect(tallyOf(sampleReport())).toEqual({ state: "bad", text: "2 of 10 expectations missed" });
    const report = sampleReport();
    for (const { summary } of report.runs) for (const expect of summary.expect) expect.holds = true;
    expect(tallyOf(report)).toEqual({ state: "good", text: "All 10 expectations hold" });
    expect(tallyOf({ ...report, runs: [] }).state).toBe("none");
  });

  it("do not say of an expectation what its row says", () => {
    const verdict = [
      "✗ missed: flow.web.owd.p95 is 84.2 ms, expected below 50 ms",
      "Web pages wait behind the upload.",
    ];
    expect(sentencesOf({ ...sampleReport(), verdict })).toEqual(["Web pages wait behind the upload."]);
  });
});
