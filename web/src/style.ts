/**
 * Style of a curve of one flow in one run: colour and stroke by flow, and a mark for further runs. Where several modes
 * meet, the stroke is that of the mode.
 */

import type { KeyEntry, KeyGroup } from "./figure";
import type { Run } from "./generated/lockgate";
import { COLOURS, type Dash, dashOf, type Ink, MARKS, MODE_NAMES, STROKES, strokeOf } from "./palette";
import type { ShownRun, View } from "./selection";
import { lookOf } from "./variants";

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

/** Returns whether marks stand for flows: strokes are those of modes, and no mode has a further run. */
function areMarksOfFlows(view: View): boolean {
  const { runs } = view.report;
  return view.mixed && !isByRun(view) && new Set(runs.map((run) => run.mode)).size === runs.length;
}

export function styleOf(view: View, ink: Ink, shown: ShownRun, flow: string): Style {
  const variants = isByRun(view) ? view.report.variants : null;
  if (variants) {
    const { colour, mark } = lookOf(variants, shown.index);
    return {
      colour: ink.series[colour % ink.series.length] as string,
      dash: strokeOf(colour),
      mark: MARKS[mark % MARKS.length] ?? null,
      phase: (mark * 0.37 + 0.5) % 1,
    };
  }
  const slot = isByRun(view) ? shown.index : view.slotOf(flow);
  // When the colours start again, the marks are shifted by one, so that no two runs look alike.
  const place = ordinal(view, shown);
  const again = isByRun(view) ? Math.floor(place / COLOURS) : 0;
  const mark = areMarksOfFlows(view) ? slot : place + again;
  // Runs are told apart by their marks, and need strokes only when these start again.
  const stroke = isByRun(view) ? (STROKES[again % STROKES.length] ?? null) : strokeOf(slot);
  return {
    colour: ink.series[slot % ink.series.length] as string,
    dash: view.mixed ? dashOf(shown.run.mode) : stroke,
    mark: MARKS[mark % MARKS.length] ?? null,
    phase: (mark * 0.37 + 0.5) % 1,
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

/** Returns the key of figures of flows, and of runs if several are shown; without flows that a figure does not draw. */
export function flowKey(view: View, ink: Ink, isDrawn: (flow: string) => boolean = () => true): KeyGroup[] {
  const groups: KeyGroup[] = [];
  const alone = isByRun(view);
  const marked = areMarksOfFlows(view);
  const [first] = view.runs;
  groups.push({
    label: "Flow",
    entries: view.flows.filter(isDrawn).map((flow): KeyEntry => {
      if (alone || !first) return { label: flow, colour: ink.text, kind: "swatch", flow };
      const { colour, dash, mark } = styleOf(view, ink, first, flow);
      return {
        label: flow,
        colour,
        kind: view.mixed && !marked ? "swatch" : "line",
        dash: view.mixed ? null : dash,
        mark: marked ? mark : null,
        flow,
      };
    }),
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
          dash: alone || view.mixed ? style.dash : null,
          mark: marked ? null : style.mark,
        };
      }),
    });
  }
  return groups;
}
