/** Curves of the same run without a change, grey beneath the delays that it had with it. */
import type { KeyGroup } from "../figure";
import type { Ink } from "../palette";
import type { ShownRun, View } from "../selection";
import { type Curve, DELAY } from "./time-curves";

/** Returns the entry of the key for these curves, if there are any. */
export function ghostKey(view: View, ink: Ink): KeyGroup[] {
  const has = view.runs.some(({ run }) =>
    (run.ghosts ?? []).some(({ flows }) => flows.some(({ name }) => view.flows.includes(name))),
  );
  const label = "without the change";
  return has ? [{ label: "Delay", entries: [{ label, colour: ink.soft, kind: "line", thin: true }] }] : [];
}

/** Returns the delays of the shown flows without each change, from the change until the next. */
export function ghostCurves(view: View, shown: ShownRun, ink: Ink): Curve[] {
  const curves: Curve[] = [];
  for (const [number, ghost] of (shown.run.ghosts ?? []).entries()) {
    const end = ghost.time_s.findIndex((time) => time > ghost.to_s);
    const rows = end < 0 ? ghost.time_s.length : end;
    for (const flow of ghost.flows) {
      if (!view.flows.includes(flow.name)) continue;
      curves.push({
        id: `${shown.index} ghost ${number} ${flow.name}`,
        of: flow.name,
        panel: DELAY,
        x: ghost.time_s.slice(0, rows),
        y: flow.owd_p50_s.slice(0, rows),
        colour: ink.soft,
        dash: null,
        mark: null,
        phase: 0,
        width: 1,
        opacity: 0.5,
        area: false,
      });
    }
  }
  return curves;
}
