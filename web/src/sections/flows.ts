/** Table of all flows of all runs. */
import { h } from "../dom";
import { partWords } from "../figures/rows";
import { NONE, quantity, significant } from "../format";
import type { FlowSummary } from "../generated/lockgate";
import { unitOf } from "../metric";
import type { Cell, Report } from "../report";
import { isFolded } from "../selection";
import { runName } from "../style";
import { type Column, makeTable } from "../table";
import { type Field, field, present } from "./field";

const FIELDS: Field<FlowSummary>[] = [
  field("Throughput", "throughput_bps", "bit/s", (flow) => flow.throughput_bps, { group: "rate" }),
  field("Goodput", "goodput_bps", "bit/s", (flow) => flow.goodput_bps, { group: "rate", secondary: true }),
  field("Loss", "loss_ratio", "ratio", (flow) => flow.loss_ratio, {
    hint: "Lost packets over sent packets (RFC 7680)",
  }),
  field("Delay p50", "owd_p50_s", "s", (flow) => flow.owd_s.p50, {
    group: "delay",
    hint: "One-way delay, median",
  }),
  field("mean", "owd_mean_s", "s", (flow) => flow.owd_s.mean, {
    group: "delay",
    hint: "One-way delay, mean",
    secondary: true,
  }),
  field("p95", "owd_p95_s", "s", (flow) => flow.owd_s.p95, {
    group: "delay",
    hint: "One-way delay, 95th percentile",
  }),
  field("p99", "owd_p99_s", "s", (flow) => flow.owd_s.p99, {
    group: "delay",
    hint: "One-way delay, 99th percentile",
  }),
  field("p99.9", "owd_p999_s", "s", (flow) => flow.owd_s.p999, {
    group: "delay",
    hint: "One-way delay, 99.9th percentile",
  }),
  field("max", "owd_max_s", "s", (flow) => flow.owd_s.max, {
    group: "delay",
    hint: "One-way delay, greatest",
  }),
  field("proven", "owd_bound_s", "s", (flow) => flow.owd_bound_s, {
    group: "delay",
    hint: "One-way delay that no traffic within the envelopes exceeds, by network calculus",
  }),
  field("PDV p99", "pdv_p99_s", "s", (flow) => flow.pdv_s.p99, {
    group: "delay",
    hint: "Delay above the least delay (RFC 5481), 99th percentile",
  }),
  field("IPDV p99", "ipdv_p99_s", "s", (flow) => flow.ipdv_s.p99, {
    group: "delay",
    hint: "Absolute difference of consecutive delays (RFC 3393), 99th percentile",
    secondary: true,
  }),
  field("Jitter", "jitter_rfc3550_s", "s", (flow) => flow.jitter_rfc3550_s, {
    group: "delay",
    hint: "Smoothed interarrival jitter (RFC 3550, section 6.4.1)",
  }),
  field("Reordered", "reordered_ratio", "ratio", (flow) => flow.reordered_ratio, {
    hint: "RFC 4737",
    secondary: true,
  }),
  field("FCT", "fct_s", "s", (flow) => flow.fct_s, { hint: "Flow completion time", secondary: true }),
  field("Slowdown", "slowdown", "", (flow) => flow.file?.slowdown, {
    hint: "Completion time over that under processor sharing",
    secondary: true,
  }),
  field("MOS", "mos", "", (flow) => flow.voice?.mos, { hint: "Mean opinion score of a call (ITU-T G.107)" }),
  field("Retransmissions", "retransmissions", "", (flow) => flow.tcp?.retransmissions, {
    hint: "Segments sent again",
    secondary: true,
  }),
  field("Sent", "sent_packets", "", (flow) => flow.sent_packets, { hint: "Packets" }),
  field("Received", "received_packets", "", (flow) => flow.received_packets, {
    hint: "Packets",
    secondary: true,
  }),
  field("Lost", "lost_packets", "", (flow) => flow.lost_packets, { hint: "Packets" }),
  field("Inside", "inside_packets", "", (flow) => flow.inside_packets, {
    hint: "Packets still in the network at the end",
    secondary: true,
  }),
];

export function flowsSection(report: Report): HTMLElement[] {
  const entries = report.runs
    .flatMap((run) =>
      Object.entries(run.summary.flows).map(([name, flow], index) => ({ run, name, flow, index })),
    )
    .sort((a, b) => a.index - b.index);
  if (entries.length === 0) return [h("p", { class: "nothing" }, "The summary names no flows.")];
  // Rows of one flow are together, in the order of the report; hundreds of flows are sorted by their bytes.
  const order = new Map<string, number>();
  for (const { name, flow } of entries) order.set(name, Math.max(order.get(name) ?? 0, flow.received_bytes));
  const names = [...order.keys()];
  if (names.length > 50) names.sort((a, b) => (order.get(b) ?? 0) - (order.get(a) ?? 0));
  const rank = new Map(names.map((name, index) => [name, index]));
  entries.sort((a, b) => (rank.get(a.name) ?? 0) - (rank.get(b.name) ?? 0));
  const several = report.runs.length > 1;
  const fields = present(
    FIELDS,
    entries.map(({ flow }) => flow),
  );
  const columns: Column[] = [
    { title: "Flow", csv: "flow" },
    ...(several ? [{ title: "Run", csv: "run" }] : []),
    ...fields.map(({ column }) => column),
  ];
  const rowsOf = (some: typeof entries): Cell[][] =>
    some.map(({ run, name, flow }) => [
      name,
      ...(several ? [runName(run)] : []),
      ...fields.map(({ read }) => read(flow) ?? null),
    ]);
  const own = entries.filter(({ name }) => !isFolded(name));
  const folded = entries.filter(({ name }) => isFolded(name));
  return [
    makeTable({ name: "flows", columns, rows: rowsOf(own), limit: 50, filter: true }),
    ...(folded.length > 0
      ? [
          h(
            "details",
            { class: "folded" },
            h("summary", {}, `Other directions: acknowledgements, answers and dialogues (${folded.length})`),
            makeTable({ name: "other-directions", columns, rows: rowsOf(folded), limit: 50, filter: true }),
          ),
        ]
      : []),
    h(
      "p",
      { class: "note" },
      "Packets sent at or after the end of the warm-up. ",
      entries.some(({ run }) => run.summary.runs > 1)
        ? `Of the first of ${entries[0]?.run.summary.runs} seeds; means of all are below. `
        : "",
      h("span", { class: "screen" }, "Press a heading to sort."),
    ),
    ...byPart(report),
    ...fairness(report),
    ...intervals(report),
  ];
}

/** Returns the delays of each flow before and after each change, if there was one. */
function byPart(report: Report): HTMLElement[] {
  const several = report.runs.length > 1;
  const rows = report.runs.flatMap((run) =>
    run.flows
      .filter(({ name, phases }) => (phases ?? []).length > 1 && !isFolded(name))
      .flatMap(({ name, phases = [] }) =>
        phases.map((phase): Cell[] => [
          name,
          ...(several ? [runName(run)] : []),
          partWords(phase),
          phase.packets,
          phase.owd_box.p50,
          phase.owd_box.p95,
          phase.owd_p99_s,
          phase.queueing_s,
        ]),
      ),
  );
  if (rows.length === 0) return [];
  return [
    h("h3", {}, "Delay before and after each change"),
    makeTable({
      name: "parts",
      rows,
      limit: 30,
      filter: true,
      columns: [
        { title: "Flow", csv: "flow" },
        ...(several ? [{ title: "Run", csv: "run" }] : []),
        { title: "Part", csv: "part" },
        { title: "Packets", csv: "packets", unit: "" },
        { title: "Delay p50", csv: "owd_p50_s", unit: "s", group: "delay" },
        { title: "p95", csv: "owd_p95_s", unit: "s", group: "delay" },
        { title: "p99", csv: "owd_p99_s", unit: "s", group: "delay" },
        { title: "mean wait", csv: "queueing_mean_s", unit: "s", hint: "Mean time in queues" },
      ],
    }),
  ];
}

/**
 * Returns the fairness among the flows of each group. Over all flows it would be meaningless, because their
 * demands differ.
 */
function fairness(report: Report): HTMLElement[] {
  const groups = report.runs.flatMap((run) =>
    Object.entries(run.summary.groups ?? {})
      .filter(([, { jain_index }]) => jain_index !== null)
      .map(
        ([name, { jain_index }]) =>
          `${name} ${significant(jain_index, 3)}${report.runs.length > 1 ? ` (${runName(run)})` : ""}`,
      ),
  );
  return groups.length === 0
    ? []
    : [h("p", { class: "note" }, `Jain index of throughput within groups: ${groups.join(", ")}.`)];
}

/** Returns the means over repetitions with their confidence intervals, if there were repetitions. */
function intervals(report: Report): HTMLElement[] {
  const rows: Cell[][] = report.runs.flatMap((run) =>
    Object.entries(run.summary.intervals).map(([path, interval]): Cell[] => [
      path,
      runName(run),
      interval.mean,
      interval.half_width,
      interval.n,
    ]),
  );
  if (rows.length === 0) return [];
  const inUnit = (value: Cell, row: number): string =>
    typeof value === "number" ? quantity(value, unitOf(String(rows[row]?.[0]))) : NONE;
  return [
    h("h3", {}, "Over repetitions"),
    makeTable({
      name: "intervals",
      rows,
      limit: 30,
      filter: true,
      columns: [
        { title: "Metric", csv: "metric" },
        { title: "Run", csv: "run" },
        { title: "Mean", csv: "mean", draw: inUnit },
        { title: "± at 95 %", csv: "half_width", draw: inUnit },
        { title: "Runs", csv: "n" },
      ],
    }),
  ];
}
