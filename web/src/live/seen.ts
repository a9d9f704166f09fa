/** Which queues a port has had, and when: after its tree is swapped the old ones are still drawn, in their colours, to their ends. */
import type { Sample } from "../generated/lockgate";

/** A queue that was there: its colour for as long as the page is open, and when it was first and last in a sample. */
export interface Seen {
  port: number;
  queue: string;
  slot: number;
  first: number;
  last: number;
}

/** Queues drawn at most. */
const MOST = 8;

export class History {
  readonly #ports = new Map<number, Seen[]>();
  #last = -1;

  /** Takes in the samples that are new since the last time. */
  take(samples: readonly Sample[]): void {
    let from = samples.length;
    while (from > 0 && (samples[from - 1] as Sample).number > this.#last) from -= 1;
    for (const sample of samples.slice(from)) {
      this.#last = sample.number;
      sample.ports.forEach((port, index) => {
        const known = this.#ports.get(index) ?? [];
        this.#ports.set(index, known);
        for (const { name } of port.queues) {
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
      });
    }
  }

  /** The queues of a port within a window of time, those that lasted longest into it first where they are too many. */
  within(port: number, from: number, to: number): Seen[] {
    const all = (this.#ports.get(port) ?? []).filter((seen) => seen.last >= from && seen.first <= to);
    return all.length <= MOST
      ? all
      : [...all]
          .sort((a, b) => b.last - a.last || a.slot - b.slot)
          .slice(0, MOST)
          .sort((a, b) => a.slot - b.slot);
  }

  /** The slot of a queue's colour; -1 of one that was never seen. */
  slotOf(port: number, queue: string): number {
    return this.#ports.get(port)?.find((seen) => seen.queue === queue)?.slot ?? -1;
  }
}
