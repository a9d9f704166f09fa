/**
 * Table of all queues, those of the worst port first: packets sent, drops with reasons, backlog, and sojourn
 * time.
 */
import { h } from "../dom";
import { plural } from "../format";
import type { PortSummary, QueueSummary, Run } from "../generated/lockgate";
import type { Cell, Report } from "../report";
import { treeOf } from "../selection";
import { runName } from "../style";
import { makeTable } from "../table";
import { type Field, field, present } from "./field";

interface Row {
  run: Run;
  port: string;
  name: string;
  depth: number;
  queue: QueueSummary;
}

/** Returns the longest wait at a port, in seconds. */
const waitOf = ({ queues }: PortSummary): number =>
  Math.max(0, ...Object.values(queues).map(({ sojourn_s: { p99, max } }) => p99 ?? max ?? 0));

/** Returns the queues of each run, those of the port with the longest wait first, in the order of their trees. */
function rowsOf(report: Report): Row[] {
  return report.runs.flatMap((run) =>
    Object.entries(run.summary.ports)
      .sort(([, one], [, other]) => waitOf(other) - waitOf(one))
      .flatMap(([port, { queues }]) => {
        const named = Object.entries(queues).map(([name, queue]) => ({ ...queue, name }));
        return treeOf(named).map(({ queue, depth }) => ({ run, port, name: queue.name, depth, queue }));
      }),
  );
}

const FIELDS: Field<QueueSummary>[] = [
  field("Offered", "enqueued_packets", "", (queue) => queue.enqueued_packets, {
    hint: "Packets offered to the queue",
  }),
  field("Sent", "sent_packets", "", (queue) => queue.sent_packets, { hint: "Packets" }),
  field("Sent", "sent_bytes", "B", (queue) => queue.sent_bytes, { hint: "Bytes", secondary: true }),
  field("Marked", "marked_packets", "", (queue) => queue.marked_packets, { hint: "Packets marked (ECN)" }),
  field("Backlog", "backlog_packets", "", (queue) => queue.backlog_packets, {
    hint: "Packets in the queue at the end",
    secondary: true,
  }),
  field("Peak", "peak_backlog_packets", "", (queue) => queue.peak_backlog_packets, {
    hint: "The most packets in the queue at once",
  }),
  field("Proven", "buffer_bound_bytes", "B", (queue) => queue.buffer_bound_bytes, {
    hint: "Buffer that no traffic within the envelopes overflows, by network calculus",
  }),
  field("Sojourn p50", "sojourn_p50_s", "s", (queue) => queue.sojourn_s.p50, {
    group: "sojourn",
    hint: "Time in the queue, median",
  }),
  field("p95", "sojourn_p95_s", "s", (queue) => queue.sojourn_s.p95, {
    group: "sojourn",
    hint: "Time in the queue, 95th percentile",
  }),
  field("p99", "sojourn_p99_s", "s", (queue) => queue.sojourn_s.p99, {
    group: "sojourn",
    hint: "Time in the queue, 99th percentile",
  }),
  field("max", "sojourn_max_s", "s", (queue) => queue.sojourn_s.max, {
    group: "sojourn",
    hint: "Time in the queue, greatest",
    secondary: true,
  }),
];

/** Returns whether no packet waited in a queue and none was dropped. */
function isIdle({ queue }: Row): boolean {
  const { p99, max } = queue.sojourn_s;
  return queue.backlog_packets === 0 && queue.dropped_packets === 0 && !p99 && !max;
}

/** Returns the queues in which packets waited, and folded those in which none did. */
export function queuesTable(report: Report): HTMLElement {
  const rows = rowsOf(report);
  if (rows.length === 0) return h("p", { class: "nothing" }, "The report names no queues.");
  // A tree is shown whole if a queue of it has waited.
  const ports = new Set(
    rows.filter((row) => !isIdle(row)).map((row) => `${report.runs.indexOf(row.run)} ${row.port}`),
  );
  const isBusy = (row: Row): boolean => ports.has(`${report.runs.indexOf(row.run)} ${row.port}`);
  const [busy, idle] = [rows.filter(isBusy), rows.filter((row) => !isBusy(row))];
  if (idle.length === 0 || busy.length === 0) return tableOf(report, rows);
  return h(
    "div",
    {},
    tableOf(report, busy),
    h(
      "details",
      { class: "idle" },
      h("summary", {}, `${plural(idle.length, "queue")} in which no packet waited`),
      tableOf(report, idle, "idle-queues"),
    ),
  );
}

function tableOf(report: Report, rows: readonly Row[], name = "queues"): HTMLElement {
  const several = report.runs.length > 1;
  // Of the whole report: a table of one port's queues says of which port.
  const ports = new Set(rowsOf(report).map((row) => row.port)).size > 1;
  const reasons = [...new Set(rows.flatMap(({ queue }) => Object.keys(queue.drops_by)))];
  const fields = present(
    FIELDS,
    rows.map(({ queue }) => queue),
  );
  const before = fields.findIndex(({ column }) => column.csv === "marked_packets");
  const split = before < 0 ? fields.length : before;
  return makeTable({
    name,
    limit: 60,
    filter: true,
    columns: [
      ...(ports ? [{ title: "Port", csv: "port" }] : []),
      {
        title: "Queue",
        csv: "queue",
        draw: (value, index) =>
          h(
            "span",
            { class: "tree", style: `--depth:${Math.min(rows[index]?.depth ?? 0, 8)}` },
            String(value ?? ""),
          ),
      },
      { title: "Kind", csv: "kind" },
      ...(several ? [{ title: "Run", csv: "run" }] : []),
      ...fields.slice(0, split).map(({ column }) => column),
      { title: "Dropped", csv: "dropped_packets", unit: "", hint: "Packets, for any reason" },
      ...(reasons.length > 1
        ? reasons.map((reason) => ({
            title: `– ${reason}`,
            csv: `dropped_${reason}_packets`,
            unit: "",
            hint: `Packets dropped: ${reason}`,
          }))
        : []),
      ...fields.slice(split).map(({ column }) => column),
    ],
    rows: rows.map(({ run, port, name, queue }): Cell[] => [
      ...(ports ? [port] : []),
      name,
      queue.kind,
      ...(several ? [runName(run)] : []),
      ...fields.slice(0, split).map(({ read }) => read(queue) ?? null),
      queue.dropped_packets,
      ...(reasons.length > 1 ? reasons.map((reason) => queue.drops_by[reason] ?? 0) : []),
      ...fields.slice(split).map(({ read }) => read(queue) ?? null),
    ]),
  });
}
