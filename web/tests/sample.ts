/** Made-up reports in the form of the data contract: a plausible one, and one of everything that could go wrong. */

import { gzipSync } from "node:zlib";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

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

const round = (value: number, digits = 6): number => Number(value.toPrecision(digits));

interface Shape {
  rate: number;
  propagation: number;
  serialisation: number;
  /** Mean queueing before and after the change. */
  before: number;
  after: number;
  gap: number;
  length: number;
}

const SHAPES: Record<string, Shape> = {
  voice: {
    rate: 80e3,
    propagation: 0.0101,
    serialisation: 0.00018,
    before: 0.0021,
    after: 0.0009,
    gap: 0.02,
    length: 200,
  },
  upload: {
    rate: 9.1e6,
    propagation: 0.0101,
    serialisation: 0.00133,
    before: 0.061,
    after: 0.0094,
    gap: 0.00125,
    length: 1514,
  },
  web: {
    rate: 0.7e6,
    propagation: 0.0101,
    serialisation: 0.0011,
    before: 0.047,
    after: 0.0052,
    gap: 0.011,
    length: 1200,
  },
};

const POINTS = 600;
const DURATION = 60;

function spread(values: number[]): Json {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (fraction: number): number =>
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))] ?? 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  const named: [string, number][] = [
    ["min", at(0)],
    ["mean", mean],
    ["std", std],
    ["p50", at(0.5)],
    ["p90", at(0.9)],
    ["p95", at(0.95)],
    ["p99", at(0.99)],
    ["p999", at(0.999)],
    ["max", at(1)],
  ];
  return Object.fromEntries(named.map(([name, value]) => [name, round(value)]));
}

function flowOf(name: string, shape: Shape, seed: number, late: number): { curves: Json; summary: Json } {
  const next = random(seed);
  const exponential = (): number => -Math.log(1 - next());
  const delays: number[] = [];
  for (let index = 0; index < 8000; index += 1) {
    const queueing = (index < 4000 ? shape.before : shape.after) * (0.25 + 0.75 * exponential());
    delays.push(shape.propagation + shape.serialisation + Math.min(queueing, 0.4) + late * exponential());
  }
  const columns: Record<string, (number | null)[]> = {
    time_s: [],
    offered_bps: [],
    received_bps: [],
    lost_packets: [],
    owd_p50_s: [],
    owd_p99_s: [],
    owd_max_s: [],
  };
  let lost = 0;
  for (let index = 0; index < POINTS; index += 1) {
    const time = ((index + 1) * DURATION) / POINTS;
    const active = name !== "web" || Math.floor(time / 4) % 2 === 0;
    const starting = name === "upload" && time < 5;
    const queueing =
      (time < 30 ? shape.before : shape.after) *
      (0.8 + 0.4 * next()) *
      (name === "voice" ? 1 : 0.75 + 0.35 * Math.sin(time * 1.3 + seed));
    const offered = starting || !active ? 0 : shape.rate * (0.85 + 0.3 * next());
    const drops =
      offered > 0 && name !== "voice" && next() < (time < 30 ? 0.09 : 0.04) ? Math.ceil(next() * 9) : 0;
    lost += drops;
    const base = shape.propagation + shape.serialisation + late;
    columns["time_s"]?.push(round(time));
    columns["offered_bps"]?.push(round(offered, 5));
    columns["received_bps"]?.push(round(Math.max(0, offered - (drops * shape.length * 8) / 0.1), 5));
    columns["lost_packets"]?.push(drops);
    columns["owd_p50_s"]?.push(offered > 0 ? round(base + queueing, 5) : null);
    columns["owd_p99_s"]?.push(offered > 0 ? round(base + queueing * (1.5 + 0.5 * next()), 5) : null);
    columns["owd_max_s"]?.push(offered > 0 ? round(base + queueing * (2.2 + next()), 5) : null);
  }
  const sorted = [...delays].sort((a, b) => a - b);
  const picks = Array.from(
    { length: 300 },
    (_, index) => 1 - 10 ** ((-index / 299) * Math.log10(sorted.length)),
  );
  const fractions = [0.0001, ...picks.slice(1, -1), 1];
  const gaps = Array.from({ length: 60 }, (_, index) => shape.gap * 10 ** (-1.5 + index / 25));
  const pick = (fraction: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? 0);
  const mean = delays.reduce((sum, value) => sum + value, 0) / delays.length;
  const sent = Math.round((shape.rate * 55) / 8 / shape.length);
  return {
    curves: {
      name,
      series: columns as { [key: string]: Json },
      owd_cdf: { value_s: fractions.map(pick), fraction: fractions.map((fraction) => round(fraction, 9)) },
      iat_density: {
        value_s: gaps.map((gap) => round(gap)),
        density: gaps.map((gap) =>
          round(
            Math.exp(-gap / shape.gap) / shape.gap +
              (name === "voice" ? 0 : Math.exp(-((Math.log(gap / shape.gap) * 4) ** 2)) / shape.gap),
          ),
        ),
      },
      owd_box: {
        p5: pick(0.05),
        p25: pick(0.25),
        p50: pick(0.5),
        p75: pick(0.75),
        p95: pick(0.95),
        mean: round(mean),
      },
      split_s: {
        queueing: round(mean - shape.propagation - shape.serialisation),
        serialisation: shape.serialisation,
        propagation: shape.propagation,
      },
    },
    summary: {
      sent_packets: sent,
      sent_bytes: sent * shape.length,
      received_packets: sent - lost - 3,
      received_bytes: (sent - lost - 3) * shape.length,
      lost_packets: lost,
      inside_packets: 3,
      lost_by: lost > 0 ? { early: lost } : {},
      throughput_bps: round(((sent - lost) * shape.length * 8) / 55),
      goodput_bps: round(((sent - lost) * (shape.length - 42) * 8) / 55),
      loss_ratio: round(lost / sent),
      owd_s: spread(delays),
      pdv_s: spread(delays.map((delay) => delay - (sorted[0] ?? 0))),
      ipdv_s: spread(delays.slice(1).map((delay, index) => Math.abs(delay - (delays[index] ?? 0)))),
      jitter_rfc3550_s: round((mean - shape.propagation) * 0.3),
      reordered_ratio: 0,
      fct_s: null,
    },
  };
}

function queueOf(
  name: string,
  kind: string,
  parent: string | null,
  depth: number,
  drops: { [reason: string]: number },
  seed: number,
): { curves: Json; summary: Json } {
  const next = random(seed);
  const series: Record<string, number[]> = {
    time_s: [],
    backlog_packets: [],
    peak_packets: [],
    backlog_bytes: [],
    offered_bps: [],
    sent_bps: [],
    dropped_packets: [],
    marked_packets: [],
  };
  for (let index = 0; index < POINTS; index += 1) {
    const time = ((index + 1) * DURATION) / POINTS;
    const now = Math.round(depth * (time < 5 ? 0.02 : time < 30 ? 1 : 0.18) * (0.6 + 0.8 * next()));
    series["time_s"]?.push(round(time));
    series["backlog_packets"]?.push(now);
    series["peak_packets"]?.push(Math.ceil(now * 1.3) + 1);
    series["backlog_bytes"]?.push(now * 1400);
    series["offered_bps"]?.push(round(9.9e6 * next(), 5));
    series["sent_bps"]?.push(round(9.7e6 * next(), 5));
    series["dropped_packets"]?.push(next() < 0.05 ? 3 : 0);
    series["marked_packets"]?.push(0);
  }
  const dropped = Object.values(drops).reduce((sum, count) => sum + count, 0);
  return {
    curves: { name, kind, parent, series, drops_by: drops },
    summary: {
      enqueued_packets: Math.round(depth * 900) + dropped,
      sent_packets: Math.round(depth * 900),
      sent_bytes: Math.round(depth * 900) * 1400,
      dropped_packets: dropped,
      marked_packets: 0,
      backlog_packets: Math.round(depth / 4),
      peak_backlog_packets: Math.ceil(depth * 1.9),
      sojourn_s: spread(Array.from({ length: 500 }, () => depth * 0.0012 * (0.3 + next()))),
    },
  };
}

function run(label: string, mode: string, seed: number, late: number): Json {
  const flows = Object.entries(SHAPES).map(([name, shape], index) => ({
    name,
    ...flowOf(name, shape, seed * 10 + index, late),
  }));
  const queues = [
    { name: "link", ...queueOf("link", "cbq", null, 52, {}, seed + 1) },
    { name: "voice", ...queueOf("voice", "fifo", "link", 1.2, {}, seed + 2) },
    { name: "rest", ...queueOf("rest", "class", "link", 50, {}, seed + 3) },
    {
      name: "interactive",
      ...queueOf("interactive", "fq_codel", "rest", 9, { early: 61, limit: 4 }, seed + 4),
    },
    {
      name: "bulk",
      ...queueOf("bulk", "fq_codel", "rest", 41, { early: 212, limit: 38, shrunk: 5 }, seed + 5),
    },
  ];
  const p99 = mode === "live" ? 0.0196 : 0.0183;
  const object = (entries: [string, Json][]): Json => Object.fromEntries(entries);
  return {
    label,
    mode,
    interval_s: DURATION / POINTS,
    summary: {
      schema: 1,
      title: "voice beside a bulk upload on a 10 Mbit/s uplink",
      mode,
      seed: 1,
      duration_s: DURATION,
      warmup_s: 5,
      flows: object(flows.map(({ name, summary }) => [name, summary])),
      ports: {
        "home->server": {
          rate_bps: 1e7,
          utilisation: 0.987,
          queues: object(queues.map(({ name, summary }) => [name, summary])),
        },
      },
      jain_index: 0.412,
      groups: { pages: { jain_index: 0.981 } },
      expect: [
        {
          that: "flow.voice.owd.p99",
          in: "95%",
          below: 0.02,
          value: p99,
          half_width: p99 / 10,
          values: [p99 * 0.9, p99, p99 * 1.1],
          held: 3,
          holds: true,
          name: "the call",
        },
        { that: "flow.voice.loss", at_most: 0.001, value: 0, holds: true },
        {
          that: "flow.upload.throughput",
          at_least: 8.5e6,
          value: mode === "live" ? 8.91e6 : 9.04e6,
          holds: true,
        },
        { that: "flow.web.owd.p95", below: 0.05, value: mode === "live" ? 0.0871 : 0.0842, holds: false },
        {
          that: "port.home->server.queue.bulk.sojourn.p95",
          between: [0.005, 0.08],
          value: 0.0568,
          holds: true,
        },
      ],
      warnings: mode === "live" ? ["the timer was late by more than 100 µs in 0.2 % of all departures"] : [],
      engine: { packet_hops: 154_312, events: 412_884 },
      ...(mode === "live"
        ? {
            fidelity: {
              timer_late_p99_s: 31e-6,
              ring_occupancy_max: 14,
              send_errors: 0,
              within_limits: true,
            },
          }
        : {}),
    },
    flows: flows.map(({ curves }) => curves),
    ports: [{ name: "home->server", rate_bps: 1e7, queues: queues.map(({ curves }) => curves) }],
    events: [
      { at_s: 30, kind: "change", path: "port.home->server.queue.rest.target", value: "5ms", text: "" },
      {
        at_s: 30.5,
        kind: "change",
        path: "port.home->server.queue.voice.rate",
        value: "2mbit",
        text: "0 packets moved",
      },
      {
        at_s: mode === "live" ? 12.31 : 12.3,
        kind: "expect",
        path: "flow.web.owd.p95",
        value: "",
        text: "87.1 ms, wanted below 50 ms",
      },
    ],
  };
}

const SCENARIO = `title    = "voice beside a bulk upload on a 10 Mbit/s uplink"
duration = "60s"
warmup   = "5s"

[node]
phone = {}
laptop = {}
home = {}
server = {}

[link.lan1]
between = ["phone", "home"]
rate = "100mbit"
delay = "100us"

[link.wan]
between = ["home", "server"]
rate = "10mbit"
delay = "10ms"

[[expect]]
that  = "flow.voice.owd.p99"
below = "20ms"
`;

/** Two runs (simulated and live) of three flows through nested queues, with changes, 600 points, a theory and a paper. */
export function sampleReport(): { [key: string]: Json } {
  const loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
  const wait = (load: number): number => (0.0012 * load) / (2 * (1 - load));
  return {
    schema: 1,
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
      nodes: [
        { name: "phone", router: false },
        { name: "laptop", router: false },
        { name: "home", router: true },
        { name: "server", router: false },
      ],
      links: [
        { name: "lan1", from: "phone", to: "home", rate_bps: [1e8, 1e8], delay_s: [1e-4, 1e-4] },
        { name: "lan2", from: "laptop", to: "home", rate_bps: [1e8, 1e8], delay_s: [1e-4, 1e-4] },
        { name: "wan", from: "home", to: "server", rate_bps: [1e7, 1e8], delay_s: [0.01, 0.01] },
      ],
    },
    definitions: [
      {
        name: "owd",
        text: "one-way delay: from the first bit sent to the last bit received",
        source: "RFC 7679",
        unit: "s",
      },
      {
        name: "ipdv",
        text: "difference of the delays of consecutive packets; its absolute value in percentiles",
        source: "RFC 3393",
        unit: "s",
      },
      { name: "pdv", text: "delay above the least delay of the flow", source: "RFC 5481", unit: "s" },
      {
        name: "jitter_rfc3550",
        text: "smoothed absolute difference of transit times",
        source: "RFC 3550, section 6.4.1",
        unit: "s",
      },
      { name: "loss", text: "lost packets over sent packets", source: "RFC 7680", unit: "ratio" },
      {
        name: "throughput",
        text: "bits received during the window over its length",
        source: "",
        unit: "bit/s",
      },
      {
        name: "sojourn",
        text: "time from the arrival at a queue to the departure from it",
        source: "RFC 8289",
        unit: "s",
      },
    ],
    runs: [run("simulation", "sim", 1, 0), run("live", "live", 2, 0.0007)],
    comparisons: [
      {
        title: "Simulation against live",
        columns: ["Metric", "simulated", "live", "difference"],
        rows: [
          ["flow.voice.owd.p99 (ms)", 18.3, 19.6, "+7.1 %"],
          ["flow.upload.throughput (Mbit/s)", 9.04, 8.91, "−1.4 %"],
          ["flow.web.owd.p95 (ms)", 84.2, 87.1, "+3.4 %"],
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
            name: "wait",
            mode: "sim",
            x: loads,
            y: loads.map((load, index) => wait(load) * (1 + 0.06 * Math.sin(index * 7))),
            error: loads.map((load) => wait(load) * 0.08),
          },
          {
            name: "wait",
            mode: "live",
            x: loads,
            y: loads.map((load, index) => wait(load) * (1.07 + 0.04 * Math.cos(index * 5))),
          },
          {
            name: "wait",
            mode: "theory",
            x: Array.from({ length: 81 }, (_, index) => 0.1 + index / 100),
            y: Array.from({ length: 81 }, (_, index) => wait(0.1 + index / 100)),
          },
          { name: "wait", mode: "paper", x: [0.2, 0.5, 0.8], y: [0.00016, 0.00058, 0.0025] },
        ],
      },
      {
        id: "bars",
        title: "Delay of voice by discipline",
        caption: "The 99th percentile of one-way delay over ten repetitions.",
        x: { label: "Discipline", unit: "", log: false },
        y: { label: "Delay, 99th percentile", unit: "s", log: false },
        kind: "bar",
        series: [
          {
            name: "voice",
            mode: "sim",
            x: ["fifo", "sfq", "drr", "fq_codel", "cbq"] as never,
            y: [0.212, 0.031, 0.027, 0.0162, 0.0183],
            error: [0.02, 0.003, 0.002, 0.001, 0.001],
          },
          {
            name: "voice",
            mode: "live",
            x: ["fifo", "sfq", "drr", "fq_codel", "cbq"] as never,
            y: [0.219, 0.034, 0.028, 0.0181, 0.0196],
          },
        ],
      },
    ],
  };
}

/** One run of one flow, as the smallest scenario leaves it. */
export function singleReport(): { [key: string]: Json } {
  const report = sampleReport();
  const first = (report["runs"] as { [key: string]: Json }[])[0] as { [key: string]: Json };
  const summary = first["summary"] as { [key: string]: Json };
  const voice = (first["flows"] as Json[])[0] as Json;
  return {
    ...report,
    verdict: [],
    comparisons: [],
    figures: [],
    runs: [
      {
        ...first,
        label: "sim",
        flows: [voice],
        events: [],
        summary: {
          ...summary,
          flows: { voice: (summary["flows"] as { [key: string]: Json })["voice"] ?? null },
          expect: [],
        },
      },
    ],
  };
}

/** A single run of a flow with packets in every second interval, and none from 20 to 40 s. */
export function sparseReport(): { [key: string]: Json } {
  const report = JSON.parse(JSON.stringify(singleReport())) as {
    runs: { flows: { series: Record<string, (number | null)[]> }[] }[];
  };
  for (const { series } of report.runs.flatMap((run) => run.flows))
    for (const name of ["owd_p50_s", "owd_p99_s", "owd_max_s"])
      series[name] = (series[name] ?? []).map((value, index) =>
        index % 2 === 1 || (index >= 200 && index < 400) ? null : value,
      );
  return report;
}

/** Three disciplines simulated one after the other: runs of one mode, told apart by marks. */
export function compareReport(): { [key: string]: Json } {
  return {
    ...sampleReport(),
    runs: [run("fifo", "sim", 3, 0.02), run("fq_codel", "sim", 4, 0), run("drr", "sim", 5, 0.004)],
  };
}

/** Everything that could go wrong at once: names like code, nulls, gaps, hundreds of flows, missing parts. */
export function edgeReport(): { [key: string]: Json } {
  const report = sampleReport();
  const first = (report["runs"] as { [key: string]: Json }[])[0] as { [key: string]: Json };
  const nasty = '<img src=x onerror="document.title=1">&</script><!--<script>';
  const long =
    "a-flow-whose-name-goes-on-and-on-because-a-script-generated-it-from-a-path/with/many/segments/and-a-number-0000000000001";
  const names = [
    nasty,
    long,
    "__proto__",
    "ünïcödé 名前 🙂",
    ...Array.from({ length: 300 }, (_, index) => `client/${index + 1}`),
  ];
  const some = Array.from({ length: 40 }, (_, index) => index + 1);
  const flows = names.map((name, order) => ({
    name,
    series: {
      time_s: some,
      offered_bps: some.map((at) => (at > 10 && at < 15 ? null : 1e5 * (order + 1))),
      received_bps: some.map((at) => (at > 10 && at < 15 ? null : 0.9e5 * (order + 1))),
      lost_packets: [],
      owd_p50_s: some.map(() => 0),
      owd_p99_s: some.map((at) => (at % 7 === 0 ? null : 1e-6 * at)),
      owd_max_s: null,
    },
    owd_cdf: order === 0 ? { value_s: [0.01], fraction: [1] } : null,
    iat_density: { value_s: [], density: [] },
    owd_box: order % 2 === 0 ? { p5: 0.01, p25: 0.01, p50: 0.01, p75: 0.01, p95: 0.01, mean: null } : null,
    split_s: {},
  }));
  return {
    ...report,
    title: `${nasty} ${long}`,
    verdict: [nasty],
    host: null,
    topology: {
      nodes: names.slice(0, 60).map((name) => ({ name, router: name.endsWith("1") })),
      links: names.slice(1, 60).map((name, index) => ({
        name: `link${index}`,
        from: names[index] ?? "",
        to: name,
        rate_bps: null,
        delay_s: null,
      })),
    },
    definitions: [],
    runs: [
      {
        ...first,
        label: nasty,
        flows: flows as Json,
        ports: [
          {
            name: nasty,
            rate_bps: null,
            queues: [
              { name: "loop", kind: "x", parent: "loop2", series: {}, drops_by: {} },
              { name: "loop2", kind: "x", parent: "loop", series: null, drops_by: { limit: 3, [nasty]: 4 } },
            ],
          },
          { name: "empty", rate_bps: 0, queues: [] },
        ],
        summary: {
          schema: 1,
          seed: 18446744073709552000,
          flows: Object.fromEntries(
            names.map((name, order) => [
              name,
              { sent_packets: 5, received_bytes: order, owd_s: null, throughput_bps: null },
            ]),
          ),
          ports: {},
          expect: [
            { that: nasty, below: null, value: null, holds: null },
            { that: `flow."${long}".owd.p99`, above: 1e-9, value: 12345.678, holds: false },
          ],
          intervals: { "flow.x.owd.p99": { mean: 0.01, half_width: null, n: 1 } },
        },
        events: Array.from({ length: 120 }, (_, index) => ({
          at_s: index / 3,
          kind: "change",
          path: `link.wan.${nasty}`,
          value: String(index),
          text: "",
        })),
      },
      {
        label: "",
        mode: "theory",
        summary: null,
        interval_s: null,
        flows: [],
        ports: null,
        events: [{ at_s: null, kind: "note", text: "without a time" }],
      },
    ],
    comparisons: [
      { title: "", columns: ["a"], rows: [[nasty, null, 1e-30], []], note: nasty },
      { title: "no rows", columns: [], rows: [] },
    ],
    figures: [
      {
        id: "x/../y",
        title: nasty,
        kind: "scatter",
        x: {},
        y: { log: true },
        series: [{ name: nasty, mode: "sim", x: [0, 1, 2], y: [0, -1, 5] }],
      },
      { id: "none", title: "nothing", kind: "bar", series: [] },
    ],
  };
}

/** Puts a report into the built page at its marker, compressed as the command does it. */
export function fill(template: string, report: Json): string {
  const marker = '<script type="application/json" id="lockgate-data">{}</script>';
  const parts = template.split(marker);
  if (parts.length !== 2)
    throw new Error(`the marker stands ${parts.length - 1} times in the page, once is wanted`);
  const data = gzipSync(JSON.stringify(report)).toString("base64");
  return parts.join(`<script type="text/plain" id="lockgate-data" data-encoding="gzip">${data}</script>`);
}
