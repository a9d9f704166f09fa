/** Log of a run's events, newest first: filtered by a word, each change with its undo. */
import { announce, breakable, h } from "../dom";
import type { EventSample } from "../generated/lockgate";
import { Effects } from "./effects";
import type { Feed } from "./feed";

/** Number of events up to which there is no filter. */
const UNFILTERED = 8;
/** Largest number of events shown. */
const SHOWN = 100;

/** Returns an event as a line of text. */
function eventText(event: EventSample): string {
  const moved = event.moved_packets === null ? "" : `, ${event.moved_packets} packets moved`;
  const forced = event.forced_out_packets > 0 ? `, ${event.forced_out_packets} forced out` : "";
  if (event.path === "") return event.text;
  const before = (event.before ?? []).find((one) => one.startsWith(`${event.path}=`));
  // Empty: it was the default, which the file does not write.
  const old = before?.slice(event.path.length + 1) || undefined;
  return `set ${event.path} ${old === undefined ? "= " : `${old} → `}${event.value}${moved}${forced}`;
}

export class EventLog {
  readonly list = h("ol", { class: "events", "aria-label": "Events, newest first", tabindex: 0 });
  readonly filter: HTMLInputElement;
  /** The log: there from the first event on. */
  readonly element: HTMLElement;
  readonly #effects = new Effects();
  /** Number of events announced so far. */
  #announced = 0;

  constructor(
    readonly feed: Feed,
    redraw: () => void,
  ) {
    this.filter = h("input", {
      type: "search",
      placeholder: "filter",
      "aria-label": "Filter events",
      oninput: redraw,
    });
    this.element = h(
      "section",
      { class: "log", hidden: true },
      h("h2", {}, "Events"),
      this.filter,
      this.list,
    );
  }

  /** Draws the events up to this time, in seconds. */
  draw(until: number): void {
    const { events, samples } = this.feed;
    this.element.hidden = events.length === 0;
    this.filter.hidden = events.length <= UNFILTERED;
    const wanted = this.filter.value.toLowerCase();
    const shown = events
      .filter((event) => event.at_s <= until && eventText(event).toLowerCase().includes(wanted))
      .slice(-SHOWN);
    const effects = new Map(shown.map((event) => [event, this.#effects.of(event, events, samples)]));
    const key = `${[...effects.values()].join()} ${shown.length} ${shown.at(-1)?.at_s ?? ""} ${wanted} ${this.feed.status?.ended ?? ""}`;
    if (this.list.dataset["key"] === key) return;
    this.list.dataset["key"] = key;
    this.list.replaceChildren(
      ...shown
        .reverse()
        .map((event) =>
          h(
            "li",
            {},
            h("time", {}, `${event.at_s.toFixed(3)} s`),
            " ",
            ...breakable(eventText(event)),
            this.#effect(effects.get(event) ?? ""),
            this.#undoButton(event),
          ),
        ),
    );
    if (events.length > this.#announced && this.#announced > 0)
      announce(eventText(events.at(-1) as EventSample));
    this.#announced = events.length;
  }

  #effect(text: string): HTMLElement | string {
    if (text === "") return "";
    const title =
      "Means of the 99th percentile: 5 s before the change, and at most 10 s after it. Not proof of a cause.";
    return h("small", { class: "effect", title }, text);
  }

  #undoButton(event: EventSample): HTMLElement | string {
    const before = event.before ?? [];
    if (this.feed.readOnly || this.feed.status?.ended === true || before.length === 0) return "";
    return h(
      "button",
      {
        type: "button",
        class: "undo",
        title: `lockgate set '${before.join("' '")}'`,
        "aria-label": `undo: set ${before.join(", ")}`,
        onclick: () => void this.#undo(before),
      },
      "undo",
    );
  }

  /** Restores the values from before a change. */
  async #undo(before: string[]): Promise<void> {
    const answer = await this.feed.set(before);
    announce(answer.text);
  }
}
