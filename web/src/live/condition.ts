/** Condition of what runs, in words: what hurts, how full each link is, and the policy of a router. */
import { h, update } from "../dom";
import { micro } from "../format";
import type { PortSample, RouterSample, Sample, Status } from "../generated/lockgate";
import { rate } from "./quantities";

/** Largest number of ports in words, those that use most of their rates first. */
const MOST_PORTS = 4;

/** Formats a time that is left: `4:12`. */
export const left = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

/** Returns the use of the links whose rates are known: `wan 9.21 of 9.50 Mbit/s`. */
export function usesOf(ports: readonly PortSample[]): { text: string; full: boolean }[] {
  const known = ports.flatMap((port) => (port.rate_bps ? [{ port, of: port.rate_bps }] : []));
  const use = ({ port, of }: (typeof known)[number]): number => port.sent_bps / of;
  return known
    .sort((a, b) => use(b) - use(a))
    .slice(0, MOST_PORTS)
    .map((one) => ({
      text: `${one.port.name} ${rate(one.port.sent_bps)}bit/s of ${rate(one.of)}bit/s`,
      full: one.port.is_full === true,
    }));
}

/** Returns the policy of a router in words, and whether it asks for something. */
export function policyOf(router: RouterSample): { text: string; urgent: boolean }[] {
  const told: { text: string; urgent: boolean }[] = [];
  const trial =
    router.revert_s === undefined || router.revert_s === null
      ? ""
      : `, goes back in ${left(router.revert_s)}`;
  if (router.policy > 0)
    told.push(
      router.is_on_trial
        ? { text: `policy ${router.policy} on trial${trial}: \`lockgate confirm\` keeps it`, urgent: true }
        : { text: `policy ${router.policy} confirmed`, urgent: false },
    );
  for (const alert of router.alerts ?? []) told.push({ text: `alert ${alert}`, urgent: true });
  const lost = router.lost_by.reduce((sum, [, frames]) => sum + frames, 0);
  if (lost > 0) told.push({ text: `${lost} frames lost outside the queues`, urgent: true });
  if (router.bypass !== "") told.push({ text: `frames bypass the router: ${router.bypass}`, urgent: true });
  else if (router.bypassed_frames > 0)
    told.push({ text: `${router.bypassed_frames} frames bypassed the router`, urgent: false });
  return told;
}

export class Condition {
  readonly #hurts = h("p", { class: "hurts", role: "status" });
  readonly #facts = h("p", { class: "facts" });
  readonly element = h("div", { class: "condition" }, this.#facts, this.#hurts);

  draw(status: Status, sample: Sample | undefined): void {
    const hurts = sample?.hurts ?? "";
    const said = hurts === "" ? "No queue hurts." : `Hurts: ${micro(hurts)}`;
    if (this.#hurts.textContent !== said) this.#hurts.textContent = said;
    this.#hurts.classList.toggle("bad", hurts !== "");
    // A run has its expectations and its picture for that.
    const isOperated = status.mode === "route" || status.mode === "kernel";
    const [, ...notes] = status.title.split("; ");
    const uses = isOperated ? usesOf(sample?.ports ?? []) : [];
    const policy = sample?.router ? policyOf(sample.router) : [];
    update(this.#facts, [
      ...uses.map(({ text, full }) =>
        h("span", { class: full ? "full" : "" }, full ? `${text}, full` : text),
      ),
      ...policy.map(({ text, urgent }) => h("span", { class: urgent ? "urgent" : "" }, text)),
      ...(status.mode === "kernel" ? notes.map((note) => h("span", { class: "note" }, micro(note))) : []),
    ]);
    this.#facts.hidden = this.#facts.childElementCount === 0;
  }
}
