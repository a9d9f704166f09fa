/** Made-up reports, of the types that Rust writes: a plausible one, and one of everything that could go wrong. */
import { gzipSync } from "node:zlib";
import type {
  Distribution,
  Expectation,
  FlowData,
  FlowSeriesData,
  FlowSummary,
  Origin,
  QueueData,
  QueueSeriesData,
  QueueSummary,
  Run,
  Summary,
} from "../src/generated/lockgate";
import { EMPTY, type Report } from "../src/report";

/** A small generator of random numbers (mulberry32): samples are the same every time. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const POINTS = 600;
const DURATION = 60;
/** Ends of the intervals. */
const TIMES = Array.from({ length: POINTS }, (_, at) => ((at + 1) * DURATION) / POINTS);

// Parts of a report, of which the rest is that of a run that observed nothing.

const quantile = (sorted: readonly number[], fraction: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? 0;

/** Returns the statistics of some values; of none, those of nothing. */
export function distribution(values: readonly number[] = []): Distribution {
  const sorted = [...values].sort((a, b) => a - b);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  const at = (fraction: number): number | null => (values.length > 0 ? quantile(sorted, fraction) : null);
  const [min, p50, p90, p95, p99, p999, max] = [0, 0.5, 0.9, 0.95, 0.99, 0.999, 1].map(at) as number[];
  const moments = values.length > 0 ? { mean, std } : { mean: null, std: null };
  return { count: values.length, min, p50, p90, p95, p99, p999, max, ...moments } as Distribution;
}

const NONE = distribution();

const flowSummary = (told: Partial<FlowSummary> = {}): FlowSummary => ({
  sent_packets: 0,
  sent_bytes: 0,
  received_packets: 0,
  received_bytes: 0,
  lost_packets: 0,
  lost_by: {},
  inside_packets: 0,
  throughput_bps: null,
  goodput_bps: null,
  loss_ratio: null,
  reordered_ratio: null,
  owd_s: NONE,
  queueing_s: NONE,
  serialisation_s: NONE,
  propagation_s: null,
  ipdv_s: NONE,
  ipdv_signed_mean_s: null,
  pdv_s: NONE,
  jitter_rfc3550_s: null,
  iat_s: NONE,
  fct_s: null,
  ...told,
});

export const queueSummary = (told: Partial<QueueSummary> = {}): QueueSummary => ({
  kind: "fifo",
  parent: null,
  enqueued_packets: 0,
  offered_bytes: 0,
  sent_packets: 0,
  sent_bytes: 0,
  throughput_bps: null,
  dropped_packets: 0,
  drops_by: {},
  marked_packets: 0,
  moved_in_packets: 0,
  moved_out_packets: 0,
  backlog_packets: 0,
  peak_backlog_packets: 0,
  mean_backlog_packets: null,
  sojourn_s: NONE,
  scheduling_mean_s: null,
  ...told,
});

export const flowData = (
  name: string,
  series: Partial<FlowSeriesData> = {},
  told: Partial<FlowData> = {},
): FlowData => ({
  name,
  series: {
    time_s: [],
    offered_bps: [],
    received_bps: [],
    lost_packets: [],
    owd_p50_s: [],
    owd_p99_s: [],
    owd_max_s: [],
    ...series,
  },
  owd_cdf: { value_s: [], fraction: [] },
  iat_density: { value_s: [], density: [] },
  owd_box: { p5: null, p25: null, p50: null, p75: null, p95: null, mean: null },
  split_s: { queueing: null, serialisation: null, propagation: null },
  ...told,
});

export const queueData = (name: string, series: Partial<QueueSeriesData> = {}): QueueData => ({
  name,
  series: {
    time_s: [],
    backlog_packets: [],
    peak_packets: [],
    backlog_bytes: [],
    offered_bps: [],
    sent_bps: [],
    dropped_packets: [],
    marked_packets: [],
    ...series,
  },
});

export const expectation = (told: Pick<Expectation, "that"> & Partial<Expectation>): Expectation => ({
  in: "95%",
  value: null,
  half_width: null,
  values: [told.value ?? null],
  held: told.holds ? 1 : 0,
  holds: false,
  ...told,
});

/** Returns a run with these curves, and the results of the flows and queues that have them. */
export function runOf(
  told: Pick<Run, "label" | "mode"> & Partial<Omit<Run, "summary">>,
  summary: Partial<Summary> = {},
): Run {
  const { flows = [], ports = [] } = told;
  const queues = (all: readonly QueueData[]) =>
    Object.fromEntries(all.map(({ name }) => [name, queueSummary()]));
  return {
    interval_s: DURATION / POINTS,
    flows,
    ports,
    events: [],
    ...told,
    summary: {
      schema: 1,
      title: "",
      mode: told.mode === "live" ? "live" : "sim",
      seed: 1,
      runs: 1,
      duration_s: 0,
      warmup_s: 0,
      flows: Object.fromEntries(flows.map(({ name }) => [name, flowSummary()])),
      ports: Object.fromEntries(ports.map((port) => [port.name, portSummary(0, queues(port.queues))])),
      jain_index: null,
      intervals: {},
      expect: [],
      engine: { packet_hops: 0, events: 0 },
      warnings: [],
      ...summary,
    },
  };
}

const portSummary = (rate_bps: number, queues: Record<string, QueueSummary>) => ({
  rate_bps,
  capacity_bps: rate_bps,
  utilisation: 0.987,
  requests_met_ratio: null,
  requests_contended_ratio: null,
  queues,
});

// The plausible report.

interface Shape {
  rate: number;
  serialisation: number;
  /** Mean queueing before and after the change. */
  before: number;
  after: number;
  gap: number;
  length: number;
}

const PROPAGATION = 0.0101;

const SHAPES: Record<string, Shape> = {
  voice: { rate: 80e3, serialisation: 0.00018, before: 0.0021, after: 0.0009, gap: 0.02, length: 200 },
  upload: { rate: 9.1e6, serialisation: 0.00133, before: 0.061, after: 0.0094, gap: 0.00125, length: 1514 },
  web: { rate: 0.7e6, serialisation: 0.0011, before: 0.047, after: 0.0052, gap: 0.011, length: 1200 },
};

function flowOf(name: string, shape: Shape, seed: number, late: number): [FlowData, FlowSummary] {
  const next = random(seed);
  const exponential = (): number => -Math.log(1 - next());
  const own = PROPAGATION + shape.serialisation;
  const delays = Array.from({ length: 8000 }, (_, at) => {
    const queueing = (at < 4000 ? shape.before : shape.after) * (0.25 + 0.75 * exponential());
    return own + Math.min(queueing, 0.4) + late * exponential();
  });
  const isSilent = (time: number): boolean =>
    name === "web" ? Math.floor(time / 4) % 2 === 1 : name === "upload" && time < 5;
  const offered = TIMES.map((time) => (isSilent(time) ? 0 : shape.rate * (0.85 + 0.3 * next())));
  const lost = TIMES.map((time, at) =>
    offered[at] && name !== "voice" && next() < (time < 30 ? 0.09 : 0.04) ? Math.ceil(next() * 9) : 0,
  );
  const waits = TIMES.map((time) => {
    const swing = name === "voice" ? 1 : 0.75 + 0.35 * Math.sin(time * 1.3 + seed);
    return (time < 30 ? shape.before : shape.after) * (0.8 + 0.4 * next()) * swing;
  });
  const delay = (times: () => number): (number | null)[] =>
    waits.map((wait, at) => (offered[at] ? own + late + wait * times() : null));
  const sorted = [...delays].sort((a, b) => a - b);
  const fractions = [
    0.0001,
    ...Array.from({ length: 298 }, (_, at) => 1 - 10 ** ((-(at + 1) / 299) * Math.log10(8000))),
    1,
  ];
  const gaps = Array.from({ length: 60 }, (_, at) => shape.gap * 10 ** (-1.5 + at / 25));
  const [p5, p25, p50, p75, p95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((part) => quantile(sorted, part));
  const owd = distribution(delays);
  const mean = owd.mean ?? 0;
  const sent = Math.round((shape.rate * 55) / 8 / shape.length);
  const dropped = lost.reduce((sum, count) => sum + count, 0);
  const received = sent - dropped - 3;
  const data = flowData(
    name,
    {
      time_s: TIMES,
      offered_bps: offered,
      received_bps: offered.map((rate, at) => Math.max(0, rate - ((lost[at] ?? 0) * shape.length * 8) / 0.1)),
      lost_packets: lost,
      owd_p50_s: delay(() => 1),
      owd_p99_s: delay(() => 1.5 + 0.5 * next()),
      owd_max_s: delay(() => 2.2 + next()),
    },
    {
      owd_cdf: { value_s: fractions.map((part) => quantile(sorted, part)), fraction: fractions },
      iat_density: { value_s: gaps, density: gaps.map((gap) => Math.exp(-gap / shape.gap) / shape.gap) },
      owd_box: { p5, p25, p50, p75, p95, mean } as FlowData["owd_box"],
      split_s: { queueing: mean - own, serialisation: shape.serialisation, propagation: PROPAGATION },
    },
  );
  const summary = flowSummary({
    sent_packets: sent,
    sent_bytes: sent * shape.length,
    received_packets: received,
    received_bytes: received * shape.length,
    lost_packets: dropped,
    lost_by: dropped > 0 ? { early: dropped } : {},
    inside_packets: 3,
    throughput_bps: (received * shape.length * 8) / 55,
    goodput_bps: (received * (shape.length - 42) * 8) / 55,
    loss_ratio: dropped / sent,
    reordered_ratio: 0,
    owd_s: owd,
    pdv_s: distribution(delays.map((one) => one - (owd.min ?? 0))),
    ipdv_s: distribution(delays.slice(1).map((one, at) => Math.abs(one - (delays[at] ?? 0)))),
    jitter_rfc3550_s: (mean - PROPAGATION) * 0.3,
  });
  return [data, summary];
}

/** Queues of the uplink: name, kind, parent, usual backlog, drops by reason. */
const QUEUES: [string, string, string | null, number, Record<string, number>][] = [
  ["link", "cbq", null, 52, {}],
  ["voice", "fifo", "link", 1.2, {}],
  ["rest", "class", "link", 50, {}],
  ["interactive", "fq_codel", "rest", 9, { early: 61, limit: 4 }],
  ["bulk", "fq_codel", "rest", 41, { early: 212, limit: 38, shrunk: 5 }],
];

function queueOf(
  [name, kind, parent, depth, drops_by]: (typeof QUEUES)[number],
  seed: number,
): [QueueData, QueueSummary] {
  const next = random(seed);
  const backlog = TIMES.map((time) =>
    Math.round(depth * (time < 5 ? 0.02 : time < 30 ? 1 : 0.18) * (0.6 + 0.8 * next())),
  );
  const dropped = Object.values(drops_by).reduce((sum, count) => sum + count, 0);
  const sent = Math.round(depth * 900);
  const data = queueData(name, {
    time_s: TIMES,
    backlog_packets: backlog,
    peak_packets: backlog.map((now) => Math.ceil(now * 1.3) + 1),
    backlog_bytes: backlog.map((now) => now * 1400),
    offered_bps: TIMES.map(() => 9.9e6 * next()),
    sent_bps: TIMES.map(() => 9.7e6 * next()),
    dropped_packets: TIMES.map(() => (next() < 0.05 ? 3 : 0)),
    marked_packets: TIMES.map(() => 0),
  });
  const summary = queueSummary({
    kind,
    parent,
    drops_by,
    dropped_packets: dropped,
    enqueued_packets: sent + dropped,
    sent_packets: sent,
    sent_bytes: sent * 1400,
    backlog_packets: Math.round(depth / 4),
    peak_backlog_packets: Math.ceil(depth * 1.9),
    sojourn_s: distribution(Array.from({ length: 500 }, () => depth * 0.0012 * (0.3 + next()))),
  });
  return [data, summary];
}

const PORT = "home->server";

function run(label: string, mode: Origin, seed: number, late: number): Run {
  const flows = Object.entries(SHAPES).map(([name, shape], at) => flowOf(name, shape, seed * 10 + at, late));
  const queues = QUEUES.map((queue, at) => queueOf(queue, seed + 1 + at));
  const named = <D extends { name: string }, S>(all: [D, S][]): Record<string, S> =>
    Object.fromEntries(all.map(([{ name }, summary]) => [name, summary]));
  const isLive = mode === "live";
  const p99 = isLive ? 0.0196 : 0.0183;
  return runOf(
    {
      label,
      mode,
      flows: flows.map(([data]) => data),
      ports: [{ name: PORT, queues: queues.map(([data]) => data) }],
      events: [
        { at_s: 30, kind: "change", path: `port.${PORT}.queue.rest.target`, value: "5ms", text: "" },
        {
          at_s: 30.5,
          kind: "change",
          path: `port.${PORT}.queue.voice.rate`,
          value: "2mbit",
          text: "0 packets moved",
        },
        {
          at_s: isLive ? 12.31 : 12.3,
          kind: "expect",
          path: "flow.web.owd.p95",
          value: "",
          text: "87.1 ms, wanted below 50 ms",
        },
      ],
    },
    {
      title: "voice beside a bulk upload on a 10 Mbit/s uplink",
      duration_s: DURATION,
      warmup_s: 5,
      flows: named(flows),
      ports: { [PORT]: portSummary(1e7, named(queues)) },
      jain_index: 0.412,
      groups: { pages: { jain_index: 0.981, all: FILES, bins: [] } },
      expect: [
        expectation({
          that: "flow.voice.owd.p99",
          name: "the call",
          below: 0.02,
          value: p99,
          half_width: p99 / 10,
          values: [p99 * 0.9, p99, p99 * 1.1],
          held: 3,
          holds: true,
        }),
        expectation({ that: "flow.voice.loss", at_most: 0.001, value: 0, holds: true }),
        expectation({ that: "flow.upload.throughput", at_least: 8.5e6, value: 9.04e6, holds: true }),
        expectation({ that: "flow.web.owd.p95", below: 0.05, value: 0.0842 }),
        expectation({
          that: `port.${PORT}.queue.bulk.sojourn.p95`,
          between: [0.005, 0.08],
          value: 0.0568,
          holds: true,
        }),
      ],
      warnings: isLive ? ["the timer was late by more than 100 µs in 0.2 % of all departures"] : [],
      engine: { packet_hops: 154_312, events: 412_884 },
      ...(isLive ? { fidelity: { timer_late_p99_s: 31e-6, ring_occupancy_max: 14, send_errors: 0 } } : {}),
    },
  );
}

const FILES = { files: 0, completed: 0, mean_bytes: null, fct_s: NONE, ps_fct_s: NONE, slowdown: NONE };

const SCENARIO = `title    = "voice beside a bulk upload on a 10 Mbit/s uplink"
duration = "60s"
warmup   = "5s"

[link.wan]
between = ["home", "server"]
rate = "10mbit"
delay = "10ms"

[[expect]]
that  = "flow.voice.owd.p99"
below = "20ms"
`;

/** Two runs (simulated and live) of three flows through nested queues, with changes, 600 points, a theory and a paper. */
export function sampleReport(): Report {
  const loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
  const dense = Array.from({ length: 81 }, (_, at) => 0.1 + at / 100);
  const wait = (load: number): number => (0.0012 * load) / (2 * (1 - load));
  const name = "wait";
  const node = (called: string) => ({ name: called, router: called === "home" });
  return {
    ...EMPTY,
    schema: 2,
    version: "0.1.0",
    generated: "2026-11-21T05:00:00Z",
    title: "voice beside a bulk upload on a 10 Mbit/s uplink",
    verdict: [
      "Voice keeps its delay: 99 % of its packets arrive within 18.3 ms in simulation and 19.6 ms live, below the 20 ms wanted.",
      "Web pages wait behind the upload: their 95th percentile is 84.2 ms, above the 50 ms wanted, until the change at 30 s.",
      "Simulation and live agree within 7 % on every metric.",
    ],
    command: "lockgate run voice.toml --twin --seed 1",
    scenario: SCENARIO,
    scenario_hash: "9f2c41d07be35a18",
    host: "gateway, Linux 6.12, clock tsc, offloads off",
    topology: {
      nodes: ["phone", "laptop", "home", "server"].map(node),
      links: [
        { name: "lan1", from: "phone", to: "home", rate_bps: [1e8, 1e8], delay_s: [1e-4, 1e-4] },
        { name: "lan2", from: "laptop", to: "home", rate_bps: [1e8, 1e8], delay_s: [1e-4, 1e-4] },
        { name: "wan", from: "home", to: "server", rate_bps: [1e7, 1e8], delay_s: [0.01, 0.01] },
      ],
    },
    definitions: [
      {
        name: "owd",
        about: "flow",
        text: "one-way delay: from the first bit sent to the last bit received",
        source: "RFC 7679",
        unit: "s",
      },
      { name: "loss", about: "flow", text: "lost packets over sent packets", source: "", unit: "ratio" },
      { name: "sojourn", about: "queue", text: "time in a queue", source: "RFC 8289", unit: "s" },
    ],
    runs: [run("simulation", "sim", 1, 0), run("live", "live", 2, 0.0007)],
    comparisons: [
      {
        title: "Simulation against live",
        columns: ["Metric", "simulated", "live", "difference"],
        rows: [
          ["flow.voice.owd.p99 (ms)", 18.3, 19.6, "+7.1 %"],
          ["flow.voice.loss", 0, null, "–"],
        ],
        note: "A difference is that of live from the simulation, over the simulation.",
      },
    ],
    figures: [
      {
        id: "load",
        title: "Mean wait of a single queue against its load",
        caption: "A single server with constant service against the formula of Pollaczek and Khinchine.",
        x: { label: "Load", unit: "", log: false },
        y: { label: "Mean wait", unit: "s", log: true },
        kind: "line",
        series: [
          {
            name,
            mode: "sim",
            x: loads,
            y: loads.map((load, at) => wait(load) * (1 + 0.06 * Math.sin(at * 7))),
            error: loads.map((load) => wait(load) * 0.08),
          },
          { name, mode: "live", x: loads, y: loads.map((load) => wait(load) * 1.07) },
          { name, mode: "theory", x: dense, y: dense.map(wait) },
          { name, mode: "paper", x: [0.2, 0.5, 0.8], y: [0.00016, 0.00058, 0.0025] },
        ],
      },
      {
        id: "bars",
        title: "Delay of voice by number of flows",
        caption: "The 99th percentile of one-way delay over ten repetitions.",
        x: { label: "Flows", unit: "", log: false },
        y: { label: "Delay, 99th percentile", unit: "s", log: false },
        kind: "bar",
        series: [
          {
            name: "voice",
            mode: "sim",
            x: [1, 2, 4, 8, 16],
            y: [0.0162, 0.0183, 0.027, 0.031, 0.212],
            error: [0.001, 0.001, 0.002, 0.003, 0.02],
          },
          { name: "voice", mode: "live", x: [1, 2, 4, 8, 16], y: [0.0181, 0.0196, 0.028, 0.034, 0.219] },
        ],
      },
    ],
  };
}

/** One run of one flow, as the smallest scenario leaves it. */
export function singleReport(): Report {
  const report = sampleReport();
  const [first] = report.runs as [Run];
  const { voice } = first.summary.flows;
  const summary = { ...first.summary, flows: { voice: voice as FlowSummary }, expect: [] };
  const runs = [{ ...first, label: "sim", flows: first.flows.slice(0, 1), events: [], summary }];
  return { ...report, verdict: [], comparisons: [], figures: [], runs };
}

/** A single run of a flow with packets in every second interval, and none from 20 to 40 s. */
export function sparseReport(): Report {
  const report = singleReport();
  const isGap = (at: number): boolean => at % 2 === 1 || (at >= 200 && at < 400);
  for (const { series } of report.runs.flatMap((one) => one.flows))
    for (const name of ["owd_p50_s", "owd_p99_s", "owd_max_s"] as const)
      series[name] = series[name].map((value, at) => (isGap(at) ? null : value));
  return report;
}

/** Three disciplines simulated one after the other: runs of one mode, told apart by marks. */
export function compareReport(): Report {
  return {
    ...sampleReport(),
    runs: [run("fifo", "sim", 3, 0.02), run("fq_codel", "sim", 4, 0), run("drr", "sim", 5, 0.004)],
  };
}

/** Everything that could go wrong at once: names like code, nulls, gaps, hundreds of flows, empty parts. */
export function edgeReport(): Report {
  const nasty = '<img src=x onerror="document.title=1">&</script><!--<script>';
  const long =
    "a-flow-whose-name-goes-on-and-on-because-a-script-generated-it-from-a-path/with/many/segments/and-a-number-0000000000001";
  const clients = Array.from({ length: 300 }, (_, at) => `client/${at + 1}`);
  const names = [nasty, long, "__proto__", "ünïcödé 名前 🙂", ...clients];
  const times = Array.from({ length: 40 }, (_, at) => at + 1);
  const same = { p5: 0.01, p25: 0.01, p50: 0.01, p75: 0.01, p95: 0.01, mean: null };
  const flows = names.map((name, order) =>
    flowData(
      name,
      {
        time_s: times,
        offered_bps: times.map(() => 1e5 * (order + 1)),
        received_bps: times.map(() => 0.9e5 * (order + 1)),
        owd_p50_s: times.map(() => 0),
        owd_p99_s: times.map((at) => (at % 7 === 0 ? null : 1e-6 * at)),
      },
      {
        ...(order === 0 ? { owd_cdf: { value_s: [0.01], fraction: [1] } } : {}),
        ...(order % 2 === 0 ? { owd_box: same } : {}),
      },
    ),
  );
  const queue = (name: string, parent: string): [string, QueueSummary] => [
    name,
    queueSummary({ kind: "x", parent, drops_by: { limit: 3, [nasty]: 4 }, dropped_packets: 7 }),
  ];
  const results = {
    seed: 18446744073709552000,
    flows: Object.fromEntries(
      names.map((name, order) => [name, flowSummary({ sent_packets: 5, received_bytes: order })]),
    ),
    ports: {
      [nasty]: portSummary(0, Object.fromEntries([queue("loop", "loop2"), queue("loop2", "loop")])),
      empty: portSummary(0, {}),
    },
    expect: [
      expectation({ that: nasty }),
      expectation({ that: `flow."${long}".owd.p99`, above: 1e-9, value: 12345.678 }),
    ],
    intervals: { "flow.x.owd.p99": { mean: 0.01, half_width: null, n: 1, values: [0.01] } },
  };
  const axis = { label: "", unit: "", log: false };
  const figure = { caption: "", x: axis, y: { ...axis, log: true } };
  return {
    ...sampleReport(),
    title: `${nasty} ${long}`,
    verdict: [nasty],
    host: "",
    topology: {
      nodes: names.slice(0, 60).map((name) => ({ name, router: name.endsWith("1") })),
      links: names.slice(1, 60).map((to, at) => ({
        name: `link${at}`,
        from: names[at] ?? "",
        to,
        rate_bps: [null, null],
        delay_s: [null, null],
      })),
    },
    definitions: [],
    runs: [
      runOf(
        {
          label: nasty,
          mode: "sim",
          flows,
          ports: [
            { name: nasty, queues: [queueData("loop"), queueData("loop2")] },
            { name: "empty", queues: [] },
          ],
          events: Array.from({ length: 120 }, (_, at) => ({
            at_s: at / 3,
            kind: "change",
            path: `link.wan.${nasty}`,
            value: String(at),
            text: "",
          })),
        },
        results,
      ),
      runOf({ label: "", mode: "theory" }),
    ],
    comparisons: [
      { title: "", columns: ["a"], rows: [[nasty, null, 1e-30], []], note: nasty },
      { title: "no rows", columns: [], rows: [], note: "" },
    ],
    figures: [
      {
        ...figure,
        id: "x/../y",
        title: nasty,
        kind: "scatter",
        series: [{ name: nasty, mode: "sim", x: [0, 1, 2], y: [0, -1, 5] }],
      },
      { ...figure, id: "none", title: "nothing", kind: "bar", series: [] },
    ],
  };
}

/** Puts data into the built page at its marker, compressed as the command does it. */
export function fill(template: string, report: Report): string {
  const marker = '<script type="application/json" id="lockgate-data">{}</script>';
  const parts = template.split(marker);
  if (parts.length !== 2)
    throw new Error(`the marker stands ${parts.length - 1} times in the page, once is wanted`);
  const data = gzipSync(JSON.stringify(report)).toString("base64");
  return parts.join(`<script type="text/plain" id="lockgate-data" data-encoding="gzip">${data}</script>`);
}
