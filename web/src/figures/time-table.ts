/** Table of a run's record over time. */
import type { Table } from "../figure";
import type { Cell } from "../report";
import { flowOf, queueSeriesOf, type View } from "../selection";

const RATES = ["offered_bps", "received_bps"] as const;
const FLOW = ["lost_packets", "owd_p50_s", "owd_p99_s", "owd_max_s"] as const;
const QUEUE = [
  "backlog_packets",
  "peak_packets",
  "backlog_bytes",
  "dropped_packets",
  "marked_packets",
] as const;

/** Returns a row for each interval of each chosen flow, and of each of these queues. */
export function timeTable(view: View, queues: readonly string[]): Table {
  const none = (columns: readonly string[]): Cell[] => columns.map(() => null);
  const rows: Cell[][] = [];
  for (const { run } of view.runs) {
    for (const name of view.flows) {
      const series = flowOf(run, name)?.series;
      series?.time_s.forEach((at, i) => {
        const cells = [...RATES, ...FLOW].map((column) => series[column][i] ?? null);
        rows.push([run.label, "flow", name, at, ...cells, ...none(QUEUE)]);
      });
    }
    for (const name of queues) {
      const series = queueSeriesOf(run, view.port, name);
      series?.time_s.forEach((at, i) => {
        const rates = [series.offered_bps[i] ?? null, series.sent_bps[i] ?? null];
        const cells = QUEUE.map((column) => series[column][i] ?? null);
        rows.push([run.label, "queue", name, at, ...rates, ...none(FLOW), ...cells]);
      });
    }
  }
  return { columns: ["run", "what", "name", "time_s", ...RATES, ...FLOW, ...QUEUE], rows };
}
