/** Card of a run that has ended: how long it was, its verdict, and what remains. */
import { h } from "../dom";
import type { EventSample, Status } from "../generated/lockgate";
import { endingVerdict } from "./verdict";

/** Stands at the lower edge of the screen, so that nothing moves when it comes, and in its place at the page's end. */
export class Ending {
  readonly element = h("section", { class: "ending", "aria-label": "The run has ended", hidden: true });

  /** Draws the card once; `last` is the time of the last sample in seconds. */
  draw(status: Status, events: readonly EventSample[], last: number): void {
    this.element.hidden = !status.ended;
    // Written again when the run has been judged, shortly after its end.
    const key = status.ended ? `${status.verdict?.headline ?? ""} ${status.results ?? ""}` : "";
    if (!status.ended || (this.element.dataset["key"] === key && this.element.childElementCount > 0)) return;
    this.element.dataset["key"] = key;
    const missed = events.filter((event) => event.kind === "expect");
    const verdict = endingVerdict(status);
    this.element.replaceChildren(
      h("h2", {}, `The run has ended at ${Number(last.toFixed(2))} s`),
      ...(verdict.length > 0 || missed.length === 0
        ? verdict
        : [
            h("p", { class: "bad" }, `Missed: ${missed.map((event) => event.path || event.text).join(", ")}`),
          ]),
      h(
        "p",
        { class: "note" },
        h("a", { href: "api/scenario", download: "session.toml" }, "Save the scenario with what was changed"),
        " to run it again. The picture stays: scrub with [ and ].",
      ),
    );
  }
}
