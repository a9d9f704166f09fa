/**
 * Knobs of a queue: edits are drafts until Enter applies them, and shown values are those that the run
 * reports.
 */
import { announce, h } from "../dom";
import type { Knob, LinkStatus, PortStatus } from "../generated/lockgate";
import type { Feed } from "./feed";

/**
 * Returns a size in its most readable form, exactly equal if it is set again: `32MiB` for `33554.432kB`,
 * `1514B` for `1.514kB`.
 */
export function readable(value: string | null): string {
  const kilobytes = /^(\d+\.\d+)kB$/.exec(value ?? "")?.[1];
  if (kilobytes === undefined) return value ?? "";
  const bytes = Math.round(Number(kilobytes) * 1000);
  if (bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20}MiB`;
  return bytes % 1024 === 0 ? `${bytes / 1024}KiB` : `${bytes}B`;
}

/** Letters of a value above which its field has a line of its own. */
const LONG = 13;

/** Returns the button that steps a knob up or down; null if there is no step. */
function stepButton(knob: Knob, up: boolean, apply: (value: string) => void): HTMLElement | null {
  const stepped = up ? knob.higher : knob.lower;
  if (knob.choices.length > 1 || stepped === null) return null;
  const next = readable(stepped);
  return h(
    "button",
    {
      type: "button",
      "aria-label": `${up ? "raise" : "lower"} ${knob.path} to ${next}`,
      onclick: () => apply(next),
    },
    up ? "+" : "−",
  );
}

/** Returns one knob: its name, a field with its value, and buttons for a step down and up. */
function knobRow(feed: Feed, knob: Knob, lasting: () => string): HTMLTableRowElement {
  const say = h("span", { class: "said", role: "status" });
  const apply = async (value: string): Promise<void> => {
    row.dataset["state"] = "draft";
    say.textContent = "…";
    const answer = await feed.set([`${knob.path}=${value}`], lasting());
    row.dataset["state"] = answer.ok ? "set" : "refused";
    say.textContent = answer.ok ? "✓" : `✗ ${answer.text}`;
    announce(answer.text);
  };
  const shown = readable(knob.value);
  const shell = `lockgate set '${knob.path}=${knob.value ?? ""}'`;
  const label = `${knob.path}, ${knob.takes}`;
  const field =
    knob.choices.length > 1
      ? h(
          "select",
          {
            "aria-label": label,
            onchange: (event: Event) => void apply((event.target as HTMLSelectElement).value),
          },
          ...knob.choices.map((choice) =>
            h("option", { value: choice, selected: choice === knob.value }, choice),
          ),
        )
      : h("input", {
          "aria-label": label,
          value: shown,
          size: 12,
          spellcheck: "false",
          autocomplete: "off",
          title: shown,
          oninput: () => {
            row.dataset["state"] = "draft";
            say.textContent = "";
          },
          onkeydown: (event: KeyboardEvent) => {
            if (event.key === "Enter") void apply((event.target as HTMLInputElement).value);
            if (event.key === "Escape") {
              (event.target as HTMLInputElement).value = shown;
              row.dataset["state"] = "";
              say.textContent = "";
            }
          },
        });
  const button = (up: boolean): HTMLElement | null => stepButton(knob, up, (next) => void apply(next));
  const isLong = shown.length > LONG;
  const row = h(
    "tr",
    { class: isLong ? "knob long" : "knob", title: `${knob.about}\n${shell}` },
    isLong ? null : h("th", { scope: "row" }, knob.key),
    h(
      "td",
      { class: knob.is_default ? "default" : "", colspan: isLong ? 2 : 1 },
      // A long value has a line of its own below its name.
      isLong ? knob.key : null,
      h("span", { class: "dial" }, button(false), field, button(true)),
      say,
    ),
  );
  return row;
}

/**
 * Knobs of the selected queue. They are rebuilt only if the run reports other values, so that drafts survive.
 */
export class KnobPanel {
  readonly element = h("section", { class: "knobs", "aria-label": "Knobs of the selected queue" });
  #shown = "";
  /** Last request for knobs, for a large network. */
  #asked = "";
  #answer: { of: string; knobs: { port: PortStatus; link: LinkStatus } | null } | null = null;

  constructor(
    readonly feed: Feed,
    readonly redraw: () => void,
  ) {}

  /** Shows the knobs of a queue of a port. */
  show(portName: string, queue: string): void {
    const status = this.feed.status;
    if (!status) return;
    if (status.is_large) {
      this.#ask(status.version, portName, queue);
      // Otherwise the knobs of another queue could be taken for those of this one.
      if (this.#answer?.of !== `${portName} ${queue}`) {
        this.#say(queue, `Those of ${queue} are being asked for.`);
        return;
      }
      if (this.#answer.knobs === null) {
        this.#say(queue, `The server has none for ${queue}.`);
        return;
      }
    }
    const port = status.is_large
      ? this.#answer?.knobs?.port
      : status.ports.find((candidate) => candidate.name === portName);
    if (!port) {
      this.element.hidden = this.feed.readOnly;
      return;
    }
    const link = status.is_large
      ? this.#answer?.knobs?.link
      : status.links.find((candidate) => candidate.name === port.link);
    const own = port.queues.find(([name]) => name === queue)?.[1] ?? [];
    const key = JSON.stringify([port.name, queue, own, port.root, link?.knobs, this.feed.readOnly]);
    if (key === this.#shown) return;
    this.#shown = key;
    const lasting = h("input", {
      size: 8,
      placeholder: "never",
      "aria-label": "Revert changes after, such as 30s",
      // What is no time is marked while it is typed; the run refuses it.
      pattern: "\\s*|[\\d.]+\\s*(ns|us|ms|s|min|h)\\s*",
      title: "A change that is made now is taken back after this time, such as 30s; empty: it stays",
      spellcheck: "false",
    });
    const table = (title: string, knobs: readonly Knob[]): HTMLElement[] =>
      knobs.length === 0
        ? []
        : [
            h(
              "table",
              {},
              h("caption", {}, title),
              h("tbody", {}, ...knobs.map((knob) => knobRow(this.feed, knob, () => lasting.value.trim()))),
            ),
          ];
    const root = port.root && port.root.choices.length > 1 ? [port.root] : [];
    // A router is changed by its policy, and the kernel by `tc`: no box says that nothing can be turned.
    this.element.hidden = this.feed.readOnly && own.length + root.length + (link?.knobs.length ?? 0) === 0;
    this.element.replaceChildren(
      h("h2", {}, "Knobs"),
      this.feed.readOnly
        ? h("p", { class: "note" }, "Nothing can be changed here.")
        : h("label", { class: "note" }, "Revert changes after ", lasting),
      ...table(`Tree of ${port.name}`, root),
      ...table(`Queue ${queue}`, own),
      ...table(`Link ${port.link}`, link?.knobs ?? []),
    );
  }

  /** Shows a sentence instead of the knobs of a queue. */
  #say(queue: string, sentence: string): void {
    if (queue === "" || this.#shown === sentence) return;
    this.#shown = sentence;
    this.element.replaceChildren(h("h2", {}, "Knobs"), h("p", { class: "note" }, sentence));
  }

  #ask(version: number, port: string, queue: string): void {
    const of = `${port} ${queue}`;
    const key = `${of} ${version}`;
    if (key === this.#asked) return;
    this.#asked = key;
    void this.feed.knobs(port, queue).then((answer) => {
      if (key !== this.#asked) return;
      this.#answer = { of, knobs: answer };
      this.redraw();
    });
  }
}
