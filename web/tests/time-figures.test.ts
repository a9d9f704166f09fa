/** Figures over time: curves, events at their rules, senders, densities: checked without a browser. */
import { describe, expect, it } from "vitest";
import { eventLabel, placeLabels } from "../src/events";
import { gapFigure } from "../src/figures/distribution";
import { hasLines, lineFigure } from "../src/figures/line";
import { hasSenders, senderFigure } from "../src/figures/sender";
import { endOf, timeFigure } from "../src/figures/time";
import { waitsOf } from "../src/figures/time-curves";
import { THIN } from "../src/format";
import type { FlowData, FlowSummary, Run } from "../src/generated/lockgate";
import { LIGHT, STROKES } from "../src/palette";
import { EMPTY, type Report } from "../src/report";
import { isFolded, Selection } from "../src/selection";
import { expectation, flowData, queueData, runOf, sampleReport, singleReport, sparseReport } from "./sample";

const spaced = (text: string): string => text.replaceAll(THIN, " ");

describe("a line and the shaper before it", () => {
  const report = (): Report => {
    const sample = singleReport();
    const [first] = sample.runs as [Run];
    const series = (sent_bps: number[], backlog_bytes: number[]) => ({
      ...queueData("buffer").series,
      time_s: [1, 2],
      sent_bps,
      backlog_bytes,
    });
    const time_s = [1, 2];
    const buffer = { name: "buffer", series: series([7e6, 3e6], [0, 30_000]) };
    first.ports = [
      { name: "modem:isp", queues: [buffer], rates: { time_s, rate_bps: [], capacity_bps: [8e6, 3e6] } },
      {
        name: "gateway:modem",
        queues: [],
        rates: { time_s, rate_bps: [7e6, 5e6], capacity_bps: [] },
        line: "modem:isp",
      },
    ];
    return sample;
  };

  it("stand in one table: what the line allows, the shaped rate, what passes, and the wait", () => {
    const read = report();
    expect(hasLines(read)).toBe(true);
    expect(hasLines(sampleReport())).toBe(false);
    const figure = lineFigure(new Selection(read).view(), {});
    expect(figure.empty).toBeNull();
    expect(figure.caption).toContain("shaper: gateway:modem");
    expect(figure.table().rows).toEqual([
      ["sim", "modem:isp", 1, 8e6, 7e6, 7e6, 0],
      ["sim", "modem:isp", 2, 3e6, 5e6, 3e6, 0.08],
    ]);
    const { option } = figure.draw(LIGHT, 900) as { option: { series: { id: string }[] } };
    const ids = option.series.map(({ id }) => id);
    for (const curve of ["the line allows", "shaped rate", "passes", "wait in the line's queue"])
      expect(ids).toContain(`0 ${curve}`);
  });

  it("marks the largest falls of the rate, with their reasons", () => {
    const read = report();
    const step = (at_s: number, from: number, to: number) => ({
      at_s,
      kind: "note" as const,
      path: "",
      value: "",
      text: `port gateway:modem: ${from}mbit -> ${to}mbit: the line is queueing: less is sent; delay 9 ms`,
    });
    const falls = Array.from({ length: 30 }, (_, at) => step(at, 10, 10 - at / 10));
    const [first] = read.runs as [Run];
    first.events = [...falls, step(31, 3, 30)];
    const { option } = lineFigure(new Selection(read).view(), {}).draw(LIGHT, 900) as {
      option: { series: { markLine?: { data: { name: string; xAxis?: number }[] } }[] };
    };
    const rules = option.series.flatMap(({ markLine }) => markLine?.data ?? []);
    expect([...new Set(rules.map(({ xAxis }) => xAxis))]).toEqual([22, 23, 24, 25, 26, 27, 28, 29]);
    expect(spaced(rules.map(({ name }) => name).join())).toContain("Mbit/s: the line is queueing");
  });

  it("has no shaped rate if the line has no shaper", () => {
    const read = report();
    read.runs[0]?.ports.pop();
    const figure = lineFigure(new Selection(read).view(), {});
    expect(figure.key(LIGHT)[0]?.entries.map(({ label }) => label)).not.toContain("shaped rate");
    expect(figure.table().rows[0]).toEqual(["sim", "modem:isp", 1, 8e6, null, 7e6, 0]);
  });
});

describe("senders and other directions", () => {
  const report = (): Report => {
    const sample = sampleReport();
    const { flows, summary } = sample.runs[0] as Run;
    const first = flows[0] as FlowData;
    first.tcp = {
      congestion: "cubic",
      time_s: [1, 2, 3],
      cwnd_bytes: [14480, 28960, 14480],
      ssthresh_bytes: [null, null, 20000],
      in_flight_bytes: [1448, 2896, 1448],
      rtt_s: [null, 0.04, 0.05],
      rto_s: [1, 0.24, 0.25],
      retransmissions: [0, 0, 2],
    };
    const back = `${first.name}/return`;
    flows.unshift({ ...first, name: back, tcp: null });
    summary.flows[back] = summary.flows[first.name] as FlowSummary;
    return sample;
  };

  it("draws windows, times and repetitions of the senders that are shown", () => {
    const read = report();
    expect(hasSenders(read)).toBe(true);
    expect(hasSenders(sampleReport())).toBe(false);
    const figure = senderFigure(new Selection(read).view(), {});
    expect(figure.empty).toBeNull();
    const { columns, rows } = figure.table();
    expect(figure.key(LIGHT)[0]?.entries.map(({ label }) => label)).toEqual([rows[0]?.[1]]);
    expect(rows.map((row) => row[columns.indexOf("cwnd_bytes")])).toEqual([14480, 28960, 14480]);
    expect(rows.map((row) => row[columns.indexOf("ssthresh_bytes")])).toEqual([null, null, 20000]);
    expect(rows[2]?.[columns.indexOf("retransmissions")]).toBe(2);
    const drawing = figure.draw(LIGHT, 900) as {
      option: { series: { id: string; yAxisIndex?: number; markLine?: { data: { yAxis?: number }[] } }[] };
    };
    const ids = drawing.option.series.map((series) => series.id);
    const name = String(rows[0]?.[1]);
    for (const what of ["cwnd", "in flight", "ssthresh", "rtt", "rto", "sent again"])
      expect(ids).toContain(`0 ${what} ${name}`);
    // The bound of a one-way delay belongs to no panel of senders, not even to that of round trips.
    expect(read.runs[0]?.summary.expect.some(({ that }) => that.includes(".owd."))).toBe(true);
    const lines = drawing.option.series.flatMap(({ markLine }) => markLine?.data ?? []);
    expect(lines.filter((line) => line.yAxis !== undefined)).toEqual([]);
    expect(senderFigure(new Selection(sampleReport()).view(), {}).empty).not.toBeNull();
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
  const time_s = [1, 2];
  const runs = (["fifo", "fq_codel"] as const).map((label) =>
    runOf({
      label,
      mode: "sim",
      flows: [flowData("call", { time_s, received_bps: [1, 2] })],
      ports: [
        {
          name: "a:b",
          queues: [...(label === "fifo" ? ["fifo"] : ["bulk", "voice"]), "rest"].map((name) =>
            queueData(name, { time_s, backlog_packets: [3, 4] }),
          ),
        },
      ],
    }),
  );
  const view = new Selection({ ...EMPTY, runs }).view();

  it("has one colour code: queues have the colour of their variant, and strokes of their own", () => {
    const [variantsKey, queuesKey] = timeFigure(view, {}).key(LIGHT).slice(1);
    const colours = new Map(variantsKey?.entries.map(({ label, colour }) => [label.split(" ")[0], colour]));
    expect(new Set(colours.values()).size).toBe(2);
    const shown = queuesKey?.entries.map(({ label, colour, dash }) => [label, colour, dash]);
    expect(shown).toEqual([
      ["fifo", colours.get("fifo"), null],
      ["rest", LIGHT.soft, STROKES[1]],
      ["bulk", colours.get("fq_codel"), null],
      ["voice", colours.get("fq_codel"), STROKES[2]],
    ]);
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
    [change("port.router:client.root", "fair"), "router:client → fair"],
    [change('port."a.b->c".queue.voice.limit', "20p"), "voice limit → 20p"],
    [change("link.wan.rate, link.wan.delay", "8mbit, 3ms"), "wan rate → 8mbit +1"],
    [change("link.wan.burst", "default"), "wan burst → default"],
    [change("flow.web.owd.p95", "", "expect", "87 ms, wanted below 50 ms"), "web.owd.p95 missed"],
    [change("", "", "note", "called back"), "called back"],
    [
      change("", "", "note", "port a:b: 7.1mbit -> 3.2mbit: the line is queueing: less is sent"),
      "3.2 Mbit/s: the line is queueing",
    ],
    [
      change("", "", "note", "port a:b: 7.1mbit -> 3.2mbit would be set: the line is queueing: less is sent"),
      "would be 3.2 Mbit/s",
    ],
  ])("%j", (event, wanted) => expect(spaced(eventLabel(event))).toBe(wanted));

  it("stand beside rules as far as there is room, and count those that have none", () => {
    const texts = ["root → one", "root → two", "root → three", "x", "root → last"];
    const placed = placeLabels(texts, [10, 30, 200, 500, 395], 400);
    expect(placed).toEqual([
      { index: 0, text: "root → one +1", ends: false },
      { index: 2, text: "root → three", ends: false },
      { index: 4, text: "root → last", ends: true },
    ]);
  });

  it("count the settings of a label with those that it covers", () => {
    const texts = ["l loss → 0% +1", "q limit → 10p", "l rate → 5mbit +2"];
    expect(placeLabels(texts, [10, 10, 20], 400).map(({ text }) => text)).toEqual(["l loss → 0% +5"]);
    expect(placeLabels(texts, [10, 200, 400], 700).map(({ text }) => text)).toEqual(texts);
  });

  it("say in the record over time what changed", () => {
    const option = (
      timeFigure(new Selection(sampleReport()).view(), {}).draw(LIGHT, 1300) as {
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
      ["voice < 20 ms", 0.02],
      ["web < 50 ms", 0.05],
      ["upload > 8.5 Mbit/s", 8.5e6],
    ]);
  });
});

describe("the end of figures over time", () => {
  it("is that of the run, or shortly after the last packet of flows that end early", () => {
    expect(endOf(19.9, 20)).toBe(20);
    expect(endOf(5, 20)).toBe(20);
    expect(endOf(0.01, 0.5)).toBeCloseTo(0.011, 9);
    // A sample may end after the run, and nothing may be received at all.
    expect(endOf(20.1, 20)).toBe(20.1);
    expect(endOf(0, 20)).toBe(20);
  });

  it("fits the packets of the shown runs", () => {
    const report = sampleReport();
    const end = (): number => timeFigure(new Selection(report).view(), {}).range?.[1] ?? 0;
    const whole = end();
    for (const run of report.runs)
      for (const { series } of run.flows)
        series.received_bps = series.received_bps.map((rate, at) => (at < 9 ? rate : 0));
    expect(end()).toBeLessThan(whole / 4);
  });
});

describe("the record over time", () => {
  type Drawn = { option: { grid: unknown[]; series: { id: string; data: unknown[] }[] } };
  const drawn = (report: Report, width: number): Drawn =>
    timeFigure(new Selection(report).view(), {}).draw(LIGHT, width) as Drawn;

  it("is low enough to stand above the fold, and has rates of few points", () => {
    const { option } = drawn(sampleReport(), 1300);
    expect(timeFigure(new Selection(sampleReport()).view(), {}).height(1300)).toBeLessThan(640);
    const points = (id: string): number => option.series.find((series) => series.id === id)?.data.length ?? 0;
    expect(points("0 received upload")).toBeLessThan(130);
    expect(points("0 p50 upload")).toBe(600);
    expect(
      drawn(sampleReport(), 340).option.series.find((series) => series.id === "0 received upload")?.data
        .length,
    ).toBeLessThan(40);
  });

  it("leaves the losses out where there are none", () => {
    const report = sampleReport();
    for (const run of report.runs) for (const flow of run.flows) flow.series.lost_packets.fill(0);
    expect([drawn(sampleReport(), 900).option.grid.length, drawn(report, 900).option.grid.length]).toEqual([
      4, 3,
    ]);
    expect(timeFigure(new Selection(report).view(), {}).caption).toContain(
      "No packet of these flows was lost.",
    );
  });

  it("draws points between gaps as dots, and bridges no gap", () => {
    const { series } = drawn(sparseReport(), 900).option;
    const data = (id: string): [number, number | null][] | undefined =>
      series.find((one) => one.id === id)?.data as [number, number | null][] | undefined;
    const delays = data("0 p50 voice") ?? [];
    expect(delays.filter(([, y]) => y === null)).toHaveLength(400);
    const dots = data("0 p50 voice dots") ?? [];
    expect(dots).toEqual(delays.filter(([, y]) => y !== null));
    expect(dots.some(([x]) => x > 20.1 && x < 40)).toBe(false);
    expect(data("0 received voice dots")).toBeUndefined();
    const caption = (report: Report): string => timeFigure(new Selection(report).view(), {}).caption;
    expect(caption(sparseReport())).toContain("A dot is an interval");
    expect(caption(sampleReport())).not.toContain("A dot");
  });

  it("draws the largest delays of flows that have no medians", () => {
    const report = sampleReport();
    for (const { series } of report.runs.flatMap((run) => run.flows).filter(({ name }) => name === "voice")) {
      series.owd_p50_s.fill(null);
      series.owd_p99_s.fill(null);
      series.owd_max_s.fill(0.25);
    }
    const { series } = drawn(report, 900).option;
    const delays = series.find((one) => one.id === "0 p50 voice")?.data as [number, number | null][];
    expect(delays.length).toBeGreaterThan(0);
    expect(delays.every(([, y]) => y === 0.25)).toBe(true);
    expect(timeFigure(new Selection(report).view(), {}).caption).toContain(
      "Members of groups have the largest delay of each interval.",
    );
  });
});

describe("densities", () => {
  it("are on logarithmic axes, which are called axes, until the reader chooses", () => {
    const view = new Selection(sampleReport()).view();
    const type = (settings: Record<string, string>): string =>
      (gapFigure(view, settings).draw(LIGHT, 900) as unknown as { option: { yAxis: { type: string } } })
        .option.yAxis.type;
    expect([type({}), type({ y: "linear" })]).toEqual(["log", "value"]);
    expect(gapFigure(view, {}).choices.map((choice) => choice.label)).toEqual(["x axis", "y axis"]);
  });
});

describe("the wait in a queue", () => {
  it("is its backlog over the rate at which it is served, also where it was idle for a part of an interval", () => {
    const backlog_bytes = [0, 10_000, 20_000, 0, 5_000, 0];
    const sent_bps = [0, 1e6, 8e5, 1e6, 4e5, 2e5];
    const { series } = queueData("q", { time_s: [1, 2, 3, 4, 5, 6], backlog_bytes, sent_bps });
    // Between 2 and 3 s it always had something to send; at 5 s it did only then, and is served at its largest rate.
    expect(waitsOf(series, null)).toEqual([0, 0.1, 0.2, 0, 0.04, 0]);
  });

  it("is by all packets that leave, dropped ones too, if the recorded waits are those of such a queue", () => {
    const time_s = [1, 2, 3, 4];
    const backlog_bytes = [250_000, 250_000, 250_000, 250_000];
    const [sent, offered] = [1e6, 2e6];
    const { series } = queueData("q", {
      time_s,
      backlog_bytes,
      offered_bps: time_s.map(() => offered),
      sent_bps: time_s.map(() => sent),
      dropped_packets: time_s.map(() => 100),
    });
    const last = (largest: number): unknown => waitsOf(series, { largest, after: 1 }).at(-1);
    expect([last(2.01), last(1.02), last(0)], "dropped at the tail, at the head, not known").toEqual([
      2, 1, 2,
    ]);
    series.dropped_packets.fill(0);
    expect(last(1.02), "what is not dropped is sent").toBe(2);
  });
});

describe("the delay, which is what users feel", () => {
  type Series = {
    id: string;
    xAxisIndex?: number;
    stack?: string;
    areaStyle?: object;
    data: [number, number | null][];
  };
  const seriesOf = (report: Report): Series[] => {
    const drawing = timeFigure(new Selection(report).view(), {}).draw(LIGHT, 1300) as {
      option: { series: Series[] };
    };
    return drawing.option.series;
  };
  const panelOfCurve = (report: Report, id: string): number | undefined =>
    seriesOf(report).find((series) => series.id === id)?.xAxisIndex;

  it("is the first panel and the highest, above the queue and the rate", () => {
    const { option } = timeFigure(new Selection(singleReport()).view(), {}).draw(LIGHT, 1300) as {
      option: { grid: { height: number }[]; yAxis: { name: string }[] };
    };
    expect(option.yAxis.map(({ name }) => name.split(",")[0])).toEqual([
      "One-way delay",
      "Wait in queue",
      "Rate",
    ]);
    const [delay = 0, ...others] = option.grid.map(({ height }) => height);
    expect(delay).toBeGreaterThan(2 * Math.max(...others));
    expect(panelOfCurve(singleReport(), "0 p50 voice")).toBe(0);
    expect(panelOfCurve(singleReport(), "0 received voice")).toBe(2);
  });

  it("shades what is above its bound, and nothing of what is below", () => {
    const report = singleReport();
    const [run] = report.runs;
    const voice = run?.flows.find(({ name }) => name === "voice");
    if (!run || !voice) throw new Error("no flow");
    voice.series.owd_p99_s = voice.series.time_s.map((at) => ((at ?? 0) > 40 ? 0.05 : 0.01));
    run.summary.expect = [expectation({ that: "flow.voice.owd.p99", below: 0.02, value: 0.05 })];
    const [excess] = seriesOf(report).filter(
      ({ areaStyle, stack }) => areaStyle && stack?.startsWith("excess"),
    );
    expect(Math.max(...(excess?.data ?? []).map(([, y]) => y ?? 0))).toBeCloseTo(0.03, 9);
    expect(excess?.data.some(([x, y]) => x < 39 && (y ?? 0) > 0)).toBe(false);
    voice.series.owd_p99_s = voice.series.time_s.map(() => 0.01);
    expect(seriesOf(report).some(({ stack }) => stack?.startsWith("excess"))).toBe(false);
  });

  it("stands above what each queue sent, up to the rate of the link", () => {
    const stacked = seriesOf(singleReport()).filter(({ stack }) => stack === "sent");
    expect(stacked.length).toBeGreaterThan(1);
    expect(stacked.every(({ xAxisIndex }) => xAxisIndex === 2)).toBe(true);
    // Of several runs, areas would lie over each other.
    expect(seriesOf(sampleReport()).some(({ stack }) => stack === "sent")).toBe(false);
  });
});
