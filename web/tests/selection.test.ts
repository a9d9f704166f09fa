/** Selection of flows, runs and ports, and the address that keeps it: checked without a browser. */
import { describe, expect, it } from "vitest";
import { readState, writeState } from "../src/address";
import { rulesOf } from "../src/figures/rules";
import { COLOURS } from "../src/palette";
import { isOfFlow, leavesOf, panelOf, Selection, treeOf } from "../src/selection";
import { SharedWindow } from "../src/shared-window";
import { edgeReport, expectation, sampleReport } from "./sample";

describe("selection", () => {
  it("shows the flows with the most bytes first, as many as there are colours, and says how many are hidden", () => {
    const selection = new Selection(edgeReport());
    const view = selection.view();
    // An expectation is about the first.
    expect(view.flows.map((flow) => flow.slice(0, 10))).toEqual([
      "a-flow-who",
      "client/300",
      "client/299",
      "client/298",
      "client/297",
      "client/296",
      "client/295",
    ]);
    expect(view.hiddenFlows).toBe(297);
    expect(new Set(view.flows.map((flow) => view.slotOf(flow))).size).toBe(COLOURS);
    selection.toggleFlow("client/1");
    expect(selection.view().flows).not.toContain("client/1");
    const kept = selection.view().slotOf("client/299");
    selection.toggleFlow("client/300");
    selection.toggleFlow("client/1");
    expect(selection.view().flows).toContain("client/1");
    expect(selection.view().slotOf("client/299")).toBe(kept);
  });

  it("shows one flow alone and what was shown before again", () => {
    const selection = new Selection(sampleReport());
    selection.solo("web");
    expect(selection.view().flows).toEqual(["web"]);
    selection.solo("web");
    expect(selection.view().flows).toEqual(["voice", "upload", "web"]);
  });

  it("shows the flows of expectations first, however few bytes they have, and their groups", () => {
    const report = edgeReport();
    const expectations = report.runs[0]?.summary.expect ?? [];
    expectations.push(
      expectation({ that: "flow.client/7.owd.p99", below: 1, holds: true }),
      expectation({ that: 'flow."client/9".loss', below: 1, holds: true }),
    );
    const { flows } = new Selection(report).view();
    expect(flows).toHaveLength(COLOURS);
    expect(flows.slice(0, 3)).toEqual(expect.arrayContaining(["client/7", "client/9"]));
    expect(flows).toContain("client/300");
    expectations.push(expectation({ that: "group.client.owd.p99.worst", below: 1, holds: true }));
    expect(
      new Selection(report)
        .view()
        .flows.every((flow) => flow.startsWith("client/") || flow.startsWith("a-flow-whose")),
    ).toBe(true);
  });

  it("always leaves one run", () => {
    const selection = new Selection(sampleReport());
    selection.toggleRun(0);
    selection.toggleRun(1);
    expect(selection.view().runs).toHaveLength(1);
    expect(selection.view().mixed).toBe(false);
  });

  it("takes one event of two runs at about the same time for one rule", () => {
    expect(rulesOf(new Selection(sampleReport()).view()).map((rule) => rule.at_s)).toEqual([12.3, 30, 30.5]);
  });

  it("walks a tree of queues in its order, cycles and lost parents included", () => {
    const queue = (name: string, parent: string | null): { name: string; parent: string | null } => ({
      name,
      parent,
    });
    const tree = [
      queue("b", "a"),
      queue("a", null),
      queue("c", "b"),
      queue("d", "gone"),
      queue("e", "f"),
      queue("f", "e"),
      queue("g", "g"),
    ];
    expect(treeOf(tree).map((row) => `${row.depth}${row.queue.name}`)).toEqual([
      "0a",
      "1b",
      "2c",
      "0d",
      "0g",
      "0e",
      "1f",
    ]);
    expect(leavesOf(tree).map((leaf) => leaf.name)).toEqual(["c", "d", "g", "f"]);
  });
});

describe("what is judged", () => {
  it("finds the flows of an address: one, a group's, a pattern's", () => {
    const names = ["call", "call/1", "call/2", "download/1"];
    const of = (that: string): string[] => names.filter((name) => isOfFlow(that, name));
    expect(of("flow.call.owd.p99")).toEqual(["call"]);
    expect(of('flow."call/1".owd.p99')).toEqual(["call/1"]);
    expect(of("flow.call/*.loss")).toEqual(["call/1", "call/2"]);
    expect(of("group.call.owd.p99.worst")).toEqual(["call/1", "call/2"]);
    expect(of("port.a:b.utilisation")).toEqual([]);
  });

  it("knows the panel of a metric", () => {
    expect(panelOf("flow.a.goodput")).toBe("rate");
    expect(panelOf("group.a.throughput.sum")).toBe("rate");
    expect(panelOf("flow.a/*.loss")).toBe("loss");
    expect(panelOf("flow.goodput.owd.p99")).toBe("delay");
  });
});

describe("the address of a view", () => {
  it("reads what it writes, and leaves those of sections alone", () => {
    const state = {
      window: [10, 14.25] as const,
      flows: ["call", "download/1", "a,b&c"],
      port: "router:modem",
    };
    const text = writeState(state);
    expect(text).toBe("#t=10..14.25&flow=call,download/1,a%2Cb%26c&port=router:modem");
    expect(readState(text)).toEqual({ ...state, window: [10, 14.25] });
    expect(readState("#flows")).toEqual({ window: null, flows: [], port: "" });
    expect(writeState({ window: null, flows: [], port: "" })).toBe("");
    for (const wrong of ["#t=5..5", "#t=9..1", "#t=a..b", "#t=..3", "#t="])
      expect(readState(wrong).window).toBe(null);
    const { window, port } = readState(text);
    expect([window, port]).toEqual([[10, 14.25], "router:modem"]);
  });

  it("goes back a step at a time, and then to the whole", () => {
    const time = new SharedWindow();
    time.show([2, 8], true);
    time.show([3, 4], true);
    time.back();
    expect(time.window).toEqual([2, 8]);
    time.back();
    time.back();
    expect(time.window).toBe(null);
  });
});
