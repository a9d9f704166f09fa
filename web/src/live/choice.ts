/**
 * Port and queue that the page shows: the reader's choice while that port exists, before a choice the port
 * where packets wait longest, as in the terminal, and its queue that hurts.
 */
import type { PortSample, QueueSample, Sample } from "../generated/lockgate";
import { delayOf, isFolded, portAt } from "./parts";

/** Part of a wait that counts in the next sample: what is over is left behind within some samples. */
const MEMORY = 0.9;

/** Returns the longest wait of a port in seconds; of a queue that holds packets and sent none, the interval. */
const wait = (port: PortSample, interval: number): number =>
  Math.max(0, ...port.queues.map((queue) => delayOf(queue) ?? (queue.packets > 0 ? interval : 0)));

/** Returns the leaf that hurts, of several the one with the longest delay; undefined if none does. */
function worstLeaf({ queues }: PortSample): QueueSample | undefined {
  const isLeaf = ({ place }: QueueSample): boolean => !queues.some(({ parent }) => parent === place);
  const hurting = queues.filter((queue) => queue.pain && isLeaf(queue));
  return hurting.sort((a, b) => (delayOf(b) ?? 0) - (delayOf(a) ?? 0))[0];
}

export class Choice {
  port = -1;
  queue = "";
  #own = false;
  /** Longest wait of late, by port. */
  readonly #waits = new Map<number, number>();

  /** Sets the reader's choice, which stays however idle the port becomes. */
  choose(port: number, queue: string): void {
    [this.port, this.queue, this.#own] = [port, queue, true];
  }

  /**
   * Updates the choice by a sample: to the port with the longest wait until the reader chooses, and to the
   * tree's root if the queue is gone.
   */
  follow(sample: Sample | undefined): void {
    for (const port of sample?.ports ?? []) {
      const before = MEMORY * (this.#waits.get(port.index) ?? 0);
      this.#waits.set(port.index, Math.max(before, wait(port, sample?.interval_s ?? 0)));
    }
    if (!this.#own) {
      const longest = Math.max(0, ...this.#waits.values());
      const [worst] = [...this.#waits].find(([, wait]) => wait === longest) ?? [-1];
      // Only to a port with twice the wait, so that the choice does not alternate between two.
      if (worst >= 0 && (this.port < 0 || longest > 2 * (this.#waits.get(this.port) ?? 0)))
        [this.port, this.queue] = [worst, ""];
    }
    const port = portAt(sample, this.port);
    const queues = port?.queues ?? [];
    // One that hurts no longer stays, until another does.
    if (!this.#own && port) this.queue = worstLeaf(port)?.name ?? this.queue;
    // A queue that the reader found by name may not be in this sample yet.
    if (isFolded(sample) && this.queue !== "") return;
    if (!queues.some((queue) => queue.name === this.queue)) this.queue = queues[0]?.name ?? this.queue;
  }
}
