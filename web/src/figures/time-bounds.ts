/** Bounds of expectations as lines of a figure over time. */
import type { extent } from "../axis";
import { quantity, shortened } from "../format";
import type { Run } from "../generated/lockgate";
import { limitsOf } from "../report";
import { isOfFlow, panelOf, type View } from "../selection";
import { DELAY, RATE } from "./time-curves";

/** A bound up to so many times the largest value is drawn; the axis ends before one beyond. */
export const REACHED = 4;

/** Bound of an expectation on flows that a panel draws. */
export interface BoundLine {
  panel: number;
  value: number;
  words: string;
  /** Part of the run on which it is judged, in seconds; null for all of it. */
  during: readonly [number, number] | null;
  /** Flows that must stay below it; none if it is a lower bound. */
  below: readonly string[];
  /** True if it bounds a high percentile or the largest value. */
  isTail: boolean;
}

const SECONDS: Record<string, number> = { ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

/** Group whose members' rates together an expectation bounds, and which are all shown. */
export interface SummedGroup {
  group: string;
  flows: readonly string[];
}

/** Returns the groups of a run of which the sum of the rates is judged, and of which all members are shown. */
export function summedOf(view: View, run: Run): SummedGroup[] {
  const groups = run.summary.expect.flatMap(({ that }) => {
    const [, group] = /^group\.([^."']+)\.(?:goodput|throughput)\.sum$/.exec(duringOf(that).address) ?? [];
    return group === undefined ? [] : [group];
  });
  return [...new Set(groups)].flatMap((group) => {
    const flows = run.flows.map(({ name }) => name).filter((name) => isOfFlow(`group.${group}.`, name));
    const isShown = flows.length > 1 && flows.every((flow) => view.flows.includes(flow));
    return isShown ? [{ group, flows }] : [];
  });
}

/** Splits an address from the part of the run behind it: `flow.call.owd.p99 @ 10s..20s`. */
export function duringOf(that: string): { address: string; during: readonly [number, number] | null } {
  const [address = "", part] = that.split(/\s*@\s*/);
  const ends = (part?.split("..") ?? []).map((text) => {
    const [, count, unit = ""] = /^([\d.]+)\s*([a-z]+)$/.exec(text.trim()) ?? [];
    return Number(count) * (SECONDS[unit] ?? Number.NaN);
  });
  const [from = Number.NaN, to = Number.NaN] = ends;
  return { address, during: from < to ? [from, to] : null };
}

/** Returns the bounds of the expectations on single flows that are shown, each once. */
export function boundsOf(view: View): BoundLine[] {
  const found = new Map<string, BoundLine>();
  for (const { run } of view.runs) {
    for (const expect of run.summary.expect) {
      const { address: that, during } = duringOf(expect.that);
      const { low, high } = limitsOf(expect);
      // Times to an answer have no curve to be compared with; a sum over a group has one if all members are shown.
      const kind = panelOf(that);
      const flows = view.flows.filter((flow) => isOfFlow(that, flow));
      const drawn = kind === "rate" || /\.owd\./.test(that);
      const isSum = /\.sum$/.test(that);
      const isSummed = summedOf(view, run).some(({ group }) => that.startsWith(`group.${group}.`));
      if (flows.length === 0 || !drawn || /\.(mos|r_factor)$/.test(that) || (isSum && !isSummed)) continue;
      const panel = kind === "rate" ? RATE : DELAY;
      const unit = kind === "rate" ? "bit/s" : "s";
      for (const [value, sign] of [
        [high, "<"],
        [low, ">"],
      ] as const) {
        if (value === null) continue;
        const key = `${panel} ${value} ${during?.join("..") ?? ""}`;
        const named = found.get(key)?.words.replace(/ [<>].*$/, "");
        const subject = that.replace(/^(flow|group)\.("[^"]*"|[^.]*)\..*$/, "$2").replaceAll('"', "");
        const name = isSum ? `${subject} in sum` : subject;
        const names =
          named === undefined ? name : named.split(", ").includes(name) ? named : `${named}, ${name}`;
        const words = `${shortened(names, 40)} ${sign} ${quantity(value, unit)}`;
        const others = found.get(key)?.below ?? [];
        const below = sign === "<" ? [...new Set([...others, ...flows])] : [];
        found.set(key, { panel, value, words, during, below, isTail: /\.(p9\d*|max)\b/.test(that) });
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
