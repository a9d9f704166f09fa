/** What the page of a run, a router or a kernel offers, and how it speaks of the time at which frames leave. */
import type { FidelitySample, RouterSample, Status } from "../generated/lockgate";
import { time } from "./quantities";

const hasRun = ({ mode }: Pick<Status, "mode">): boolean => mode !== "route" && mode !== "kernel";

/** True if a scenario can replay what is shown: the policy of a router is its file, and a kernel has none. */
export const canBeSaved = hasRun;

/** Returns the keys that have an effect. */
export function keysOf(status: Pick<Status, "mode">, readOnly: boolean): string {
  const keys = [
    "↑ ↓ queue",
    ...(hasRun(status) ? ["a click on a flow shows it over time"] : []),
    "space pause",
    ...(readOnly ? [] : ["m mark"]),
    "[ ] scrub",
  ];
  const sets = readOnly ? "" : " Enter sets a knob.";
  return `Keys: ${keys.join(", ")}.${sets} Samples are shown as they came; a missing one is a gap.`;
}

/** Returns how late frames leave, in words; the reasons for doubt are those that nothing else on the page says. */
export function fidelityOf(
  fidelity: FidelitySample,
  router: RouterSample | null | undefined,
): { text: string; ok: boolean; title: string; reasons: string } {
  const ok = fidelity.unfaithful.length === 0;
  // Of a router it is of the last interval; in one without traffic nothing is late.
  const late = fidelity.late_p99_s === null ? "" : `frames leave ${time(fidelity.late_p99_s)} late (p99) `;
  const isRun = router === undefined || router === null;
  const doubt = isRun ? "not faithful" : "alarm";
  const title = isRun
    ? "How late frames were handed over by this machine so far: within the limits of a faithful run"
    : "How late frames left in the last interval";
  const reasons = fidelity.unfaithful.filter((reason) => reason !== router?.bypass).join("; ");
  return {
    text: `${late}${ok ? (late === "" ? "" : "✓") : `⚠ ${doubt}`}`,
    ok,
    title: ok ? title : fidelity.unfaithful.join("\n"),
    reasons,
  };
}
