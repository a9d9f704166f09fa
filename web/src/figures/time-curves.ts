/** Curves of flows and queues over time, before they are cut to a window. */
import type { FlowSeriesData, QueueSeriesData } from "../generated/lockgate";
import type { Dash, Ink } from "../palette";
import type { Numbers } from "../report";
import { flowOf, isOfFlow, panelOf, queueSeriesOf, type ShownRun, type View } from "../selection";
import { styleOf } from "../style";
import { ghostCurves } from "./ghost-curves";
import { queueStyles } from "./queues";
import { summedOf } from "./time-bounds";

/** Panels of the record of a run, from the top: the delay is what users feel, the others say why. */
export const [DELAY, QUEUE, RATE, LOSS] = [0, 1, 2, 3] as const;

export interface Panel {
  name: string;
  unit: string;
  height: number;
  log: boolean;
  /** True for rates, which are drawn as means over several intervals. */
  mean?: boolean;
  /** True for counts that are drawn as a tick each. */
  ticks?: boolean;
}

/** One curve of a panel, before it is cut to a window. */
export interface Curve {
  id: string;
  /** Flow or queue that it is of. */
  of: string;
  panel: number;
  x: Numbers;
  y: Numbers;
  colour: string;
  dash: Dash;
  mark: string | null;
  phase: number;
  width: number;
  opacity: number;
  area: boolean;
  /** Stack on which its area lies; none if it lies on the axis. */
  stack?: string;
  /** Name at the end of the curve; empty for none. */
  name?: string;
}

/** Returns whether only the largest delay of each interval was recorded, as of members of groups. */
export function isBrief(series: FlowSeriesData): boolean {
  const has = (value: number | null): boolean => value !== null;
  return series.owd_max_s.some(has) && !series.owd_p50_s.some(has);
}

/** Returns the delays of the thick curve: medians, or the largest ones of a flow that has no others. */
export function delayOf(series: FlowSeriesData): Numbers {
  return isBrief(series) ? series.owd_max_s : series.owd_p50_s;
}

/**
 * Returns whether a curve may have points between gaps, in any window: cutting to a window updates series and
 * removes none.
 */
export function hasGaps({ x, y }: Curve, log: boolean): boolean {
  const missing = (value: number | null): boolean => value === null || (log && value <= 0);
  return x.length === 1 || x.some((_, index) => missing(y[index] ?? null));
}

/** What is drawn of a queue: the time to send what waits, or its size. */
export type Backlog = "time" | "packets" | "bytes";

/**
 * Returns about the wait of a packet that arrives at the end of each interval: the backlog over the rate at which packets
 * leave the queue. That is the rate in an interval beside it that begins and ends with a backlog; a queue that was empty
 * at both has sent more slowly than it is served, and its largest rate stands for it.
 *
 * A queue that drops packets as they arrive is left by those that it sends; one that drops what it holds, as CoDel does,
 * by all that it took. Of two such estimates the one counts whose largest is nearer to the largest wait that was
 * recorded, which is of the packets sent after the warm-up.
 */
export function waitsOf(
  series: QueueSeriesData,
  recorded: { largest: number; after: number } | null,
): Numbers {
  const { time_s, backlog_bytes, offered_bps, sent_bps } = series;
  const sent = waitsAt(series, sent_bps);
  if (!recorded || recorded.largest <= 0 || !series.dropped_packets.some((dropped) => (dropped ?? 0) > 0))
    return sent;
  const left = waitsAt(
    series,
    time_s.map((end, at) => {
      const grown = (backlog_bytes[at] ?? 0) - (backlog_bytes[at - 1] ?? 0);
      const seconds = (end ?? 0) - (time_s[at - 1] ?? 0);
      return seconds > 0 ? Math.max(sent_bps[at] ?? 0, (offered_bps[at] ?? 0) - (8 * grown) / seconds) : null;
    }),
  );
  const off = (waits: Numbers): number => {
    const most = waits.reduce<number>(
      (max, wait, at) => ((time_s[at] ?? 0) > recorded.after ? Math.max(max, wait ?? 0) : max),
      0,
    );
    return most > 0 ? Math.abs(Math.log(most / recorded.largest)) : Number.POSITIVE_INFINITY;
  };
  return off(left) < off(sent) ? left : sent;
}

/** Returns the backlog at the end of each interval over the rate at which packets leave. */
function waitsAt({ time_s, backlog_bytes }: QueueSeriesData, rates: Numbers): Numbers {
  const isBusy = (at: number): boolean => (backlog_bytes[at - 1] ?? 0) > 0 && (backlog_bytes[at] ?? 0) > 0;
  const most = rates.reduce<number>((max, rate) => Math.max(max, rate ?? 0), 0);
  return time_s.map((_, at) => {
    const waiting = backlog_bytes[at] ?? null;
    if (waiting === null || waiting === 0) return waiting;
    const beside = [at, at + 1].filter(isBusy).map((near) => rates[near] ?? 0);
    const rate = Math.max(0, ...beside) || most;
    return rate > 0 ? (8 * waiting) / rate : null;
  });
}

/** What the curves of the record of a run are of. */
interface Recorded {
  view: View;
  queues: readonly string[];
  /** What is drawn of the queues. */
  backlog: Backlog;
  /** True if a panel of losses is drawn. */
  lost: boolean;
}

/** Returns the curves of all panels, the thick ones last. */
export function recordedCurves(of: Recorded, ink: Ink): Curve[] {
  const { view } = of;
  const curves: Curve[] = [];
  const styles = queueStyles(view, of.queues, ink);
  for (const shown of view.runs) {
    const subjects = shown.run.summary.expect.map(({ that }) => that);
    const judging = subjects.some(
      (that) => panelOf(that) === "delay" && view.flows.some((flow) => isOfFlow(that, flow)),
    );
    for (const name of view.flows) {
      const series = flowOf(shown.run, name)?.series;
      if (!series) continue;
      const style = styleOf(view, ink, shown, name);
      const judged = subjects.filter((that) => isOfFlow(that, name)).map(panelOf);
      const add = (panel: number, what: string, y: Numbers, thin: boolean, area = false): void => {
        if (y.length === 0) return;
        const kind = (["delay", "", "rate", "loss"] as const)[panel];
        const front = judged.some((one) => one === kind);
        // Beside a judged flow, one that is not judged here stands back.
        const back = judging && !front && panel === DELAY;
        curves.push({
          id: `${shown.index} ${what} ${name}`,
          of: name,
          panel,
          x: series.time_s,
          y,
          ...style,
          // What accompanies a line, and steps, are read best as solid ones.
          dash: (thin || area) && !view.mixed ? null : style.dash,
          mark: thin ? null : style.mark,
          width: thin ? (front ? 1.2 : 0.8) : front ? 2.4 : back ? 1 : 1.6,
          opacity: thin ? (back ? 0.22 : 0.5) : back ? 0.55 : 1,
          area,
          name: thin || panel === LOSS ? "" : name,
        });
      };
      add(RATE, "offered", series.offered_bps, true);
      add(RATE, "received", series.received_bps, false);
      add(DELAY, "p99", series.owd_p99_s, true);
      add(DELAY, "p50", delayOf(series), false);
      if (of.lost) add(LOSS, "lost", series.lost_packets, false);
    }
    sumCurves(view, shown, ink, curves);
    queueCurves(of, shown, ink, styles, curves);
    curves.push(...ghostCurves(view, shown, ink));
  }
  // The last are on top: thick ones, which are judged.
  return curves.sort((a, b) => a.width - b.width);
}

/** Adds the sum of the rates of each group whose sum an expectation bounds. */
function sumCurves(view: View, shown: ShownRun, ink: Ink, curves: Curve[]): void {
  if (view.runs.length > 1) return;
  for (const { group, flows } of summedOf(view, shown.run)) {
    const all = flows.flatMap((flow) => flowOf(shown.run, flow)?.series ?? []);
    const [first] = all;
    if (!first || all.some(({ time_s }) => time_s.length !== first.time_s.length)) continue;
    curves.push({
      id: `${shown.index} sum ${group}`,
      of: group,
      panel: RATE,
      x: first.time_s,
      y: first.time_s.map((_, at) => all.reduce((sum, { received_bps }) => sum + (received_bps[at] ?? 0), 0)),
      ...styleOf(view, ink, shown, flows[0] ?? ""),
      dash: null,
      mark: null,
      width: 2.4,
      opacity: 1,
      area: false,
      name: `${group} sum`,
    });
  }
}

const byBytes = (series: QueueSeriesData): Numbers => series.backlog_bytes;
const byPackets = (series: QueueSeriesData): Numbers => series.backlog_packets;

function queueCurves(
  of: Recorded,
  shown: ShownRun,
  ink: Ink,
  styles: ReturnType<typeof queueStyles>,
  curves: Curve[],
): void {
  const { view } = of;
  for (const name of of.queues) {
    const series = queueSeriesOf(shown.run, view.port, name);
    if (!series) continue;
    const style = styleOf(view, ink, shown, name);
    const common = {
      of: name,
      panel: QUEUE,
      x: series.time_s,
      ...style,
      ...styles(shown, name),
      area: false,
    };
    const { ports, warmup_s: after } = shown.run.summary;
    const largest = ports[view.port]?.queues[name]?.sojourn_s.max ?? 0;
    const byTime = (): Numbers => waitsOf(series, { largest, after });
    const now = { time: byTime, bytes: byBytes, packets: byPackets }[of.backlog](series);
    if (of.backlog === "packets" && series.peak_packets.length > 0) {
      curves.push({
        ...common,
        id: `${shown.index} peak ${name}`,
        y: series.peak_packets,
        dash: view.mixed ? common.dash : null,
        mark: null,
        width: 1,
        opacity: 0.5,
      });
    }
    if (now.length > 0)
      curves.push({ ...common, id: `${shown.index} backlog ${name}`, y: now, width: 1.6, opacity: 1 });
    // Of one run, the queues' shares of the line are areas on each other below the rates of the flows.
    if (view.runs.length === 1 && series.sent_bps.length > 0)
      curves.push({
        ...common,
        id: `${shown.index} sent ${name}`,
        panel: RATE,
        y: series.sent_bps,
        dash: null,
        mark: null,
        width: 0.5,
        opacity: 0.35,
        area: true,
        stack: "sent",
      });
  }
}
