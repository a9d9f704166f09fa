/**
 * Style of a curve of one flow in one run: colour by flow, stroke by mode, and a mark for further runs of one
 * mode.
 */

import type { KeyEntry, KeyGroup } from "./figure";
import { type Dash, dashOf, type Ink, MARKS, MODE_NAMES } from "./palette";
import type { Run } from "./report";
import type { ShownRun, View } from "./selection";

export interface Style {
  colour: string;
  dash: Dash;
  mark: string | null;
  /**
   * Offset of the marks along a curve, 0 to 1 of their spacing, so that those of several runs do not overlap.
   */
  phase: number;
}

/** Returns whether colours stand for runs, because there is only a single flow. */
export const isByRun = (view: View): boolean => view.flows.length <= 1 && view.runs.length > 1;

/** Returns the index of a run among those of its mode. */
function ordinal(view: View, shown: ShownRun): number {
  return view.report.runs.slice(0, shown.index).filter((run) => run.mode === shown.run.mode).length;
}

export function styleOf(view: View, ink: Ink, shown: ShownRun, flow: string): Style {
  const variant = isByRun(view) ? view.report.variants?.variants[shown.index] : undefined;
  if (variant) {
    return {
      colour: ink.series[variant.colour % ink.series.length] as string,
      dash: dashOf(shown.run.mode, view.mixed),
      mark: MARKS[variant.mark % MARKS.length] ?? null,
      phase: (variant.mark * 0.37 + 0.5) % 1,
    };
  }
  const slot = isByRun(view) ? shown.index : view.slotOf(flow);
  // When the colours start again, the marks are shifted by one, so that no two runs look alike.
  const place = ordinal(view, shown);
  const mark = isByRun(view) ? place + Math.floor(place / ink.series.length) : place;
  return {
    colour: ink.series[slot % ink.series.length] as string,
    dash: dashOf(shown.run.mode, view.mixed),
    mark: MARKS[mark % MARKS.length] ?? null,
    phase: (place * 0.37 + 0.5) % 1,
  };
}

/** Returns the name of a run: `fifo (simulation)`; only the mode if that is the label. */
export function runName({ label, mode }: Pick<Run, "label" | "mode">): string {
  const name = MODE_NAMES[mode];
  return label === mode || label === name ? name : `${label} (${name})`;
}

/** Returns a run's name in a key. A variant is named by its values, because all variants are of one mode. */
const keyName = (view: View, { run }: ShownRun): string => (view.report.variants ? run.label : runName(run));

/** Returns a run's name beside that of a row: empty for a single run, its label if labels differ. */
export function runShort(view: View, shown: ShownRun): string {
  if (view.runs.length <= 1) return "";
  const labels = new Set(view.runs.map(({ run }) => run.label));
  return labels.size === view.runs.length ? shown.run.label : runName(shown.run);
}

/** Returns the name of a curve: `voice`, or `voice, fifo (simulation)` if several runs are shown. */
export function curveName(view: View, shown: ShownRun, flow: string): string {
  return view.runs.length > 1 ? `${flow}, ${keyName(view, shown)}` : flow;
}

/** Returns the key of figures of flows: flows by colour, runs by stroke; without flows that a figure does not draw. */
export function flowKey(view: View, ink: Ink, isDrawn: (flow: string) => boolean = () => true): KeyGroup[] {
  const groups: KeyGroup[] = [];
  const alone = isByRun(view);
  groups.push({
    label: "Flow",
    entries: view.flows.filter(isDrawn).map((flow) => ({
      label: flow,
      colour: alone ? ink.text : (ink.series[view.slotOf(flow) % ink.series.length] as string),
      kind: "swatch",
      flow,
    })),
  });
  // A single run is named in the page's title, and in a file by its configuration.
  if (view.runs.length > 1) {
    groups.push({
      label: view.report.variants ? "Variant" : "Run",
      entries: view.runs.map((shown): KeyEntry => {
        const style = styleOf(view, ink, shown, view.flows[0] ?? "");
        return {
          label: keyName(view, shown),
          colour: alone ? style.colour : ink.soft,
          kind: "line",
          dash: style.dash,
          mark: style.mark,
        };
      }),
    });
  }
  return groups;
}
