/** Data of the strips as columns of numbers. */
import type { Sample } from "../generated/lockgate";
import type { QueueLifetime } from "./history";
import { portAt } from "./parts";

export type Column = (number | null)[];

/**
 * Returns the columns of a strip: time first, then two for each queue. Lines break where samples or a queue
 * are missing.
 */
export function columns(
  samples: readonly Sample[],
  chosen: readonly Pick<QueueLifetime, "port" | "queue">[],
  strip: number,
): Column[] {
  const all: Column[] = [[], ...chosen.flatMap(() => [[], []] as Column[])];
  let before: Sample | undefined;
  for (const sample of samples) {
    if (before && sample.number > before.number + 1) {
      (all[0] as Column).push((before.at_s + sample.at_s) / 2);
      for (const column of all.slice(1)) column.push(null);
    }
    (all[0] as Column).push(sample.at_s);
    chosen.forEach(({ port, queue: name }, index) => {
      const queue = portAt(sample, port)?.queues.find((queue) => queue.name === name);
      const pair: [number | null, number | null] =
        queue === undefined
          ? [null, null]
          : strip === 0
            ? [queue.sent_bps, queue.offered_bps]
            : strip === 1
              ? [queue.sojourn_p99_s, queue.sojourn_p50_s]
              : strip === 2
                ? [queue.packets, queue.peak_packets]
                : [queue.dropped_packets, queue.marked_packets];
      (all[1 + 2 * index] as Column).push(pair[0]);
      (all[2 + 2 * index] as Column).push(pair[1]);
    });
    before = sample;
  }
  return all;
}
