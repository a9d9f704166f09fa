/**
 * Port and queue that the page shows: the reader's choice while that port exists, before a choice the
 * busiest.
 */
import type { Sample } from "../generated/lockgate";
import { isFolded, portAt } from "./parts";

export class Choice {
  port = -1;
  queue = "";
  #own = false;
  /** Largest number of packets that have waited at once, by port. */
  readonly #peaks = new Map<number, number>();

  /** Sets the reader's choice, which stays however idle the port becomes. */
  choose(port: number, queue: string): void {
    [this.port, this.queue, this.#own] = [port, queue, true];
  }

  /**
   * Updates the choice by a sample: to the busiest port until the reader chooses, and to the tree's root if
   * the queue is gone.
   */
  follow(sample: Sample | undefined): void {
    for (const port of sample?.ports ?? [])
      this.#peaks.set(
        port.index,
        Math.max(this.#peaks.get(port.index) ?? 0, port.queues[0]?.peak_packets ?? 0),
      );
    if (!this.#own) {
      const most = Math.max(0, ...this.#peaks.values());
      const [busiest] = [...this.#peaks].find(([, peak]) => peak === most) ?? [-1];
      // Only to a port with twice the backlog, so that the choice does not alternate between two.
      if (busiest >= 0 && most > 2 * (this.#peaks.get(this.port) ?? -1))
        [this.port, this.queue] = [busiest, ""];
    }
    const queues = portAt(sample, this.port)?.queues ?? [];
    // A queue that the reader found by name may not be in this sample yet.
    if (isFolded(sample) && this.queue !== "") return;
    if (!queues.some((queue) => queue.name === this.queue)) this.queue = queues[0]?.name ?? this.queue;
  }
}
