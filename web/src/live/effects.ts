/**
 * Delay before and after each change of a running run, as the terminal has it (`view/past.rs`). A run that goes on has
 * no other life without the change, so nothing says that it is the cause.
 */
import type { EventSample, PortSample, Sample } from "../generated/lockgate";
import { delayOf } from "./parts";
import { time } from "./quantities";

/** Time in seconds before a change, and at the end of the time after it, over which the delay is a mean. */
const MEAN_S = 5;
/** Time in seconds after a change at which its effect is complete. */
const AFTER_S = 10;
/** Least time in seconds after a change for which something is said. */
const LEAST_S = 1;

/** Effect of a change, and whether it is complete. */
interface Effect {
  text: string;
  isComplete: boolean;
}

/** Returns the index of the first sample that ends later than `at`. */
function after(samples: readonly Sample[], at: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle] as Sample).at_s <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the longest delay of a port's queues; null if none is known. */
function longest(port: PortSample): number | null {
  const delays = port.queues.flatMap((queue) => delayOf(queue) ?? []);
  return delays.length > 0 ? Math.max(...delays) : null;
}

/** Returns the mean delay of each port over the samples that end after `from` and not after `to`. */
function means(samples: readonly Sample[], from: number, to: number): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const { ports } of samples.slice(after(samples, from), after(samples, to)))
    for (const port of ports) {
      const delay = longest(port);
      if (delay === null) continue;
      const { sum, count } = sums.get(port.name) ?? { sum: 0, count: 0 };
      sums.set(port.name, { sum: sum + delay, count: count + 1 });
    }
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}

const isOf = (path: string, port: string): boolean =>
  path.includes(`port.${port}.`) || path.includes(`port."${port}".`);

/** Returns the effect of a change that lasted until `end`. */
function effectOf(event: EventSample, end: number, samples: readonly Sample[]): string {
  const before = means(samples, event.at_s - MEAN_S, event.at_s);
  const now = means(samples, Math.max(event.at_s, end - MEAN_S), end);
  // The port that was changed; else the one where packets wait longest, before it or after it.
  const [longest] = [...before, ...now]
    .filter(([name]) => before.has(name) && now.has(name))
    .sort((a, b) => b[1] - a[1]);
  const [port] = [...before].find(([name]) => isOf(event.path, name)) ?? longest ?? [];
  if (port === undefined || !now.has(port)) return "";
  return `delay p99 at ${port}: ${time(before.get(port) ?? null)} → ${time(now.get(port) ?? null)}`;
}

export class Effects {
  readonly #known = new Map<EventSample, Effect>();

  /** Returns the effect of a change as the samples show it; empty if they do not. */
  of(event: EventSample, events: readonly EventSample[], samples: readonly Sample[]): string {
    if (event.kind !== "change" || event.path === "") return "";
    const known = this.#known.get(event);
    if (known?.isComplete) return known.text;
    const last = samples.at(-1)?.at_s ?? 0;
    const next = events.find(({ kind, at_s }) => kind === "change" && at_s > event.at_s)?.at_s;
    const whole = Math.min(event.at_s + AFTER_S, next ?? Number.POSITIVE_INFINITY);
    const end = Math.min(last, whole);
    const text = end - event.at_s < LEAST_S ? "" : effectOf(event, end, samples);
    this.#known.set(event, { text, isComplete: last >= whole });
    return text;
  }
}
