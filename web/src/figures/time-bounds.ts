/** Bounds of expectations as lines of a figure over time. */
import type { extent } from "../axis";
import { quantity, shortened } from "../format";
import { isOfFlow, panelOf, type View } from "../selection";

/** A bound up to so many times the largest value is drawn; the axis ends before one beyond. */
const REACHED = 4;

/** Bound of an expectation on flows that a panel draws. */
export interface BoundLine {
  panel: number;
  value: number;
  words: string;
}

/** Returns the bounds of the expectations on single flows that are shown, each once. */
export function boundsOf(view: View): BoundLine[] {
  const found = new Map<string, BoundLine>();
  for (const { run } of view.runs) {
    for (const { that, low, high } of run.summary.expect) {
      // A sum over a group has no curve to be compared with, nor have times to an answer.
      const kind = panelOf(that);
      const flows = view.flows.filter((flow) => isOfFlow(that, flow));
      const drawn = kind === "rate" || /\.owd\./.test(that);
      if (flows.length === 0 || !drawn || /\.(sum|mos|r_factor)$/.test(that)) continue;
      const panel = kind === "rate" ? 0 : 1;
      const unit = kind === "rate" ? "bit/s" : "s";
      for (const [value, sign] of [
        [high, "<"],
        [low, ">"],
      ] as const) {
        if (value === null) continue;
        const key = `${panel} ${value}`;
        const named = found.get(key)?.words.replace(/ [<>].*$/, "");
        const name = that.replace(/^(flow|group)\.("[^"]*"|[^.]*)\..*$/, "$2").replaceAll('"', "");
        const names =
          named === undefined ? name : named.split(", ").includes(name) ? named : `${named}, ${name}`;
        found.set(key, { panel, value, words: `${shortened(names, 40)} ${sign} ${quantity(value, unit)}` });
      }
    }
  }
  return [...found.values()];
}

/** Returns a range that reaches those of the bounds that are not far beyond it. */
export function reaching(
  range: ReturnType<typeof extent>,
  bounds: readonly number[],
): ReturnType<typeof extent> {
  if (range === null) return null;
  const near = bounds.filter((bound) => bound <= range[1] * REACHED);
  return [Math.min(range[0], ...near), Math.max(range[1], ...near)];
}
