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
import { type Column, makeTable } from "../table";

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

const FIELDS: {
  title: string;
  csv: string;
  unit: string;
  group?: string;
  hint?: string;
  secondary?: boolean;
  read(queue: QueueSummary): number | null;
}[] = [
  {
    title: "Offered",
    csv: "enqueued_packets",
    unit: "",
    hint: "Packets offered to the queue",
    read: (queue) => queue.enqueued_packets,
  },
  {
    title: "Sent",
    csv: "sent_packets",
    unit: "",
    hint: "Packets",
    read: (queue) => queue.sent_packets,
  },
  {
    title: "Sent",
    csv: "sent_bytes",
    secondary: true,
    unit: "B",
    hint: "Bytes",
    read: (queue) => queue.sent_bytes,
  },
  {
    title: "Marked",
    csv: "marked_packets",
    unit: "",
    hint: "Packets marked (ECN)",
    read: (queue) => queue.marked_packets,
  },
  {
    title: "Backlog",
    csv: "backlog_packets",
    secondary: true,
    unit: "",
    hint: "Packets in the queue at the end",
    read: (queue) => queue.backlog_packets,
  },
  {
    title: "Peak",
    csv: "peak_backlog_packets",
    unit: "",
    hint: "The most packets in the queue at once",
    read: (queue) => queue.peak_backlog_packets,
  },
  {
    title: "Proven",
    csv: "buffer_bound_bytes",
    unit: "B",
    hint: "Buffer that no traffic within the envelopes overflows, by network calculus",
    read: (queue) => queue.buffer_bound_bytes ?? null,
  },
  {
    title: "Sojourn p50",
    csv: "sojourn_p50_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, median",
    read: (queue) => queue.sojourn_s.p50,
  },
  {
    title: "p95",
    csv: "sojourn_p95_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, 95th percentile",
    read: (queue) => queue.sojourn_s.p95,
  },
  {
    title: "p99",
    csv: "sojourn_p99_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, 99th percentile",
    read: (queue) => queue.sojourn_s.p99,
  },
  {
    title: "max",
    csv: "sojourn_max_s",
    secondary: true,
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, greatest",
    read: (queue) => queue.sojourn_s.max,
  },
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
  const fields = FIELDS.filter((field) => rows.some(({ queue }) => typeof field.read(queue) === "number"));
  const before = fields.findIndex((field) => field.csv === "marked_packets");
  const split = before < 0 ? fields.length : before;
  const column = ({ read: _, ...column }: (typeof FIELDS)[number]): Column => column;
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
      ...fields.slice(0, split).map(column),
      { title: "Dropped", csv: "dropped_packets", unit: "", hint: "Packets, for any reason" },
      ...(reasons.length > 1
        ? reasons.map((reason) => ({
            title: `– ${reason}`,
            csv: `dropped_${reason}_packets`,
            unit: "",
            hint: `Packets dropped: ${reason}`,
          }))
        : []),
      ...fields.slice(split).map(column),
    ],
    rows: rows.map(({ run, port, name, queue }): Cell[] => [
      ...(ports ? [port] : []),
      name,
      queue.kind,
      ...(several ? [runName(run)] : []),
      ...fields.slice(0, split).map(({ read }) => read(queue)),
      queue.dropped_packets,
      ...(reasons.length > 1 ? reasons.map((reason) => queue.drops_by[reason] ?? 0) : []),
      ...fields.slice(split).map(({ read }) => read(queue)),
    ]),
  });
}
