/**
 * Access to parts of a sample by their index in the scenario: a sample of a large network leaves most of them
 * out.
 */
import type { PortSample, Sample } from "../generated/lockgate";

/** Returns the port with this index in the scenario's order, if the sample has it. */
export function portAt(sample: Sample | undefined, index: number): PortSample | undefined {
  const there = sample?.ports[index];
  return there?.index === index ? there : sample?.ports.find((port) => port.index === index);
}

/** Returns whether the sample leaves out queues. */
export const isFolded = (sample: Sample | undefined): boolean => (sample?.left_out.queues ?? 0) > 0;
