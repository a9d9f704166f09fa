/** Unit of a metric's address, so that an expectation is shown in ms instead of bare seconds. */
import type { Definition } from "./report";

const BY_NAME: [pattern: RegExp, unit: string][] = [
  [/(^|_)(owd|ipdv|pdv|iat|fct|sojourn|queueing|serialisation|propagation|jitter|delay)(_|$)/, "s"],
  [/(^|_)(throughput|goodput|rate)(_|$)/, "bit/s"],
  [/(^|_)(loss|utilisation|ratio|reordered)(_|$)/, "ratio"],
  [/(^|_)bytes(_|$)/, "B"],
];

/**
 * Returns the unit of an address such as `flow.voice.owd.p99`: that of the last matching definition,
 * otherwise by its words.
 */
export function unitOf(path: string, definitions: readonly Definition[]): string {
  const segments = path
    .replace(/"[^"]*"/g, "x")
    .split(".")
    .reverse();
  for (const segment of segments) {
    const defined = definitions.find((definition) => definition.name === segment);
    if (defined) return defined.unit;
    const known = BY_NAME.find(([pattern]) => pattern.test(segment));
    if (known) return known[1];
  }
  return "";
}
