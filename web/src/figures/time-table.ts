/** Table of a run's record over time. */
import type { Table } from "../figure";
import type { Cell, Numbers } from "../report";
import { flowOf, portOf, type View } from "../selection";

/** Returns a row for each interval of each chosen flow, and of each of these queues. */
export function timeTable(view: View, queues: readonly string[]): Table {
  const columns = [
    "run",
    "what",
    "name",
    "time_s",
    "offered_bps",
    "received_bps",
    "lost_packets",
    "owd_p50_s",
    "owd_p99_s",
    "owd_max_s",
    "backlog_packets",
    "peak_packets",
    "backlog_bytes",
    "dropped_packets",
    "marked_packets",
  ];
  const rows: Cell[][] = [];
  for (const { run } of view.runs) {
    for (const name of view.flows) {
      const series = flowOf(run, name)?.series;
      series?.time_s.forEach((at, i) => {
        const pick = (column: Numbers): number | null => column[i] ?? null;
        rows.push([
          run.label,
          "flow",
          name,
          at,
          pick(series.offered_bps),
          pick(series.received_bps),
          pick(series.lost_packets),
          pick(series.owd_p50_s),
          pick(series.owd_p99_s),
          pick(series.owd_max_s),
          null,
          null,
          null,
          null,
          null,
        ]);
      });
    }
    for (const name of queues) {
      const series = portOf(run, view.port)?.queues.find((queue) => queue.name === name)?.series;
      series?.time_s.forEach((at, i) => {
        const pick = (column: Numbers): number | null => column[i] ?? null;
        rows.push([
          run.label,
          "queue",
          name,
          at,
          pick(series.offered_bps),
          pick(series.sent_bps),
          null,
          null,
          null,
          null,
          pick(series.backlog_packets),
          pick(series.peak_packets),
          pick(series.backlog_bytes),
          pick(series.dropped_packets),
          pick(series.marked_packets),
        ]);
      });
    }
  }
  return { columns, rows };
}
