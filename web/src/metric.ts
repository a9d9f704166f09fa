/** Unit of a metric's address, so that an expectation is shown in ms instead of bare seconds. */
import { METRICS } from "./generated/metrics";

/** Returns the unit of an address such as `flow.voice.owd.p99`; of an unknown metric, none. */
export function unitOf(path: string): string {
  const segments = path.replace(/"(?:[^"\\]|\\.)*"/g, "x").split(".");
  const [about, index] = subjectOf(segments);
  const name = segments[index];
  const find = (kind: string): string | undefined =>
    METRICS.find(([known, of]) => known === name && of === kind)?.[2];
  // A group has the metrics of its members, too.
  return find(about) ?? (about === "group" ? find("flow") : undefined) ?? "";
}

/** Returns the kind of the subject of an address, and the index of the segment that names the metric. */
function subjectOf(segments: readonly string[]): [about: string, index: number] {
  switch (segments[0]) {
    case "flow":
      return ["flow", 2];
    case "group":
      return ["group", segments[2] === "bin" ? 4 : 2];
    case "port":
      return segments[2] === "queue" ? ["queue", 4] : ["port", 2];
    default:
      return ["run", 0];
  }
}
