/** Selection and style of the chosen port's queues in figures. */
import { extent } from "../axis";
import type { KeyEntry, KeyGroup } from "../figure";
import { type Dash, type Ink, STROKES, strokeOf } from "../palette";
import { leavesOf, type Queue, queueSeriesOf, queuesOfPort, type ShownRun, type View } from "../selection";
import { isByRun, type Style, styleOf } from "../style";

/** Largest number of queues of a port that can be told apart. */
const QUEUES = 7;

/**
 * Returns the queues of the chosen port to draw: leaves in the order of the tree or, if they are too many,
 * the fullest.
 */
export function queuesOf(view: View): { shown: string[]; all: number } {
  const queues = new Map<string, { queue: Queue; peak: number }>();
  for (const { run } of view.runs) {
    for (const queue of leavesOf(queuesOfPort(run, view.port))) {
      const peak = extent([queue.series.peak_packets, queue.series.backlog_packets])?.[1] ?? 0;
      const known = queues.get(queue.name);
      queues.set(queue.name, { queue, peak: Math.max(peak, known?.peak ?? 0) });
    }
  }
  const names = [...queues.keys()];
  if (names.length <= QUEUES) return { shown: names, all: names.length };
  const fullest = new Set(
    [...queues]
      .sort((a, b) => b[1].peak - a[1].peak)
      .slice(0, QUEUES)
      .map(([name]) => name),
  );
  return { shown: names.filter((name) => fullest.has(name)), all: names.length };
}

/** Colour and stroke of a queue's curve in a run. */
type QueueStyle = Pick<Style, "colour" | "dash">;

/**
 * Returns the style of a queue in a run: that of the flow with the same name, otherwise a colour that no flow has and
 * a stroke that no other queue has. Where colours stand for runs, it has that of its run. Strokes of modes come first.
 */
export function queueStyles(
  view: View,
  queues: readonly string[],
  ink: Ink,
): (shown: ShownRun, name: string) => QueueStyle {
  const taken = new Set(queues.filter((name) => view.flows.includes(name)).map((name) => view.slotOf(name)));
  const flows = new Set(view.flows.map((name) => view.slotOf(name)));
  const free = ink.series.map((_, slot) => slot).filter((slot) => !taken.has(slot));
  free.sort((a, b) => Number(flows.has(a)) - Number(flows.has(b)) || a - b);
  const slots = new Map(
    queues.map((name) => [name, view.flows.includes(name) ? view.slotOf(name) : (free.shift() ?? 0)]),
  );
  const strokes = strokesOf(view, queues);
  return (shown, name) => {
    const style = styleOf(view, ink, shown, name);
    const dash = view.mixed ? style.dash : (strokes.get(name) ?? null);
    if (isByRun(view)) return { colour: style.colour, dash };
    return { colour: ink.series[(slots.get(name) ?? 0) % ink.series.length] as string, dash };
  };
}

/** Returns a stroke for each queue: that of its flow, or the first that no other queue of the same run has. */
function strokesOf(view: View, queues: readonly string[]): Map<string, Dash> {
  const isOfFlow = (name: string): boolean => !isByRun(view) && view.flows.includes(name);
  const strokes = new Map<string, Dash>(
    queues.filter(isOfFlow).map((name) => [name, strokeOf(view.slotOf(name))]),
  );
  for (const name of queues.filter((queue) => !isOfFlow(queue))) {
    const runs = view.runs.filter((run) => hasQueue(view, run, name));
    const isBeside = (other: string): boolean => runs.some((run) => hasQueue(view, run, other));
    const taken = new Set([...strokes].filter(([other]) => isBeside(other)).map(([, stroke]) => stroke));
    strokes.set(name, STROKES.find((stroke) => !taken.has(stroke)) ?? null);
  }
  return strokes;
}

const hasQueue = (view: View, { run }: ShownRun, name: string): boolean =>
  queueSeriesOf(run, view.port, name) !== undefined;

/** Returns the key of the queues of the chosen port: grey if several runs of different colours have the queue. */
export function queueKey(view: View, queues: readonly string[], ink: Ink): KeyGroup[] {
  if (queues.length === 0) return [];
  const styles = queueStyles(view, queues, ink);
  const entry = (name: string): KeyEntry => {
    const [shown, other] = view.runs.filter((run) => hasQueue(view, run, name));
    if (!shown) return { label: name, colour: ink.soft, kind: "dot" };
    const { colour, dash } = styles(shown, name);
    if (!isByRun(view)) return { label: name, colour, kind: view.mixed ? "dot" : "line", dash };
    return { label: name, colour: other ? ink.soft : colour, kind: "line", dash: view.mixed ? null : dash };
  };
  return [{ label: `Queue of ${view.port}`, entries: queues.map(entry) }];
}
