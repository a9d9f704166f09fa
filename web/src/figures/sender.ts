/**
 * TCP senders over time: window and data in flight, above round-trip time and timeout, above retransmissions.
 */
import { pointed } from "../axis";
import { nearest } from "../decimate";
import { axisChoice, type Figure, hiddenNote, type Settings, type Table } from "../figure";
import type { Ink } from "../palette";
import type { Cell, Numbers, Report } from "../report";
import { flowOf, type View } from "../selection";
import { flowKey, runName, styleOf } from "../style";
import type { TipRow } from "../tooltip";
import { asideOf } from "./rules";
import { duration } from "./time";
import type { BoundLine } from "./time-bounds";
import type { Curve, Panel } from "./time-curves";
import { TimeDrawing } from "./time-drawing";

/** Returns whether the report has an observed TCP sender. */
export function hasSenders(report: Report): boolean {
  return report.runs.some((run) => run.flows.some((flow) => flow.tcp));
}

export function senderFigure(view: View, settings: Settings): Figure {
  const log = settings["window"] === "log";
  const range = duration(view);
  const panels: Panel[] = [
    { name: "Window", unit: "B", height: 170, log },
    { name: "Round trip and timeout", unit: "s", height: 130, log: true },
    { name: "Sent again, segments an interval", unit: "", height: 76, log: false },
  ];
  const isSender = (name: string): boolean => view.runs.some(({ run }) => flowOf(run, name)?.tcp);
  const drawing = new SenderDrawing(view, panels, [], "packets", range);
  return {
    id: "senders",
    title: "TCP senders over time",
    caption:
      "Window: congestion window (thick), in flight (thin) and slow start threshold (faint), in bytes of payload at the end of each " +
      "interval; the threshold is missing before the first loss. Times: smoothed round-trip time (thick) and retransmission timeout (thin)." +
      `${hiddenNote(view)}`,
    aside: asideOf(drawing.rules),
    empty: view.flows.some(isSender) ? null : "None of the flows shown is a TCP sender.",
    choices: [axisChoice("window", log)],
    key: (ink) => flowKey(view, ink, isSender),
    height: () => drawing.height,
    draw: (ink, width, window) => ({ option: drawing.option(ink, width, window) }),
    table: () => senderTable(view),
    zoom: (ink, window, moving) => drawing.cut(ink, window, moving),
    zoomsSeries: true,
    light: (ink, flows) => drawing.light(ink, flows),
    brush: (ink, width) => drawing.silhouette(ink, width),
    range,
  };
}

class SenderDrawing extends TimeDrawing {
  /** None: expectations are on one-way delays and rates, which no panel here shows. */
  protected override bounds(): BoundLine[] {
    return [];
  }

  /** None: no panel here is of a link's rate. */
  protected override get capacity(): number | null {
    return null;
  }

  protected override curves(ink: Ink): Curve[] {
    const curves: Curve[] = [];
    for (const shown of this.view.runs) {
      for (const name of this.view.flows) {
        const series = flowOf(shown.run, name)?.tcp;
        if (!series) continue;
        const style = styleOf(this.view, ink, shown, name);
        const add = (panel: number, what: string, y: Numbers, width: number, opacity: number): void => {
          if (!y.some((value) => value !== null)) return;
          const mark = width > 1 ? style.mark : null;
          curves.push({
            id: `${shown.index} ${what} ${name}`,
            of: name,
            panel,
            x: series.time_s,
            y,
            ...style,
            dash: width > 1 || this.view.mixed ? style.dash : null,
            mark,
            width,
            opacity,
            area: false,
          });
        };
        add(0, "ssthresh", series.ssthresh_bytes, 1, 0.35);
        add(0, "in flight", series.in_flight_bytes, 1, 0.65);
        add(0, "cwnd", series.cwnd_bytes, 1.8, 1);
        add(1, "rto", series.rto_s, 1, 0.6);
        add(1, "rtt", series.rtt_s, 1.8, 1);
        add(2, "sent again", series.retransmissions, 1.4, 1);
      }
    }
    return curves;
  }

  protected override heads(): string[] {
    return ["", "cwnd", "in flight", "ssthresh", "RTT", "RTO", "sent again"];
  }

  protected override rows(ink: Ink, at: number): TipRow[] {
    const rows: TipRow[] = [];
    for (const shown of this.view.runs) {
      if (this.view.runs.length > 1) rows.push({ cells: [runName(shown.run)] });
      for (const name of this.view.flows) {
        const series = flowOf(shown.run, name)?.tcp;
        const index = series ? nearest(series.time_s, at) : -1;
        if (!series || index < 0) continue;
        rows.push({
          colour: styleOf(this.view, ink, shown, name).colour,
          cells: [
            `${name} (${series.congestion})`,
            pointed(series.cwnd_bytes[index], "B"),
            pointed(series.in_flight_bytes[index], "B"),
            pointed(series.ssthresh_bytes[index], "B"),
            pointed(series.rtt_s[index], "s"),
            pointed(series.rto_s[index], "s"),
            pointed(series.retransmissions[index], ""),
          ],
        });
      }
    }
    return rows;
  }
}

const COLUMNS = [
  "time_s",
  "cwnd_bytes",
  "in_flight_bytes",
  "ssthresh_bytes",
  "rtt_s",
  "rto_s",
  "retransmissions",
] as const;

function senderTable(view: View): Table {
  const rows: Cell[][] = [];
  for (const { run } of view.runs) {
    for (const name of view.flows) {
      const series = flowOf(run, name)?.tcp;
      series?.time_s.forEach((_, i) => {
        const cells = COLUMNS.map((column) => series[column][i] ?? null);
        rows.push([run.label, name, series.congestion, ...cells]);
      });
    }
  }
  return { columns: ["run", "flow", "congestion", ...COLUMNS], rows };
}
