/** Selection and colours of the chosen port's queues in figures. */
import { extent } from "../axis";
import type { Ink } from "../palette";
import type { Queue } from "../report";
import { leavesOf, portOf, type View } from "../selection";

/** Largest number of queues of a port that can be told apart. */
const QUEUES = 7;

/**
 * Returns the queues of the chosen port to draw: leaves in the order of the tree or, if they are too many,
 * the fullest.
 */
export function queuesOf(view: View): { shown: string[]; all: number } {
  const queues = new Map<string, { queue: Queue; peak: number }>();
  for (const { run } of view.runs) {
    const all = portOf(run, view.port)?.queues ?? [];
    for (const queue of leavesOf(all)) {
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

/** Returns the colours of queues: that of the flow with the same name, otherwise one that no flow has. */
export function queueColours(view: View, queues: readonly string[], ink: Ink): Map<string, string> {
  const taken = new Set(queues.filter((name) => view.flows.includes(name)).map((name) => view.slotOf(name)));
  const flows = new Set(view.flows.map((name) => view.slotOf(name)));
  const free = ink.series.map((_, slot) => slot).filter((slot) => !taken.has(slot));
  free.sort((a, b) => Number(flows.has(a)) - Number(flows.has(b)) || a - b);
  return new Map(
    queues.map((name) => {
      const slot = view.flows.includes(name) ? view.slotOf(name) : (free.shift() ?? 0);
      return [name, ink.series[slot % ink.series.length] as string];
    }),
  );
}
