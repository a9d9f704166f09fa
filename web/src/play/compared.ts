/** Comparison of the text with one that was pinned, over the same seeds. */
import { h } from "../dom";
import { intervalsFigure } from "../figures/intervals";
import { significant } from "../format";
import { Frame } from "../frame";
import type { ComparedVariants, CompareRequest } from "../generated/lockgate";
import type { Report } from "../report";
import { variantsTable } from "../sections/variants";
import { Selection } from "../selection";
import { SharedWindow } from "../shared-window";
import type { Theme } from "../theme";
import { type Files, json, Overtaken } from "./engine";
import type { Supervised } from "./supervised";
import { differences } from "./toml";

/** Number of seeds of each variant. */
const SEEDS = 10;

/** A text that is kept to be compared with. */
interface Pinned {
  text: string;
  files: Files;
}

/** Returns the request that compares two texts, or in words why they cannot be compared. */
export function requestOf(before: string, after: string): CompareRequest | string {
  const found = differences(before, after);
  if (typeof found === "string") return `Only values can be compared: ${found}.`;
  if (found.length === 0) return "The text runs as the pinned one does: change a value.";
  return {
    scenario: { text: before },
    vary_together: found.map(({ path, values }) => `${path}=${values.join(",")}`),
    seeds: Array.from({ length: SEEDS }, (_, index) => index + 1),
    base: 0,
  };
}

export class Compared {
  readonly element = h("section", { class: "compared-pin", hidden: true, "aria-labelledby": "pinned-title" });
  readonly #result = h("div", { class: "comparison" });
  readonly #state = h("p", { class: "note", role: "status", "aria-live": "polite" });
  readonly #button = h(
    "button",
    { type: "button", id: "compare", onclick: () => void this.compare() },
    `Compare over ${SEEDS} seeds`,
  );
  #pinned: Pinned | null = null;
  #worker: Supervised | null = null;

  constructor(
    readonly theme: Theme,
    readonly start: () => Supervised,
    readonly current: () => Pinned,
  ) {
    this.element.append(
      h("h2", { id: "pinned-title" }, "Against the pinned text"),
      h("div", { class: "row" }, this.#button),
      this.#state,
      this.#result,
    );
  }

  get isPinned(): boolean {
    return this.#pinned !== null;
  }

  /** Keeps the text as it is now, or nothing. */
  pin(on: boolean): void {
    this.#pinned = on ? this.current() : null;
    this.#worker?.next();
    this.#result.replaceChildren();
    this.element.hidden = !on;
    this.changed();
  }

  /** Says by what the text differs from the pinned one now. */
  changed(): void {
    if (!this.#pinned) return;
    this.#worker?.next();
    this.#button.disabled = false;
    const request = requestOf(this.#pinned.text, this.current().text);
    this.#state.textContent =
      typeof request === "string"
        ? request
        : `Differs in ${(request.vary_together ?? []).map(readable).join("; ")}.`;
    this.#button.disabled = typeof request === "string";
    this.#result.classList.add("behind");
  }

  /** Makes the runs of both texts, in a worker of their own. */
  async compare(): Promise<void> {
    if (!this.#pinned) return;
    const request = requestOf(this.#pinned.text, this.current().text);
    if (typeof request === "string") return;
    this.#worker ??= this.start();
    this.#worker.next();
    this.#button.disabled = true;
    try {
      const { value, parts } = await this.#worker.job(
        { compare: request },
        {
          progress: ({ done, runs }) => {
            this.#state.textContent = `${significant(done)} of ${runs} runs`;
          },
        },
        this.#pinned.files,
      );
      this.#show(value as ComparedVariants, json<Report>(parts["report"]));
    } catch (error) {
      if (error instanceof Overtaken) return;
      this.#state.textContent = `It cannot be compared: ${error instanceof Error ? error.message : String(error)}.`;
    }
    this.#button.disabled = false;
  }

  #show({ decision, size }: ComparedVariants, report: Report): void {
    const { variants } = report;
    this.#state.textContent = `${size}. Variant 1 is the pinned text, 2 the one now.`;
    const context = {
      selection: new Selection(report),
      theme: this.theme,
      time: new SharedWindow(),
      configuration: "",
    };
    const frames = (variants?.metrics ?? []).map(
      (metric) =>
        new Frame(
          (_, settings) => intervalsFigure(variants as NonNullable<typeof variants>, metric, settings),
          context,
        ),
    );
    this.#result.classList.remove("behind");
    this.#result.replaceChildren(
      ...decision.map((line, at) =>
        h("p", at === 0 ? { class: "headline none" } : { class: "finding" }, line),
      ),
      ...(variants ? [variantsTable(variants, this.theme)] : []),
      h("div", { class: "pair" }, ...frames.map((one) => one.element)),
    );
    for (const one of frames) one.fit();
  }
}

/** Returns a variation for readers: `link.wan.rate: 5mbit → 10mbit`. */
const readable = (vary: string): string => vary.replace("=", ": ").replace(",", " → ");
