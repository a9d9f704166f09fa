/** Condition of what runs, in words: what hurts, how full each link is, and the policy of a router. */
import { coded, h, update, writeCoded } from "../dom";
import { micro, significant } from "../format";
import type { EventSample, PortSample, RouterSample, Sample, Status } from "../generated/lockgate";
import { samplesAfter } from "./feed";
import { rate } from "./quantities";

/** Largest number of ports in words, those that use most of their rates first. */
const MOST_PORTS = 4;

/** Time in seconds from which it is said how long something has hurt. */
const LASTING_S = 3;

/** Time in seconds after a change within which it is named beside what begins to hurt. */
const SOON_S = 10;

/** Formats a time in minutes: `4:12`. */
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
  readonly #told = h("span");
  readonly #advice = h("span", { class: "advice" });
  readonly #hurts = h("p", { class: "hurts", role: "status" }, this.#told, this.#advice);
  readonly #facts = h("p", { class: "facts" });
  readonly element = h("div", { class: "condition" }, this.#facts, this.#hurts);

  /** Number of the last sample that was taken. */
  #last = -1;
  /** Start of the time for which one queue has hurt in every sample until now, in seconds; null if none does. */
  #since: number | null = null;
  /** That queue, as the sentences begin with it. */
  #queue = "";

  /** Adds the samples that are new since the last call. */
  take(samples: readonly Sample[]): void {
    for (const { number, hurts, at_s, interval_s } of samplesAfter(samples, this.#last)) {
      this.#last = number;
      const [queue = ""] = (hurts ?? "").split(": ");
      // The length of another queue's pain says nothing of this one.
      if (queue !== this.#queue) this.#since = queue === "" ? null : at_s - interval_s;
      this.#queue = queue;
    }
  }

  /** Returns the change before which nothing hurt and soon after which something did; empty without. */
  #after(events: readonly EventSample[]): string {
    const since = this.#since ?? Number.NEGATIVE_INFINITY;
    const [event] = events
      .filter(({ kind, path, at_s }) => kind === "change" && path !== "" && at_s <= since)
      .slice(-1);
    if (event === undefined || since - event.at_s > SOON_S) return "";
    return `, from ${significant(Math.max(0, since - event.at_s), 2)} s after \`${event.path} = ${event.value}\``;
  }

  draw(status: Status, sample: Sample | undefined, events: readonly EventSample[]): void {
    const hurts = sample?.hurts ?? "";
    // Of less than a few seconds the length would only flicker.
    const length = (sample?.at_s ?? 0) - (this.#since ?? Number.POSITIVE_INFINITY);
    const lasted = length < 120 ? `${Math.floor(length)} s` : left(length);
    // A sentence on the queue, and one on what is worth a trial.
    const end = hurts.indexOf(". ");
    const [told, advice] = end < 0 ? [hurts, ""] : [hurts.slice(0, end + 1), hurts.slice(end + 1)];
    const hurting = length >= LASTING_S ? `Has hurt for ${lasted}${this.#after(events)}` : "Hurts";
    writeCoded(this.#told, hurts === "" ? "No queue hurts." : `${hurting}: ${micro(told)}`);
    writeCoded(this.#advice, advice);
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
      ...policy.map(({ text, urgent }) => h("span", { class: urgent ? "urgent" : "" }, ...coded(text))),
      ...(status.mode === "kernel" ? notes.map((note) => h("span", { class: "note" }, micro(note))) : []),
    ]);
    this.#facts.hidden = this.#facts.childElementCount === 0;
  }
}
