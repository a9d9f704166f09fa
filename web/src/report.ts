/**
 * Data of a report, and its reading. Any field may be missing; the page must work all the same.
 *
 * The compiler checks the names of the fields against the types generated from Rust
 * (`generated/lockgate.ts`). The types here hold the same numbers after reading: a missing one is null or
 * empty. Units are base SI. All statistics are computed in Rust; the page only draws.
 */

import type * as wire from "./generated/lockgate";
import {
  counts,
  list,
  mapValues,
  micro,
  type Numbers,
  number,
  numbers,
  record,
  text,
  texts,
  words,
} from "./read";
import { readVariants, type Variants } from "./variants";

export type { Numbers } from "./read";

type Value<T> = [T] extends [Numbers] ? Numbers : [T] extends [number | null] ? number | null : T;

/** A type of the data after reading: numbers may be null. */
type Read<T> = { [name in keyof T]-?: Value<T[name]> };

/** Origin of a run; `paper` is a value printed in a publication. */
export type Mode = wire.Origin;

/** Statistics of one quantity by name: min, mean, std, p50 … max. */
export type Spread = Record<string, number | null>;

export interface FlowSummary {
  numbers: Record<string, number | null>;
  spreads: Record<string, Spread>;
}

export interface QueueSummary {
  kind: string;
  parent: string | null;
  numbers: Record<string, number | null>;
  sojourn: Spread;
  dropsBy: Record<string, number>;
}

export interface PortSummary {
  numbers: Record<string, number | null>;
  queues: Record<string, QueueSummary>;
}

/** A bound of an expectation: the comparison in words, such as "below", and its value, or the two of "between". */
export interface Bound {
  words: string;
  values: number[];
}

/** An expectation with its outcome; `holds` is null if it could not be decided. */
export interface Expect {
  that: string;
  /** Its name in the scenario; may be empty. */
  name: string;
  /** All of its bounds. */
  bounds: Bound[];
  /** Largest of the lower bounds, and smallest of the upper ones; null without one. */
  low: number | null;
  high: number | null;
  /** Flows or queues that satisfy the bounds in the first run, if it is on several; null on one. */
  members: Read<wire.MembersHeld> | null;
  /** Measured value; the mean if there are several runs. */
  value: number | null;
  /** Half-width of the confidence interval of that mean. */
  halfWidth: number | null;
  /** Number of runs in which it holds by itself, and number of all runs. */
  held: number;
  runs: number;
  holds: boolean | null;
}

export type Interval = Omit<Read<wire.Interval>, "values">;

/** A metric in each phase, formatted. */
export interface PhaseRow {
  subject: string;
  quantity: string;
  values: string[];
  judged: boolean;
}

/** An expectation, formatted; `usedRatio` is 1 at its tightest bound, null if it has none. */
export interface JudgedRow {
  that: string;
  subject: string;
  quantity: string;
  value: string;
  wanted: string;
  holds: boolean;
  usedRatio: number | null;
  margin: string;
}

/** Verdict of a run: sentences and rows, made in Rust. */
export interface Verdict {
  outcome: "none" | "held" | "missed";
  headline: string;
  findings: string[];
  rows: JudgedRow[];
  phases: { heads: string[]; rows: PhaseRow[] } | null;
}

export interface Summary {
  title: string;
  /** Null if the data are older than verdicts. */
  verdict: Verdict | null;
  /** Seed of the run that flows, ports and curves are of. */
  seed: string;
  /** Number of runs, with successive seeds from `seed` on. */
  runs: number;
  durationS: number | null;
  warmupS: number | null;
  /** Jain's index of the throughput of each group of flows. */
  jainByGroup: Record<string, number>;
  flows: Record<string, FlowSummary>;
  ports: Record<string, PortSummary>;
  expect: Expect[];
  warnings: string[];
  intervals: Record<string, Interval>;
  engine: Record<string, number | null>;
  /** Fidelity of a live run: figures by any names. */
  fidelity: Record<string, string | number | boolean | null>;
}

export type FlowSeries = Read<wire.FlowSeriesData>;

export interface Points {
  x: Numbers;
  y: Numbers;
}

/** Percentiles and mean of a box plot. */
export type Box = wire.BoxPlot;

/** Means of the parts of the one-way delay, in seconds. */
export type Split = wire.Split;

/** A TCP sender over time; windows in bytes of payload. */
export type TcpSeries = Read<wire.TcpSeriesData>;

/** Delay of a flow in a part of the window, between two changes. */
export interface PhaseDelay {
  from_s: number;
  to_s: number;
  packets: number;
  owdCdf: Points;
}

export interface Flow {
  name: string;
  series: FlowSeries;
  /** Null if the flow has no known TCP sender. */
  tcp: TcpSeries | null;
  owdCdf: Points;
  /** Empty if nothing changed in the window. */
  phases: PhaseDelay[];
  iatDensity: Points;
  box: Box | null;
  split: Split | null;
}

export type QueueSeries = Read<wire.QueueSeriesData>;

export interface Queue {
  name: string;
  kind: string;
  parent: string | null;
  series: QueueSeries;
  dropsBy: Record<string, number>;
}

export interface Port {
  name: string;
  rate_bps: number | null;
  queues: Queue[];
}

/** An event; its kind may be unknown to this page. */
export type Event = Omit<Read<wire.EventData>, "kind"> & { kind: string };

export interface Run {
  label: string;
  mode: Mode;
  summary: Summary;
  intervalS: number | null;
  flows: Flow[];
  ports: Port[];
  events: Event[];
}

export type TopologyNode = Read<wire.TopologyNode>;

export type TopologyLink = Read<wire.TopologyLink>;

export type Definition = wire.Definition;

export type Cell = Exclude<wire.Cell, wire.Quantity>;

/** A value with its unit. */
export type Quantity = Read<wire.Quantity>;

export type Comparison = Omit<wire.Comparison, "rows"> & { rows: (Cell | Quantity)[][] };

export type ExtraAxis = wire.Axis;

export interface ExtraSeries {
  name: string;
  mode: Mode;
  /** Numbers, or names on an axis of categories. */
  x: Cell[];
  y: Numbers;
  error: Numbers;
}

export interface ExtraFigure {
  id: string;
  title: string;
  caption: string;
  kind: wire.FigureKind;
  x: ExtraAxis;
  y: ExtraAxis;
  series: ExtraSeries[];
}

export interface Report {
  /** 0 if the page has no report. */
  schema: number;
  version: string;
  generated: string;
  title: string;
  verdict: string[];
  command: string;
  scenario: string;
  scenarioHash: string;
  host: string;
  nodes: TopologyNode[];
  links: TopologyLink[];
  definitions: Definition[];
  runs: Run[];
  comparisons: Comparison[];
  figures: ExtraFigure[];
  /** Null unless the runs are variants of a comparison. */
  variants: Variants | null;
}

const KINDS: readonly wire.FigureKind[] = ["line", "scatter", "bar", "map", "bands"];

/** Newest format of the data that this page reads. */
export const SCHEMA = 2;

const scalars = (value: unknown): Record<string, number | null> =>
  Object.fromEntries(
    Object.entries(record(value))
      .filter(([, item]) => item === null || typeof item === "number")
      .map(([name, item]) => [name, number(item)]),
  );

const spread = (value: unknown): Spread => scalars(value);

function mode(value: unknown): Mode {
  return value === "live" || value === "theory" || value === "paper" ? value : "sim";
}

function flowSummary(value: unknown): FlowSummary {
  const raw = record(value);
  const spreads = Object.fromEntries(
    Object.entries(raw)
      .filter(
        ([name, item]) =>
          name !== "lost_by" && typeof item === "object" && item !== null && !Array.isArray(item),
      )
      .map(([name, item]) => [name, spread(item)]),
  );
  return { numbers: scalars(raw), spreads };
}

function queueSummary(value: unknown): QueueSummary {
  const raw = record<wire.QueueSummary>(value);
  return {
    kind: text(raw["kind"]),
    parent: typeof raw["parent"] === "string" ? raw["parent"] : null,
    numbers: scalars(raw),
    sojourn: spread(raw["sojourn_s"]),
    dropsBy: counts(raw["drops_by"]),
  };
}

const RELATIONS: [key: keyof wire.Expectation, words: string][] = [
  ["above", "above"],
  ["at_least", "at least"],
  ["below", "below"],
  ["at_most", "at most"],
  ["between", "between"],
];

function expectation(value: unknown): Expect {
  const raw = record<wire.Expectation>(value);
  const of = (key: keyof wire.Expectation): number[] =>
    (Array.isArray(raw[key]) ? raw[key] : [raw[key]]).map(number).filter((item) => item !== null);
  const bounds = RELATIONS.map(([key, words]) => ({ words, values: of(key) }));
  const between = of("between");
  const lower = [...of("above"), ...of("at_least"), ...between.slice(0, 1)];
  const upper = [...of("below"), ...of("at_most"), ...between.slice(1)];
  const members = record<wire.MembersHeld>(raw["members"]);
  return {
    that: text(raw["that"]),
    name: text(raw["name"]),
    bounds: bounds.filter(({ values }) => values.length > 0),
    low: lower.length === 0 ? null : Math.max(...lower),
    high: upper.length === 0 ? null : Math.min(...upper),
    members:
      number(members["of"]) === null
        ? null
        : {
            held: number(members["held"]),
            of: number(members["of"]),
            wanted_ratio: number(members["wanted_ratio"]),
          },
    value: number(raw["value"]),
    halfWidth: number(raw["half_width"]),
    held: number(raw["held"]) ?? 0,
    runs: list(raw["values"]).length,
    holds: typeof raw["holds"] === "boolean" ? raw["holds"] : null,
  };
}

function verdict(value: unknown): Verdict | null {
  const raw = record<wire.RunVerdict>(value);
  if (typeof raw["headline"] !== "string") return null;
  const phases = record<wire.PhaseTable>(raw["phases"]);
  const outcome = raw["outcome"];
  return {
    outcome: outcome === "held" || outcome === "missed" ? outcome : "none",
    headline: words(raw["headline"]),
    findings: texts(raw["findings"]).map(micro),
    rows: list(raw["rows"]).map((item) => {
      const row = record<wire.JudgedRow>(item);
      return {
        that: text(row["that"]),
        subject: text(row["subject"]),
        quantity: text(row["quantity"]),
        value: words(row["value"]),
        wanted: words(row["wanted"]),
        holds: row["holds"] === true,
        usedRatio: number(row["used_ratio"]),
        margin: words(row["margin"]),
      };
    }),
    phases:
      list(phases["rows"]).length === 0
        ? null
        : {
            heads: texts(phases["heads"]),
            rows: list(phases["rows"]).map((item) => {
              const row = record<wire.PhaseRow>(item);
              return {
                subject: text(row["subject"]),
                quantity: text(row["quantity"]),
                values: texts(row["values"]).map(micro),
                judged: row["judged"] === true,
              };
            }),
          },
  };
}

function summary(value: unknown): Summary {
  const raw = record<wire.Summary>(value);
  return {
    title: text(raw["title"]),
    verdict: verdict(raw["verdict"]),
    seed: text(raw["seed"]),
    runs: number(raw["runs"]) ?? 1,
    durationS: number(raw["duration_s"]),
    warmupS: number(raw["warmup_s"]),
    jainByGroup: counts(mapValues(raw["groups"], (group) => record<wire.GroupSummary>(group)["jain_index"])),
    flows: mapValues(raw["flows"], flowSummary),
    ports: mapValues(raw["ports"], (item) => ({
      numbers: scalars(item),
      queues: mapValues(record<wire.PortSummary>(item)["queues"], queueSummary),
    })),
    expect: list(raw["expect"]).map(expectation),
    warnings: texts(raw["warnings"]).map(micro),
    intervals: mapValues(raw["intervals"], (item) => ({
      mean: number(record<wire.Interval>(item)["mean"]),
      half_width: number(record<wire.Interval>(item)["half_width"]),
      n: number(record<wire.Interval>(item)["n"]),
    })),
    engine: scalars(raw["engine"]),
    fidelity: Object.fromEntries(
      Object.entries(record(raw["fidelity"])).map(([name, item]) => [
        name,
        typeof item === "number" || typeof item === "boolean" || typeof item === "string" ? item : null,
      ]),
    ),
  };
}

function tcp(value: unknown): TcpSeries | null {
  const raw = record<wire.TcpSeriesData>(value);
  const time = numbers(raw["time_s"]);
  if (time.length === 0) return null;
  return {
    congestion: text(raw["congestion"]),
    time_s: time,
    cwnd_bytes: numbers(raw["cwnd_bytes"]),
    ssthresh_bytes: numbers(raw["ssthresh_bytes"]),
    in_flight_bytes: numbers(raw["in_flight_bytes"]),
    rtt_s: numbers(raw["rtt_s"]),
    rto_s: numbers(raw["rto_s"]),
    retransmissions: numbers(raw["retransmissions"]),
  };
}

function flow(value: unknown): Flow {
  const raw = record<wire.FlowData>(value);
  const series = record<wire.FlowSeriesData>(raw["series"]);
  const points = (from: unknown, y: "fraction" | "density"): Points => ({
    x: numbers(record<wire.Cdf & wire.Density>(from)["value_s"]),
    y: numbers(record<wire.Cdf & wire.Density>(from)[y]),
  });
  const box = record<wire.BoxPlot>(raw["owd_box"]);
  const split = record<wire.Split>(raw["split_s"]);
  return {
    name: text(raw["name"]),
    series: {
      time_s: numbers(series["time_s"]),
      offered_bps: numbers(series["offered_bps"]),
      received_bps: numbers(series["received_bps"]),
      lost_packets: numbers(series["lost_packets"]),
      owd_p50_s: numbers(series["owd_p50_s"]),
      owd_p99_s: numbers(series["owd_p99_s"]),
      owd_max_s: numbers(series["owd_max_s"]),
    },
    tcp: tcp(raw["tcp"]),
    owdCdf: points(raw["owd_cdf"], "fraction"),
    phases: list(raw["phases"]).map((item) => {
      const phase = record<wire.PhaseDelay>(item);
      return {
        from_s: number(phase["from_s"]) ?? 0,
        to_s: number(phase["to_s"]) ?? 0,
        packets: number(phase["packets"]) ?? 0,
        owdCdf: points(phase["owd_cdf"], "fraction"),
      };
    }),
    iatDensity: points(raw["iat_density"], "density"),
    box:
      number(box["p50"]) === null
        ? null
        : {
            p5: number(box["p5"]),
            p25: number(box["p25"]),
            p50: number(box["p50"]),
            p75: number(box["p75"]),
            p95: number(box["p95"]),
            mean: number(box["mean"]),
          },
    split:
      Object.keys(split).length === 0
        ? null
        : {
            queueing: number(split["queueing"]),
            serialisation: number(split["serialisation"]),
            propagation: number(split["propagation"]),
          },
  };
}

function queue(value: unknown): Queue {
  const raw = record<wire.QueueData>(value);
  const series = record<wire.QueueSeriesData>(raw["series"]);
  return {
    name: text(raw["name"]),
    kind: text(raw["kind"]),
    parent: typeof raw["parent"] === "string" ? raw["parent"] : null,
    series: {
      time_s: numbers(series["time_s"]),
      backlog_packets: numbers(series["backlog_packets"]),
      peak_packets: numbers(series["peak_packets"]),
      backlog_bytes: numbers(series["backlog_bytes"]),
      offered_bps: numbers(series["offered_bps"]),
      sent_bps: numbers(series["sent_bps"]),
      dropped_packets: numbers(series["dropped_packets"]),
      marked_packets: numbers(series["marked_packets"]),
    },
    dropsBy: counts(raw["drops_by"]),
  };
}

function run(value: unknown, index: number): Run {
  const raw = record<wire.Run>(value);
  return {
    label: text(raw["label"]) || `run ${index + 1}`,
    mode: mode(raw["mode"]),
    summary: summary(raw["summary"]),
    intervalS: number(raw["interval_s"]),
    flows: list(raw["flows"]).map(flow),
    ports: list(raw["ports"]).map((item) => ({
      name: text(record<wire.PortData>(item)["name"]),
      rate_bps: number(record<wire.PortData>(item)["rate_bps"]),
      queues: list(record<wire.PortData>(item)["queues"]).map(queue),
    })),
    events: list(raw["events"]).map((item) => {
      const event = record<wire.EventData>(item);
      return {
        at_s: number(event["at_s"]),
        kind: text(event["kind"], "note"),
        path: text(event["path"]),
        value: text(event["value"]),
        text: text(event["text"]),
      };
    }),
  };
}

const cell = (value: unknown): Cell =>
  typeof value === "string"
    ? micro(value)
    : typeof value === "boolean"
      ? value
        ? "yes"
        : "no"
      : number(value);

/** Reads a cell of a table, which may have a unit. */
function tableCell(value: unknown): Cell | Quantity {
  const raw = record<wire.Quantity>(value);
  return raw.unit === undefined
    ? cell(value)
    : { value: number(raw.value), unit: text(raw.unit) as wire.Unit };
}

function figure(value: unknown, index: number): ExtraFigure {
  const raw = record<wire.Figure>(value);
  const axis = (from: unknown): ExtraAxis => ({
    label: text(record<wire.Axis>(from)["label"]),
    unit: text(record<wire.Axis>(from)["unit"]),
    log: record<wire.Axis>(from)["log"] === true,
  });
  return {
    id: text(raw["id"]) || `figure-${index + 1}`,
    title: text(raw["title"]) || `Figure ${index + 1}`,
    caption: words(raw["caption"]),
    kind: KINDS.find((kind) => kind === raw["kind"]) ?? "line",
    x: axis(raw["x"]),
    y: axis(raw["y"]),
    series: list(raw["series"]).map((item) => ({
      name: text(record<wire.FigureSeries>(item)["name"]),
      mode: mode(record<wire.FigureSeries>(item)["mode"]),
      x: list(record<wire.FigureSeries>(item)["x"]).map(cell),
      y: numbers(record<wire.FigureSeries>(item)["y"]),
      error: numbers(record<wire.FigureSeries>(item)["error"]),
    })),
  };
}

/** Reads the parsed JSON of a page. Parts that are missing or of the wrong type become empty. */
export function readReport(value: unknown): Report {
  const raw = record<wire.ReportData>(value);
  const topology = record<wire.Topology>(raw["topology"]);
  return {
    schema: number(raw["schema"]) ?? 0,
    version: text(raw["version"]),
    generated: text(raw["generated"]),
    title: text(raw["title"]),
    verdict: texts(raw["verdict"]).map(micro),
    command: text(raw["command"]),
    scenario: text(raw["scenario"]),
    scenarioHash: text(raw["scenario_hash"]),
    host: text(raw["host"]),
    nodes: list(topology["nodes"]).map((item) => ({
      name: text(record<wire.TopologyNode>(item)["name"]),
      x: number(record<wire.TopologyNode>(item)["x"]),
      y: number(record<wire.TopologyNode>(item)["y"]),
      router: record<wire.TopologyNode>(item)["router"] === true,
    })),
    links: list(topology["links"]).map((item) => ({
      name: text(record<wire.TopologyLink>(item)["name"]),
      from: text(record<wire.TopologyLink>(item)["from"]),
      to: text(record<wire.TopologyLink>(item)["to"]),
      rate_bps: numbers(record<wire.TopologyLink>(item)["rate_bps"]),
      delay_s: numbers(record<wire.TopologyLink>(item)["delay_s"]),
    })),
    definitions: list(raw["definitions"]).map((item) => ({
      name: text(record<wire.Definition>(item)["name"]),
      about: text(record<wire.Definition>(item)["about"], "flow") as wire.About,
      text: words(record<wire.Definition>(item)["text"]),
      source: text(record<wire.Definition>(item)["source"]),
      unit: text(record<wire.Definition>(item)["unit"]),
    })),
    runs: list(raw["runs"]).map(run),
    comparisons: list(raw["comparisons"]).map((item) => ({
      title: text(record<wire.Comparison>(item)["title"]),
      columns: list(record<wire.Comparison>(item)["columns"]).map((name) => text(name)),
      addresses: list(record<wire.Comparison>(item)["addresses"]).map((address) => text(address)),
      rows: list(record<wire.Comparison>(item)["rows"]).map((row) => list(row).map(tableCell)),
      note: words(record<wire.Comparison>(item)["note"]),
    })),
    figures: list(raw["figures"]).map(figure),
    variants: readVariants(raw["variants"]),
  };
}
