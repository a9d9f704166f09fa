/**
 * Queues that a port has had, and when: after its tree is replaced, the old queues are still drawn, in their
 * colours, up to their end.
 */
import type { Sample } from "../generated/lockgate";
import { COLOURS } from "../palette";
import { samplesAfter } from "./feed";

/**
 * A queue of a sample: its colour as long as the page is open, and the times of its first and last sample.
 */
export interface QueueLifetime {
  port: number;
  queue: string;
  slot: number;
  first: number;
  last: number;
}

/** Largest number of queues drawn, which are as many as can be told apart. */
const MOST = COLOURS;

export class History {
  readonly #ports = new Map<number, QueueLifetime[]>();
  #last = -1;

  /** Adds the samples that are new since the last call. */
  take(samples: readonly Sample[]): void {
    for (const sample of samplesAfter(samples, this.#last)) {
      this.#last = sample.number;
      for (const { index, queues } of sample.ports) {
        const known = this.#ports.get(index) ?? [];
        this.#ports.set(index, known);
        for (const { name } of queues) {
          const seen = known.find((one) => one.queue === name);
          if (seen) seen.last = sample.at_s;
          else
            known.push({
              port: index,
              queue: name,
              slot: known.length,
              first: sample.at_s,
              last: sample.at_s,
            });
        }
      }
    }
  }

  /**
   * Returns the queues of a port within a window of time. If they are too many: the selected one, and those
   * with the latest ends.
   */
  within(port: number, selected: string, from: number, to: number): QueueLifetime[] {
    const all = (this.#ports.get(port) ?? []).filter((seen) => seen.last >= from && seen.first <= to);
    const first = (seen: QueueLifetime): number => Number(seen.queue === selected);
    return all.length <= MOST
      ? all
      : [...all]
          .sort((a, b) => first(b) - first(a) || b.last - a.last || a.slot - b.slot)
          .slice(0, MOST)
          .sort((a, b) => a.slot - b.slot);
  }

  /** Returns the index of a queue's colour; -1 for a queue that was never in a sample. */
  slotOf(port: number, queue: string): number {
    return this.#ports.get(port)?.find((seen) => seen.queue === queue)?.slot ?? -1;
  }
}
