/**
 * The record of a run over time: rate, delay, queue length and loss over one time axis, with every change as
 * a rule.
 */
import { extent } from "../axis";
import { isolated } from "../decimate";
import { axisChoice, type Figure, hiddenNote, type KeyGroup, type Settings } from "../figure";
import type { Ink } from "../palette";
import { flowOf, type View } from "../selection";
import { flowKey } from "../style";
import { ghostKey } from "./ghost-curves";
import { queueKey, queuesOf } from "./queues";
import { asideOf } from "./rules";
import { type Backlog, delayOf, isBrief, type Panel } from "./time-curves";
import { TimeDrawing } from "./time-drawing";
import { timeTable } from "./time-table";

/** Setting of a figure that is soon replaced, as while a slider moves. */
export const COARSE = "coarse";

/** Part of a run after which figures end with the last packet, if no flow receives any more. */
const SHORT = 0.25;

/** Returns the end of figures of flows of which the last receives at `last`: of the run, or shortly after that. */
export function endOf(last: number, duration: number): number {
  return last > 0 && last < SHORT * duration ? 1.1 * last : Math.max(last, duration);
}

/** Returns the last time at which a flow receives; 0 if none does. */
function lastReceived(view: View): number {
  const series = view.runs.flatMap(({ run }) => run.flows.map((flow) => flow.series));
  return series.reduce((last, { time_s, received_bps }) => {
    const index = received_bps.findLastIndex((rate) => (rate ?? 0) > 0);
    return Math.max(last, time_s[index] ?? 0);
  }, 0);
}

export function duration(view: View): readonly [number, number] {
  const times = view.runs.flatMap(({ run }) => [
    ...run.flows.map((flow) => flow.series.time_s),
    ...run.ports.flatMap((port) => port.queues.map((queue) => queue.series.time_s)),
  ]);
  const stated = view.runs.map(({ run }) => run.summary.duration_s);
  const end = endOf(lastReceived(view), extent([...times, stated])?.[1] ?? 1);
  return [0, end > 0 ? end : 1];
}

/** Returns the entry of what is beyond a bound: light of one flow, darker of several. */
const excessKey = (ink: Ink): KeyGroup => ({
  label: "",
  entries: [
    {
      label: "beyond its bound",
      colour: `color-mix(in srgb, ${ink.bad} 40%, ${ink.panel})`,
      kind: "swatch",
    },
  ],
});

export function timeFigure(view: View, settings: Settings): Figure {
  const delayLog = settings["delay"] === "log";
  const backlog = (settings["backlog"] ?? "time") as Backlog;
  const queues = queuesOf(view);
  const range = duration(view);
  const panels: Panel[] = [
    { name: "One-way delay", unit: "s", height: 190, log: delayLog },
    {
      time: { name: "Wait in queue", unit: "s", height: 64, log: false },
      packets: { name: "Queue length, packets", unit: "", height: 64, log: false },
      bytes: { name: "Queue length", unit: "B", height: 64, log: false },
    }[backlog],
    { name: "Rate", unit: "bit/s", height: 84, log: false, mean: true },
  ];
  const lost = view.runs.some(({ run }) =>
    view.flows.some((name) => flowOf(run, name)?.series.lost_packets.some((count) => (count ?? 0) > 0)),
  );
  if (lost) panels.push({ name: "Lost, packets an interval", unit: "", height: 30, log: false, ticks: true });
  const some = view.runs.some(
    ({ run }) => run.flows.some((flow) => flow.series.time_s.length > 0) || run.ports.length > 0,
  );
  const shownSeries = view.runs.flatMap(({ run }) =>
    view.flows.flatMap((name) => flowOf(run, name)?.series ?? []),
  );
  const dotted = shownSeries.some((series) => isolated(delayOf(series)).length > 0);
  const brief = shownSeries.filter(isBrief).length;
  const allBrief = brief > 0 && brief === shownSeries.length;
  const cut =
    queues.all > queues.shown.length
      ? ` Queues shown: the ${queues.shown.length} fullest of ${queues.all}.`
      : "";
  const drawing = new TimeDrawing(view, panels, queues.shown, backlog, range, settings[COARSE] === "yes");
  return {
    id: "time",
    title: `Delay, queue${lost ? ", rate and loss" : " and rate"} over time`,
    caption:
      `Thick: ${allBrief ? "largest" : "median"} delay, queue of ${view.port || "no port"}, rate received. ` +
      `Thin: ${allBrief ? "" : "99th percentile of delay, "}${backlog === "packets" ? "greatest queue in an interval, " : ""}rate offered. ` +
      `${backlog === "time" ? "The wait in a queue is about its backlog over the rate at which packets leave it. " : ""}` +
      `${view.runs.length === 1 ? `Areas: what the queues of ${view.port} sent${drawing.hasCapacity ? "; dashed: the rate of its link" : ""}. ` : ""}` +
      "Rates are means over as many intervals as the width asks for: zoom in for single ones." +
      `${brief > 0 && !allBrief ? " Members of groups have the largest delay of each interval." : ""}` +
      `${dotted ? ` A dot${view.mixed ? ", hollow in simulation," : ""} is an interval with packets between two without.` : ""}` +
      `${lost ? "" : " No packet of these flows was lost."}${cut}${hiddenNote(view)}`,
    aside: asideOf(drawing.rules),
    empty: some ? null : "No time series were recorded.",
    choices: [
      axisChoice("delay", delayLog),
      {
        name: "backlog",
        label: "queue in",
        options: ["time", "packets", "bytes"],
        chosen: backlog,
      },
    ],
    key: (ink) => [
      ...flowKey(view, ink),
      ...queueKey(view, queues.shown, ink),
      ...ghostKey(view, ink),
      ...(drawing.exceeds ? [excessKey(ink)] : []),
    ],
    height: () => drawing.height,
    draw: (ink, width, window) => ({ option: drawing.option(ink, width, window) }),
    table: () => timeTable(view, queues.shown),
    zoom: (ink, window, moving) => drawing.cut(ink, window, moving),
    zoomsSeries: true,
    light: (ink, flows) => drawing.light(ink, flows),
    brush: (ink, width) => drawing.silhouette(ink, width),
    range,
  };
}
