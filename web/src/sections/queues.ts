/**
 * Table of all queues in the order of their trees: packets sent, drops with reasons, backlog, and sojourn
 * time.
 */
import { h } from "../dom";
import { plural } from "../format";
import type { Cell, Queue, QueueSummary, Report, Run } from "../report";
import { treeOf } from "../selection";
import { runName } from "../style";
import { type Column, makeTable } from "../table";

interface Row {
  run: Run;
  port: string;
  name: string;
  depth: number;
  kind: string;
  summary: QueueSummary | undefined;
  queue: Queue | undefined;
}

/** The data of a queue is in two places: its kind with its curves, its totals in the summary. */
function rowsOf(report: Report): Row[] {
  return report.runs.flatMap((run) => {
    const ports = new Set([...run.ports.map((port) => port.name), ...Object.keys(run.summary.ports)]);
    return [...ports].flatMap((port) => {
      const drawn = run.ports.find((item) => item.name === port)?.queues ?? [];
      const counted = run.summary.ports[port]?.queues ?? {};
      const names = new Set([...drawn.map((queue) => queue.name), ...Object.keys(counted)]);
      const both = [...names].map((name) => {
        const queue = drawn.find((item) => item.name === name);
        const summary = counted[name];
        return {
          name,
          parent: queue?.parent ?? summary?.parent ?? null,
          kind: queue?.kind || summary?.kind || "",
          queue,
          summary,
        };
      });
      return treeOf(both).map(({ queue, depth }) => ({ run, port, depth, ...queue }));
    });
  });
}

const FIELDS: {
  title: string;
  csv: string;
  unit: string;
  group?: string;
  hint?: string;
  secondary?: boolean;
  read(queue: QueueSummary): number | null | undefined;
}[] = [
  {
    title: "Offered",
    csv: "enqueued_packets",
    unit: "",
    hint: "Packets offered to the queue",
    read: (queue) => queue.numbers["offered_packets"] ?? queue.numbers["enqueued_packets"],
  },
  {
    title: "Sent",
    csv: "sent_packets",
    unit: "",
    hint: "Packets",
    read: (queue) => queue.numbers["sent_packets"],
  },
  {
    title: "Sent",
    csv: "sent_bytes",
    secondary: true,
    unit: "B",
    hint: "Bytes",
    read: (queue) => queue.numbers["sent_bytes"],
  },
  {
    title: "Marked",
    csv: "marked_packets",
    unit: "",
    hint: "Packets marked (ECN)",
    read: (queue) => queue.numbers["marked_packets"],
  },
  {
    title: "Backlog",
    csv: "backlog_packets",
    secondary: true,
    unit: "",
    hint: "Packets in the queue at the end",
    read: (queue) => queue.numbers["backlog_packets"],
  },
  {
    title: "Peak",
    csv: "peak_backlog_packets",
    unit: "",
    hint: "The most packets in the queue at once",
    read: (queue) => queue.numbers["peak_backlog_packets"],
  },
  {
    title: "Sojourn p50",
    csv: "sojourn_p50_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, median",
    read: (queue) => queue.sojourn["p50"],
  },
  {
    title: "p95",
    csv: "sojourn_p95_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, 95th percentile",
    read: (queue) => queue.sojourn["p95"],
  },
  {
    title: "p99",
    csv: "sojourn_p99_s",
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, 99th percentile",
    read: (queue) => queue.sojourn["p99"],
  },
  {
    title: "max",
    csv: "sojourn_max_s",
    secondary: true,
    unit: "s",
    group: "sojourn",
    hint: "Time in the queue, greatest",
    read: (queue) => queue.sojourn["max"],
  },
];

/** Returns whether no packet waited in a queue and none was dropped. */
function isIdle({ queue, summary }: Row): boolean {
  const drops = [...Object.values(queue?.dropsBy ?? {}), ...Object.values(summary?.dropsBy ?? {})];
  const waits = [summary?.sojourn["p99"], summary?.sojourn["max"]].filter((value) => value !== undefined);
  const backlog = summary?.numbers["backlog_packets"] ?? 0;
  return (
    summary !== undefined &&
    backlog === 0 &&
    drops.every((count) => count === 0) &&
    waits.every((wait) => !wait)
  );
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
  const by = (row: Row): Record<string, number> => {
    const drawn = row.queue?.dropsBy ?? {};
    return Object.keys(drawn).length > 0 ? drawn : (row.summary?.dropsBy ?? {});
  };
  const reasons = [...new Set(rows.flatMap((row) => Object.keys(by(row))))];
  const fields = FIELDS.filter((field) =>
    rows.some((row) => row.summary !== undefined && typeof field.read(row.summary) === "number"),
  );
  const before = fields.findIndex((field) => field.csv === "marked_packets");
  const split = before < 0 ? fields.length : before;
  const column = ({ read: _, ...column }: (typeof FIELDS)[number]): Column => column;
  const read =
    (row: Row) =>
    (field: (typeof FIELDS)[number]): Cell =>
      row.summary ? (field.read(row.summary) ?? null) : null;
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
    rows: rows.map((row): Cell[] => {
      const drops = by(row);
      const total =
        row.summary?.numbers["dropped_packets"] ??
        (row.queue ? Object.values(drops).reduce((sum, count) => sum + count, 0) : null);
      return [
        ...(ports ? [row.port] : []),
        row.name,
        row.kind || null,
        ...(several ? [runName(row.run)] : []),
        ...fields.slice(0, split).map(read(row)),
        total,
        ...(reasons.length > 1 ? reasons.map((reason) => drops[reason] ?? 0) : []),
        ...fields.slice(split).map(read(row)),
      ];
    }),
  });
}
