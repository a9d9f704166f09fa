/**
 * Access to parts of a sample by their index in the scenario: a sample of a large network leaves most of them
 * out.
 */
import { quantity } from "../format";
import type { PortSample, QueueSample, Sample } from "../generated/lockgate";

/** Returns the port with this index in the scenario's order, if the sample has it. */
export function portAt(sample: Sample | undefined, index: number): PortSample | undefined {
  const there = sample?.ports[index];
  return there?.index === index ? there : sample?.ports.find((port) => port.index === index);
}

/** Returns the delay of a queue: the 99th percentile, or the mean where packets are not timed, as in the kernel. */
export const delayOf = (queue: QueueSample): number | null => queue.sojourn_p99_s ?? queue.sojourn_mean_s;

/** Returns the time that rates, delays and counts of a sample are of, in words; empty without a sample. */
export const spanOf = (sample: Sample | undefined): string =>
  sample === undefined ? "" : `in the last ${quantity(sample.interval_s, "s")}`;

/** Returns whether the sample leaves out queues. */
export const isFolded = (sample: Sample | undefined): boolean => (sample?.left_out.queues ?? 0) > 0;
