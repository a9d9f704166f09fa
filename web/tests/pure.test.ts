/** What can be checked without a browser: reading, formatting, axes, decimation, CSV, layout, selection. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readState, writeState } from "../src/address";
import { extent, linearLimits, logLimits, niceStep, tickFormatter, wantsLog } from "../src/axis";
import { toCsv } from "../src/csv";
import { columnExtremes, isolated, lowerBound, nearest, nearestValue, Reduced } from "../src/decimate";
import { eventLabel, placeLabels } from "../src/events";
import { sample, wrap, xml } from "../src/export";
import { gapFigure } from "../src/figures/distribution";
import { shares } from "../src/figures/rows";
import { rulesOf } from "../src/figures/rules";
import { hasSenders, senderFigure } from "../src/figures/sender";
import { timeFigure } from "../src/figures/time";
import { linkWords, places } from "../src/figures/topology";
import { columnScale, date, quantity, shortened, significant, slug, THIN } from "../src/format";
import { unitOf } from "../src/metric";
import { COLOURS, DARK, dashOf, LIGHT } from "../src/palette";
import { type Report, readReport } from "../src/report";
import { sentencesOf, tallyOf } from "../src/sections/verdict";
import { isFolded, isOfFlow, leavesOf, panelOf, Selection, treeOf } from "../src/selection";
import { SharedWindow } from "../src/shared-window";
import { runName } from "../src/style";
import { compareCells } from "../src/table";
import { edgeReport, sampleReport, sparseReport } from "./sample";

const spaced = (text: string): string => text.replaceAll(THIN, " ");
const sampled = (): Report => readReport(sampleReport());
const edged = (): Report => readReport(JSON.parse(JSON.stringify(edgeReport())));

describe("format", () => {
  it.each([
    [0.0123, "s", "12.3 ms"],
    [9.98e6, "bit/s", "9.98 Mbit/s"],
    [0.0012, "ratio", "0.12 %"],
    [0, "ratio", "0 %"],
    [999.6e-6, "s", "1 ms"],
    [999.4e-6, "s", "999 µs"],
    [3e-13, "s", "0.3 ps"],
    [4000, "s", "4000 s"],
    [12345, "packets", "12 345"],
    [-0.02, "s", "−20 ms"],
    [1e7, "bps", "10 Mbit/s"],
    [0.5, "bit/s", "0.5 bit/s"],
    [1500, "B", "1.5 kB"],
  ])("%d %s reads as %s", (value, unit, wanted) => expect(spaced(quantity(value, unit))).toBe(wanted));

  it("shows what is not a number as a dash", () => {
    for (const value of [null, undefined, NaN, Infinity]) expect(quantity(value, "s")).toBe("–");
  });

  it("keeps every whole digit and pads only when asked", () => {
    expect(spaced(significant(1234567))).toBe("1 234 567");
    expect(significant(21)).toBe("21");
    expect(significant(21, 3, true)).toBe("21.0");
    expect(significant(0.00001234)).toBe("1.23×10⁻⁵");
    expect(significant(0.1 + 0.2)).toBe("0.3");
  });

  it("takes a column's prefix from its greatest numbers", () => {
    expect(columnScale([0.0009, 1.2, null, 0], "s").label).toBe("ms");
    expect(columnScale([], "s").label).toBe("s");
    expect(columnScale([0, 0], "bit/s").label).toBe("bit/s");
    // However many idle queues stand beside the one that matters.
    expect(columnScale([12e-6, 12e-6, 24e-6, 12e-6, 48e-6, 0.0081, 0.0293, 0.0453], "s").label).toBe("ms");
  });

  it("writes dates in UTC and leaves alone what is none", () => {
    expect(date("2026-11-21T05:00:00Z")).toBe("21 November 2026, 05:00 UTC");
    expect(date("yesterday")).toBe("yesterday");
    expect(date("")).toBe("");
  });

  it("shortens in the middle without cutting a character in two", () => {
    expect(shortened("abcdefghij", 7)).toBe("abc…hij");
    expect(shortened("🙂🙂🙂🙂", 3)).toBe("🙂…🙂");
    expect(slug("Rate, delay & <loss>")).toBe("rate-delay-loss");
    expect(slug("../..")).toBe("figure");
  });

  it("finds the unit of an address by its metric, whatever its subject is called", () => {
    expect(unitOf("flow.voice.owd.p99")).toBe("s");
    expect(unitOf("port.home->server.queue.rate.sojourn.p95")).toBe("s");
    expect(unitOf("flow.rate.loss")).toBe("ratio");
    expect(unitOf('flow."owd.rate".throughput')).toBe("bit/s");
    expect(unitOf("group.web.fct.mean")).toBe("s");
    expect(unitOf("group.call.loss.worst")).toBe("ratio");
    expect(unitOf("group.web.bin.2.slowdown.p99")).toBe("");
    expect(unitOf("flow.a.cwnd_mean")).toBe("B");
    expect(unitOf("port.a:b.utilisation")).toBe("ratio");
    expect(unitOf("jain_index")).toBe("");
    expect(unitOf("flow.x.thing.p50")).toBe("");
  });
});

describe("axes", () => {
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

describe("decimation", () => {
  const x = Array.from({ length: 100_000 }, (_, index) => index);

  it("keeps a spike of a single sample, high or low", () => {
    const y = x.map(() => 1);
    y[54_321] = 9;
    y[70_001] = -9;
    const points = new Reduced(x, y).extremes(500);
    expect(points.length).toBeLessThanOrEqual(1500);
    expect(points).toContainEqual([54_321, 9]);
    expect(points).toContainEqual([70_001, -9]);
    expect(points.every((point, index) => index === 0 || point[0] > (points[index - 1]?.[0] ?? -1))).toBe(
      true,
    );
  });

  it("leaves a gap a gap", () => {
    const y = x.map((at) => (at === 40_000 ? null : at % 7));
    expect(new Reduced(x, y).extremes(500).some(([at, value]) => at === 40_000 && value === null)).toBe(true);
  });

  it("cuts to a window and one point beyond each edge", () => {
    const y = x.map((at) => at);
    expect(new Reduced(x, y).extremes(500, [10.5, 13.5]).map(([at]) => at)).toEqual([10, 11, 12, 13, 14, 15]);
    expect(new Reduced([], []).extremes(10)).toEqual([]);
    expect(new Reduced([1, 2], [5]).extremes(10)).toEqual([
      [1, 5],
      [2, null],
    ]);
  });

  it("means runs of samples that do not move with the window, and leaves a gap a gap", () => {
    const some = x.slice(0, 1000);
    const y = some.map((at) => (at >= 500 && at < 600 ? null : at % 2));
    const whole = new Reduced(some, y).means(100, [0, 999]);
    expect(whole.length).toBeLessThanOrEqual(102);
    expect(
      whole
        .filter(([, value]) => value !== null)
        .every(([, value]) => Math.abs((value as number) - 0.5) < 0.06),
    ).toBe(true);
    expect(whole.some(([at, value]) => at > 520 && at < 580 && value === null)).toBe(true);
    const later = new Set(new Reduced(some, y).means(50, [301, 799]).map(([at]) => at));
    expect(
      new Reduced(some, y)
        .means(50, [311, 809])
        .filter(([at]) => at > 320 && at < 780)
        .every(([at]) => later.has(at)),
    ).toBe(true);
    expect(new Reduced([1, 2, 3], [4, null, 6]).means(100, [0, 9])).toEqual([
      [1, 4],
      [2, null],
      [3, 6],
    ]);
  });

  it("finds places in a sorted column", () => {
    expect([0, 2, 2.5, 9].map((value) => lowerBound([1, 2, 3], value))).toEqual([0, 1, 2, 3]);
    expect([-5, 1.4, 1.6, 99].map((value) => nearest([1, 2, 3], value))).toEqual([0, 0, 1, 2]);
    expect(nearest([], 1)).toBe(-1);
  });

  it("finds values without a neighbour", () => {
    expect(isolated([1, null, 2, 3, null, 4, undefined, null, 5])).toEqual([0, 5, 8]);
    expect(isolated([null, null])).toEqual([]);
    expect(isolated([7])).toEqual([0]);
  });

  it("keeps the extremes of each column of pixels", () => {
    const x = [0, 1, 2, 3, 10, 11, 12, 25];
    const y = [5, 9, null, 1, 4, 4, 4, 7];
    expect(columnExtremes([0, 1, 3, 4, 5, 6, 7], x, y, 10)).toEqual([1, 3, 4, 7]);
    expect(columnExtremes([0, 1, 3], x, y, 1)).toEqual([0, 1, 3]);
    expect(columnExtremes([], x, y, 1)).toEqual([]);
  });

  it("finds the nearest value within reach", () => {
    const at = (value: number, reach: number): number =>
      nearestValue([1, 2, 3, 4, 5, 6], [1, null, null, 4, null, null], value, reach);
    expect([at(1.2, 0), at(1.9, 1), at(2.9, 2), at(6, 1)]).toEqual([0, 0, 3, 5]);
    expect(nearestValue([], [], 1, 9)).toBe(-1);
  });
});

describe("tables and files", () => {
  it("quotes what CSV needs quoted and writes numbers in full", () => {
    expect(
      toCsv(
        ["a", 'b "c"'],
        [
          ["x,y", 0.1234567890123],
          ["line\nbreak", null],
        ],
      ),
    ).toBe('a,"b ""c"""\r\n"x,y",0.1234567890123\r\n"line\nbreak",\r\n');
  });

  it("sorts numbers as numbers, names by their numbers, and what is missing last", () => {
    expect([3, null, 10, 2].sort((a, b) => compareCells(a, b, true))).toEqual([2, 3, 10, null]);
    expect([3, null, 10, 2].sort((a, b) => compareCells(a, b, false))).toEqual([10, 3, 2, null]);
    expect(["c/10", "c/9"].sort((a, b) => compareCells(a, b, true))).toEqual(["c/9", "c/10"]);
  });

  it("writes XML that cannot be broken out of", () => {
    expect(xml('<a b="c">&\u0001\ud800x')).toBe("&lt;a b=&quot;c&quot;&gt;&amp;x");
    expect(sample({ label: "", colour: '"><script>', kind: "swatch" })).not.toContain("<script>");
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  });
});

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

describe("senders and other directions", () => {
  const report = (): Report => {
    const raw = JSON.parse(JSON.stringify(sampleReport())) as {
      runs: { flows: Record<string, unknown>[]; summary: { flows: Record<string, unknown> } }[];
    };
    const { flows, summary } = raw.runs[0] as (typeof raw.runs)[number];
    const first = flows[0] as Record<string, unknown>;
    first["tcp"] = {
      congestion: "cubic",
      time_s: [1, 2, 3],
      cwnd_bytes: [14480, 28960, 14480],
      ssthresh_bytes: [null, null, 20000],
      in_flight_bytes: [1448, 2896, 1448],
      rtt_s: [null, 0.04, 0.05],
      rto_s: [1, 0.24, 0.25],
      retransmissions: [0, 0, 2],
    };
    const back = `${String(first["name"])}/return`;
    flows.unshift({ ...JSON.parse(JSON.stringify(first)), name: back, tcp: null });
    summary.flows[back] = summary.flows[String(first["name"])];
    return readReport(raw);
  };

  it("draws windows, times and repetitions of the senders that are shown", () => {
    const read = report();
    expect(hasSenders(read)).toBe(true);
    expect(hasSenders(sampled())).toBe(false);
    const figure = senderFigure(new Selection(read).view(), {});
    expect(figure.empty).toBeNull();
    const { columns, rows } = figure.table();
    expect(figure.key(LIGHT)[0]?.entries.map(({ label }) => label)).toEqual([rows[0]?.[1]]);
    expect(rows.map((row) => row[columns.indexOf("cwnd_bytes")])).toEqual([14480, 28960, 14480]);
    expect(rows.map((row) => row[columns.indexOf("ssthresh_bytes")])).toEqual([null, null, 20000]);
    expect(rows[2]?.[columns.indexOf("retransmissions")]).toBe(2);
    const drawing = figure.draw(LIGHT, 900) as { option: { series: { id: string; yAxisIndex?: number }[] } };
    const ids = drawing.option.series.map((series) => series.id);
    const name = String(rows[0]?.[1]);
    for (const what of ["cwnd", "in flight", "ssthresh", "rtt", "rto", "sent again"])
      expect(ids).toContain(`0 ${what} ${name}`);
    expect(senderFigure(new Selection(sampled()).view(), {}).empty).not.toBeNull();
  });

  it("folds the other directions until they are asked for", () => {
    const read = report();
    const selection = new Selection(read);
    const back = read.runs[0]?.flows[0]?.name ?? "";
    expect(back.endsWith("/return")).toBe(true);
    expect(selection.ranked.at(-1)).toBe(back);
    expect(selection.view().flows).not.toContain(back);
    selection.toggleFlow(selection.view().flows[0] ?? "");
    selection.toggleFlow(back);
    expect(selection.view().flows).toContain(back);
    expect(isFolded("backup/17/control")).toBe(true);
    expect(isFolded("backup/17")).toBe(false);
  });
});

describe("a comparison of one flow", () => {
  const runs = (["fifo", "fq_codel"] as const).map((kind) => ({
    label: kind,
    mode: "sim",
    flows: [{ name: "call", series: { time_s: [1, 2], received_bps: [1, 2] } }],
    ports: [
      {
        name: "a:b",
        queues: [...(kind === "fifo" ? ["fifo"] : ["bulk", "voice"]), "rest"].map((name) => ({
          name,
          kind,
          parent: null,
          series: { time_s: [1, 2], backlog_packets: [3, 4] },
        })),
      },
    ],
  }));
  const view = new Selection(readReport({ runs })).view();

  it("has one colour code: queues have the colour of their variant, and strokes of their own", () => {
    const [variantsKey, queuesKey] = timeFigure(view, {}).key(LIGHT).slice(1);
    const colours = new Map(variantsKey?.entries.map(({ label, colour }) => [label.split(" ")[0], colour]));
    expect(new Set(colours.values()).size).toBe(2);
    const shown = queuesKey?.entries.map(({ label, colour, dash }) => [label, colour, dash]);
    expect(shown).toEqual([
      ["fifo", colours.get("fifo"), null],
      ["rest", LIGHT.soft, [6, 3]],
      ["bulk", colours.get("fq_codel"), null],
      ["voice", colours.get("fq_codel"), [1.5, 3]],
    ]);
  });
});

describe("selection", () => {
  it("shows the flows with the most bytes first, as many as there are colours, and says how many are hidden", () => {
    const selection = new Selection(edged());
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
    const selection = new Selection(sampled());
    selection.solo("web");
    expect(selection.view().flows).toEqual(["web"]);
    selection.solo("web");
    expect(selection.view().flows).toEqual(["voice", "upload", "web"]);
  });

  it("shows the flows of expectations first, however few bytes they have, and their groups", () => {
    const raw = JSON.parse(JSON.stringify(edgeReport())) as { runs: { summary: { expect: unknown[] } }[] };
    const expectations = raw.runs[0]?.summary.expect ?? [];
    expectations.push(
      { that: "flow.client/7.owd.p99", below: 1, value: 0, holds: true },
      { that: 'flow."client/9".loss', below: 1, value: 0, holds: true },
    );
    const { flows } = new Selection(readReport(raw)).view();
    expect(flows).toHaveLength(COLOURS);
    expect(flows.slice(0, 3)).toEqual(expect.arrayContaining(["client/7", "client/9"]));
    expect(flows).toContain("client/300");
    expectations.push({ that: "group.client.owd.p99.worst", below: 1, value: 0, holds: true });
    expect(
      new Selection(readReport(raw))
        .view()
        .flows.every((flow) => flow.startsWith("client/") || flow.startsWith("a-flow-whose")),
    ).toBe(true);
  });

  it("always leaves one run", () => {
    const selection = new Selection(sampled());
    selection.toggleRun(0);
    selection.toggleRun(1);
    expect(selection.view().runs).toHaveLength(1);
    expect(selection.view().mixed).toBe(false);
  });

  it("takes one event of two runs at about the same time for one rule", () => {
    expect(rulesOf(new Selection(sampled()).view()).map((rule) => rule.at_s)).toEqual([12.3, 30, 30.5]);
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
    expect([dashOf("sim", true), dashOf("live", true), dashOf("theory", true)]).toEqual([
      [6, 3],
      null,
      [1.5, 3],
    ]);
    expect(dashOf("sim", false)).toBeNull();
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

describe("events at their rules", () => {
  const change = (
    path: string,
    value: string,
    kind = "change",
    text = "",
  ): Parameters<typeof eventLabel>[0] => ({ kind, path, value, text });
  it.each([
    [change("port.router->client.root", "fair"), "root → fair"],
    [change('port."a.b->c".queue.voice.limit', "20p"), "voice limit → 20p"],
    [change("link.wan.rate, link.wan.delay", "8mbit, 3ms"), "wan rate → 8mbit +1"],
    [change("link.wan.burst", "default"), "wan burst → default"],
    [change("flow.web.owd.p95", "", "expect", "87 ms, wanted below 50 ms"), "web.owd.p95 missed"],
    [change("", "", "note", "called back"), "called back"],
  ])("%j", (event, wanted) => expect(eventLabel(event)).toBe(wanted));

  it("stand beside rules as far as there is room, and count those that have none", () => {
    const texts = ["root → one", "root → two", "root → three", "x", "root → last"];
    const placed = placeLabels(texts, [10, 30, 200, 500, 395], 400);
    expect(placed).toEqual([
      { index: 0, text: "root → one +1", ends: false },
      { index: 2, text: "root → three", ends: false },
      { index: 4, text: "root → last", ends: true },
    ]);
  });

  it("say in the record over time what changed", () => {
    const option = (
      timeFigure(new Selection(sampled()).view(), {}).draw(LIGHT, 1300) as {
        option: {
          series: {
            markLine?: { data: { name: string; xAxis?: number; yAxis?: number; label: { show: boolean } }[] };
          }[];
        };
      }
    ).option;
    const said = option.series
      .flatMap((series) => series.markLine?.data ?? [])
      .filter((rule) => rule.label.show);
    const rules = said.filter((rule) => rule.xAxis !== undefined);
    expect(rules.map((rule) => rule.name)).toEqual(["web.owd.p95 missed", "rest target → 5ms +1"]);
    // Every bound on a flow that is drawn is a line with its number.
    const bounds = said.filter((rule) => rule.yAxis !== undefined);
    expect(bounds.map((rule) => [spaced(rule.name), rule.yAxis])).toEqual([
      ["upload > 8.5 Mbit/s", 8.5e6],
      ["voice < 20 ms", 0.02],
      ["web < 50 ms", 0.05],
    ]);
  });
});

describe("the record over time", () => {
  type Drawn = { height: number; option: { grid: unknown[]; series: { id: string; data: unknown[] }[] } };
  const drawn = (report: Report, width: number): Drawn =>
    timeFigure(new Selection(report).view(), {}).draw(LIGHT, width) as Drawn;

  it("is low enough to stand above the fold, and has rates of few points", () => {
    const { height, option } = drawn(sampled(), 1300);
    expect(height).toBeLessThan(640);
    const points = (id: string): number => option.series.find((series) => series.id === id)?.data.length ?? 0;
    expect(points("0 received upload")).toBeLessThan(130);
    expect(points("0 p50 upload")).toBe(600);
    expect(
      drawn(sampled(), 340).option.series.find((series) => series.id === "0 received upload")?.data.length,
    ).toBeLessThan(40);
  });

  it("leaves the losses out where there are none", () => {
    const raw = JSON.parse(JSON.stringify(sampleReport())) as {
      runs: { flows: { series: { lost_packets: number[] } }[] }[];
    };
    for (const run of raw.runs) for (const flow of run.flows) flow.series.lost_packets.fill(0);
    expect([
      drawn(sampled(), 900).option.grid.length,
      drawn(readReport(raw), 900).option.grid.length,
    ]).toEqual([4, 3]);
    expect(timeFigure(new Selection(readReport(raw)).view(), {}).caption).toContain(
      "No packet of these flows was lost.",
    );
  });

  it("draws points between gaps as dots, and bridges no gap", () => {
    const { series } = drawn(readReport(sparseReport()), 900).option;
    const data = (id: string): [number, number | null][] | undefined =>
      series.find((one) => one.id === id)?.data as [number, number | null][] | undefined;
    const delays = data("0 p50 voice") ?? [];
    expect(delays.filter(([, y]) => y === null)).toHaveLength(400);
    const dots = data("0 p50 voice dots") ?? [];
    expect(dots).toEqual(delays.filter(([, y]) => y !== null));
    expect(dots.some(([x]) => x > 20.1 && x < 40)).toBe(false);
    expect(data("0 received voice dots")).toBeUndefined();
    const caption = (report: object): string =>
      timeFigure(new Selection(readReport(report)).view(), {}).caption;
    expect(caption(sparseReport())).toContain("A dot is an interval");
    expect(caption(sampleReport())).not.toContain("A dot");
  });

  it("draws the largest delays of flows that have no medians", () => {
    const raw = JSON.parse(JSON.stringify(sampleReport())) as {
      runs: { flows: { name: string; series: Record<string, (number | null)[]> }[] }[];
    };
    for (const flow of raw.runs.flatMap((run) => run.flows).filter(({ name }) => name === "voice")) {
      flow.series["owd_p50_s"]?.fill(null);
      flow.series["owd_p99_s"]?.fill(null);
      flow.series["owd_max_s"]?.fill(0.25);
    }
    const { series } = drawn(readReport(raw), 900).option;
    const delays = series.find((one) => one.id === "0 p50 voice")?.data as [number, number | null][];
    expect(delays.length).toBeGreaterThan(0);
    expect(delays.every(([, y]) => y === 0.25)).toBe(true);
    expect(timeFigure(new Selection(readReport(raw)).view(), {}).caption).toContain(
      "Members of groups have the largest delay of each interval.",
    );
  });
});

describe("densities", () => {
  it("are on logarithmic axes, which are called axes, until the reader chooses", () => {
    const view = new Selection(sampled()).view();
    const type = (settings: Record<string, string>): string =>
      (gapFigure(view, settings).draw(LIGHT, 900) as unknown as { option: { yAxis: { type: string } } })
        .option.yAxis.type;
    expect([type({}), type({ y: "linear" })]).toEqual(["log", "value"]);
    expect(gapFigure(view, {}).choices.map((choice) => choice.label)).toEqual(["x axis", "y axis"]);
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

describe("topology", () => {
  it("does not say that a link has no delay", () => {
    const both = (value: number | null) => [value, value];
    expect(linkWords({ rate_bps: both(1e9), delay_s: both(0) }).map(spaced)).toEqual(["1 Gbit/s"]);
    expect(linkWords({ rate_bps: both(1e7), delay_s: both(0.008) }).map(spaced)).toEqual([
      "10 Mbit/s",
      "8 ms",
    ]);
    expect(linkWords({ rate_bps: both(null), delay_s: both(null) })).toEqual([]);
  });

  it("says rate and delay of each direction", () => {
    const link = { rate_bps: [1e7, 1e8], delay_s: [0, 0.02] };
    expect(linkWords(link).map(spaced)).toEqual(["→ 10 Mbit/s", "← 100 Mbit/s", "→ 0 s", "← 20 ms"]);
  });

  it("stands the sides of the slowest link to its left and right", () => {
    const { nodes, links } = sampled();
    const at = places(nodes, links);
    expect([...at].map(([name, place]) => [name, place.x])).toEqual([
      ["phone", 0],
      ["laptop", 0],
      ["home", 0.5],
      ["server", 1],
    ]);
    expect(at.get("phone")?.y).not.toBe(at.get("laptop")?.y);
  });

  it("has a place for every node of a ring, of parts that do not meet, and of links to nowhere", () => {
    const node = (name: string): { name: string; x: null; y: null; router: boolean } => ({
      name,
      x: null,
      y: null,
      router: false,
    });
    const link = (from: string, to: string): { from: string; to: string; rate_bps: number[] } => ({
      from,
      to,
      rate_bps: [1e6, 1e6],
    });
    const at = places([..."abcdef"].map(node), [
      link("a", "b"),
      link("b", "c"),
      link("c", "a"),
      link("d", "e"),
      link("e", "nowhere"),
    ]);
    expect(at.size).toBe(6);
    for (const { x, y } of at.values()) expect(x >= 0 && x <= 1 && y >= 0 && y <= 1).toBe(true);
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
