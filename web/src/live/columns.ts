/** Data of the strips as columns of numbers. */
import type { Sample } from "../generated/lockgate";
import type { QueueLifetime } from "./history";
import { delayOf, portAt } from "./parts";

/** Strips from the top: the delay is what users feel. */
export const [DELAY, RATE] = [0, 1] as const;

type Column = (number | null)[];

/** Reads some numbers from a sample, `null` where it has none. */
type Read = (sample: Sample) => readonly (number | null)[];

/** Returns the time, then a column for each of the `width` numbers. Lines break where samples are missing. */
function table(samples: readonly Sample[], width: number, read: Read): Column[] {
  const all: Column[] = Array.from({ length: width + 1 }, () => []);
  let before: Sample | undefined;
  const push = (values: readonly (number | null)[]): void =>
    all.forEach((column, at) => void column.push(values[at] ?? null));
  for (const sample of samples) {
    if (before && sample.number > before.number + 1) push([(before.at_s + sample.at_s) / 2]);
    push([sample.at_s, ...read(sample)]);
    before = sample;
  }
  return all;
}

/** Returns the columns of a strip: time first, then two for each queue. A line breaks where a queue is missing. */
export function columns(
  samples: readonly Sample[],
  chosen: readonly Pick<QueueLifetime, "port" | "queue">[],
  strip: number,
): Column[] {
  return table(samples, 2 * chosen.length, (sample) =>
    chosen.flatMap(({ port, queue: name }): [number | null, number | null] => {
      const queue = portAt(sample, port)?.queues.find((one) => one.name === name);
      if (queue === undefined) return [null, null];
      if (strip === RATE) return [queue.sent_bps, queue.offered_bps];
      if (strip === DELAY) return [delayOf(queue), queue.sojourn_p50_s];
      if (strip === 2) return [queue.packets, queue.peak_packets];
      return [queue.dropped_packets, queue.marked_packets];
    }),
  );
}

/** Returns the columns of a strip of a flow: time first, then two. */
export function flowColumns(samples: readonly Sample[], name: string, strip: number): Column[] {
  return table(samples, 2, (sample): [number | null, number | null] => {
    const flow = sample.flows.find((one) => one.name === name);
    if (flow === undefined) return [null, null];
    if (strip === RATE) return [flow.received_bps, flow.offered_bps];
    if (strip === DELAY) return [flow.owd_p99_s, flow.owd_p50_s];
    if (strip === 2) return [flow.cwnd_bytes, null];
    return [flow.lost_packets, null];
  });
}

/** Returns the columns of a group: time first, then the delays of half, 95 %, 99 % and all of the members. */
export function groupColumns(samples: readonly Sample[], name: string): Column[] {
  return table(samples, 4, (sample) => {
    const group = sample.groups?.find((one) => one.name === name);
    return group === undefined
      ? [null, null, null, null]
      : [group.owd_p50_s, group.owd_p95_s, group.owd_p99_s, group.owd_max_s];
  });
}
