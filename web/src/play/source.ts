/** Source of the text: an example, a file, or a foreign text that is imported. */
import { h } from "../dom";
import { type Files, Overtaken, Problems } from "./engine";
import { EXAMPLES, EXPERIMENTS, type Example, exampleOf, FIRST } from "./examples";
import type { Notice } from "./notice";
import { messageOf } from "./problems";
import { recognised } from "./recognise";
import type { Supervised } from "./supervised";

/** Limit on the size of a file or a pasted text, in bytes: the page checks and draws all of it at each key. */
const MOST = 1_000_000;

const optionOf = ({ name, shows }: Example): HTMLElement => h("option", { value: name, title: shows }, name);

/** Calls of a source to the page. */
interface Calls {
  /** Shows the text of an example, or another text with the example's name and files. */
  load(example: Example, text?: string): void;
  /** Shows a text that replaces the one in the editor, which an undo brings back. */
  replace(text: string): void;
  /** Returns the simulator; null until it is loaded. */
  engine(): Supervised | null;
}

export class Source {
  example: Example = exampleOf(FIRST) ?? (EXAMPLES[0] as Example);
  files: Files = {};
  readonly menu = h(
    "select",
    {
      id: "example",
      "aria-label": "Example",
      onchange: () => {
        const chosen = exampleOf(this.menu.value);
        if (!chosen) return;
        history.replaceState(null, "", location.pathname + location.search);
        this.calls.load(chosen);
      },
    },
    h("option", { value: "", disabled: true }, "no example"),
    h("optgroup", { label: "Scenarios" }, ...EXAMPLES.map(optionOf)),
    h("optgroup", { label: "Experiments of papers" }, ...EXPERIMENTS.map(optionOf)),
  );
  /** What the example shows. */
  readonly shows = h("p", { class: "note shows" });
  readonly #input = h("input", {
    type: "file",
    id: "file",
    class: "offscreen",
    tabindex: -1,
    "aria-label": "File",
    onchange: () => void this.#opened(),
  });
  readonly file = h(
    "span",
    {},
    h(
      "button",
      {
        type: "button",
        title: "Open a scenario, a script of tc or a configuration of SQM",
        onclick: () => this.#input.click(),
      },
      "Open …",
    ),
    this.#input,
  );

  constructor(
    readonly notice: Notice,
    readonly calls: Calls,
  ) {}

  /** Name for files and messages. */
  get name(): string {
    return this.example.name.replace(/[^\w.-]+/g, "-") || "scenario";
  }

  /** Takes an example as the current one. */
  take(example: Example): void {
    this.example = example;
    this.files = example.files;
    this.menu.value = example.name;
    if (this.menu.value !== example.name) this.menu.value = "";
    const { shows } = example;
    this.shows.textContent = shows === "" ? "" : `${shows[0]?.toUpperCase()}${shows.slice(1)}.`;
    this.notice.clear();
  }

  /** Imports a pasted text, if it is none of a scenario. Returns whether it is. */
  pasted(text: string): boolean {
    if (this.#isTooLarge(text.length, "the pasted text")) return true;
    const what = recognised(text);
    if (what === null || !this.calls.engine()) {
      // What was said of another text.
      this.notice.clear();
      return false;
    }
    void this.#import(text, what, "pasted");
    return true;
  }

  async #opened(): Promise<void> {
    const [file] = this.#input.files ?? [];
    this.#input.value = "";
    if (!file || this.#isTooLarge(file.size, file.name)) return;
    const text = await file.text();
    const what = recognised(text);
    if (what !== null) void this.#import(text, what, file.name);
    else this.calls.load({ name: file.name.replace(/\.toml$/, ""), text, shows: "", files: {} });
  }

  /** Tells that a text of this many bytes is too large, if it is. */
  #isTooLarge(bytes: number, what: string): boolean {
    if (bytes <= MOST) return false;
    const size = (bytes / 1e6).toFixed(1);
    this.notice.tell(`${what} has ${size} MB: the page takes texts of up to ${MOST / 1e6} MB.`, true);
    return true;
  }

  async #import(text: string, what: string, name: string): Promise<void> {
    try {
      const engine = this.calls.engine();
      if (!engine) throw new Error("the simulator is not loaded yet");
      const { value } = await engine.call("import", { text, name, lenient: true });
      this.shows.textContent = "";
      this.menu.value = "";
      this.notice.tell(`Imported ${what}. Undo brings the former text back.`, false, value.left_out);
      this.calls.replace(value.scenario);
    } catch (error) {
      if (error instanceof Overtaken) return;
      const problems = error instanceof Problems ? error.problems : [];
      this.notice.tell(
        `This looks like ${what}, and cannot be imported: ${messageOf(error)}.`,
        true,
        problems,
      );
    }
  }
}
