/** Which port and queue the page is about: the reader's choice for as long as the port exists, before that the busiest. */
import type { PortSample } from "../generated/lockgate";

export class Choice {
  port = -1;
  queue = "";
  #own = false;
  /** The most packets that ever waited, by port. */
  readonly #peaks: number[] = [];

  /** The reader's choice: it stays, however idle the port becomes. */
  choose(port: number, queue: string): void {
    [this.port, this.queue, this.#own] = [port, queue, true];
  }

  /** Follows a sample: to the busiest port until the reader chooses, and to the root of the tree where the queue is gone. */
  follow(ports: readonly PortSample[]): void {
    ports.forEach((port, index) => {
      this.#peaks[index] = Math.max(this.#peaks[index] ?? 0, port.queues[0]?.peak_packets ?? 0);
    });
    if (!this.#own) {
      // Twice as much, so that it does not go to and fro between two.
      const busier = this.#peaks.findIndex(
        (peak) => peak === Math.max(...this.#peaks) && peak > 2 * (this.#peaks[this.port] ?? -1),
      );
      if (busier >= 0) [this.port, this.queue] = [busier, ""];
    }
    const queues = ports[this.port]?.queues ?? [];
    if (!queues.some((queue) => queue.name === this.queue)) this.queue = queues[0]?.name ?? this.queue;
  }
}
