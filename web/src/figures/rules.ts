/** Rules (vertical lines) of a figure over time: the events of its runs. */
import { eventText } from "../events";
import { significant } from "../format";
import type { EventData } from "../generated/lockgate";
import type { ShownRun, View } from "../selection";

/** Largest number of rules that are labelled. */
export const LABELLED = 24;

export interface Rule extends EventData {
  run: ShownRun;
}

/**
 * Returns the events in the order of their times. The same event at about the same time in several runs is one
 * rule.
 */
export function rulesOf(view: View): Rule[] {
  const seen = new Map<string, number>();
  const near = Math.max(
    ...view.runs.map(({ run }) => Math.max(run.interval_s, run.summary.duration_s / 1000)),
    1e-3,
  );
  return view.runs
    .flatMap((run) => run.run.events.map((event) => ({ ...event, run })))
    .sort((a, b) => a.at_s - b.at_s)
    .filter((event) => {
      const identity = JSON.stringify([event.kind, event.path, event.value, event.text]);
      const before = seen.get(identity);
      if (before !== undefined && event.at_s - before <= near) return false;
      seen.set(identity, event.at_s);
      return true;
    });
}

/** Returns the events in one text, for a file, which has no list of events beside it. */
export function asideOf(rules: readonly Rule[]): string {
  if (rules.length === 0 || rules.length > LABELLED) return "";
  return `Events: ${rules.map((rule) => `at ${significant(rule.at_s, 6)} s ${eventText(rule)}`).join("; ")}.`;
}
