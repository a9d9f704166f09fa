/**
 * The playground: a scenario as text and as sliders, run in the page at each change. Text, sliders and figures are one
 * state, which a link holds. Nothing is sent anywhere.
 */
import "../style/answer.css";
import "../style/page.css";
import "../style/figure.css";
import "../style/section.css";
import "../style/narrow.css";
import "../style/play.css";
import "../style/steps.css";
import "../style/embed.css";
import "../style/lesson.css";
import { announce, copyText, h } from "../dom";
import type { Completions } from "../generated/lockgate";
import { Theme } from "../theme";
import { bar } from "./bar";
import { carriedScenario, moduleBytes, reportTemplate, startWorker } from "./bundle";
import { Compared } from "./compared";
import { Editor } from "./editor";
import { embedded } from "./embed";
import { BASES, type Example, exampleOf, FIRST } from "./examples";
import { Lessons } from "./lesson";
import { linkOf, readLink } from "./link";
import { Notice } from "./notice";
import { readPlace, writtenPlace } from "./place";
import { changeOf, withDiscipline, withRoot } from "./plug";
import { messageOf, ProblemList } from "./problems";
import { Results } from "./results";
import { type Cause, Runner } from "./runner";
import { Sliders } from "./sliders";
import { Source } from "./source";
import { Steps } from "./steps";
import { Supervised } from "./supervised";
import { edit } from "./toml";
import { Trees } from "./trees";

/** Time in ms after the last key at which the text is run. */
const TYPED = 180;

class Play {
  readonly theme = new Theme();
  readonly results = new Results(this.theme);
  readonly sliders = new Sliders((path, value, isFinal) => this.#slide(path, value, isFinal));
  readonly #notice = new Notice();
  readonly #source = new Source(this.#notice, {
    load: (example, text) => this.#load(example, text),
    replace: (text) => {
      this.#editor.show(text, true);
      void this.#run("opened");
    },
    engine: () => this.#runner.engine,
  });
  readonly #runner: Runner;
  readonly #editor: Editor;
  readonly #compared: Compared;
  readonly #steps: Steps;
  readonly #lessons: Lessons;
  readonly #trees = new Trees({
    step: (port) => {
      void this.#steps.open({ step: null, port });
      this.#steps.element.scrollIntoView();
    },
    choose: (port, root) => this.#rewrite(withRoot(this.#editor.text, port, root)),
    plug: (port, leaf, roots) => this.#rewrite(withDiscipline(this.#editor.text, port, leaf, roots)),
  });
  readonly #pin = h(
    "button",
    {
      type: "button",
      id: "pin",
      "aria-pressed": "false",
      title: "Keep this result to compare with (p)",
      onclick: () => this.#togglePin(),
    },
    "Pin",
  );
  #bytes: ArrayBuffer | null = null;
  #timer = 0;
  #frame = 0;

  constructor(root: HTMLElement) {
    const start = () => new Supervised(startWorker, this.#bytes ?? new ArrayBuffer(0));
    const current = () => ({ text: this.#editor.text, files: this.#source.files });
    this.#compared = new Compared(this.theme, start, current);
    this.#steps = new Steps(this.theme, {
      start,
      current,
      moved: () => void this.#address(this.#editor.text),
      slotOf: (flow) => this.results.slotOf(flow),
    });
    this.#lessons = new Lessons(this.theme, {
      start,
      show: (text) => this.#load({ ...this.#source.example, name: "lesson", shows: "", files: {} }, text),
      moved: () => void this.#address(this.#editor.text),
    });
    const place = h("div", { class: "editor" });
    this.#editor = new Editor(place, {
      changed: () => this.#typed(),
      complete: (text, cursor) => this.#complete(text, cursor),
      pasted: (text) => this.#source.pasted(text),
    });
    const problems = new ProblemList(this.#editor);
    this.#runner = new Runner(this.results, {
      tell: (found) => problems.tell(found),
      knobs: ({ sliders, leaves }, text) => {
        if (text !== this.#editor.text) return;
        this.sliders.show(sliders, text);
        this.#trees.offer(leaves, sliders);
      },
      settled: (text) => {
        void this.#address(text);
        this.#steps.changed();
        if (this.results.whole) this.#trees.show(this.results.whole);
      },
    });
    root.replaceChildren(
      h("a", { class: "skip", href: "#sentence" }, "To the results"),
      this.#bar(),
      this.#main(place, problems.element),
    );
    embedded(root, readPlace(location.hash).embed, () => this.#link());
    document.addEventListener("keydown", (event) => this.#press(event));
    addEventListener("hashchange", ({ newURL }) => void this.#open(new URL(newURL).hash));
  }

  #main(editor: HTMLElement, problems: HTMLElement): HTMLElement {
    return h(
      "main",
      { class: "play" },
      h("h1", { class: "offscreen" }, "Lockgate playground"),
      this.#lessons.element,
      h("div", { class: "top" }, this.#notice.element, this.results.sentence, this.#runner.progress),
      h(
        "div",
        { class: "side" },
        h(
          "section",
          { class: "text", "aria-labelledby": "text-title" },
          h(
            "div",
            { class: "row" },
            h("h2", { id: "text-title" }, "Scenario"),
            this.#source.menu,
            this.#source.file,
          ),
          this.#source.shows,
          editor,
          problems,
        ),
        h(
          "section",
          { class: "knobs", "aria-labelledby": "knobs-title" },
          h("h2", { id: "knobs-title" }, "Knobs"),
          this.sliders.element,
        ),
      ),
      h(
        "div",
        { class: "side" },
        h(
          "section",
          { class: "shown", "aria-label": "Results" },
          this.results.element,
          this.#compared.element,
        ),
        this.#steps.element,
        this.#trees.element,
        h("section", { class: "further", "aria-label": "Further figures" }, this.results.further),
      ),
    );
  }

  #bar(): HTMLElement {
    const page = {
      name: () => this.#source.name,
      text: () => this.#editor.text,
      files: () => this.#source.files,
      whole: () => this.results.whole,
      link: () => this.#link(),
      copyLink: () => this.#copyLink(),
      template: reportTemplate,
      say: announce,
    };
    return bar(this.theme, page, [this.#lessons.menu, this.#pin]);
  }

  /** Opens the text of the address, or the first example, and runs it. */
  async start(): Promise<void> {
    const opened = this.#open();
    try {
      if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is switched off in this browser");
      this.#bytes = await moduleBytes();
      this.#runner.engine = new Supervised(startWorker, this.#bytes);
    } catch (error) {
      this.#notice.tell(`The simulator cannot be loaded: ${messageOf(error)}.`, true);
      return;
    }
    await opened;
    const { step, port, lesson } = readPlace(location.hash);
    if (lesson) this.#lessons.open(lesson);
    await this.#run("opened");
    if (step || readPlace(location.hash).embed === "step") void this.#steps.open({ step, port });
  }

  // Texts that come from elsewhere.

  async #open(hash = location.hash): Promise<void> {
    const { link, example } = readPlace(hash);
    const carried = carriedScenario();
    if (!link && !example && carried) {
      this.#load({ ...carried, shows: "" });
      return;
    }
    if (!link) {
      const known = exampleOf(example ?? FIRST);
      this.#load(known ?? this.#source.example);
      if (!known)
        this.#notice.tell(`There is no example ${example}. This is ${this.#source.example.name}.`, true);
      return;
    }
    try {
      const { text, base } = await readLink(link, BASES);
      this.#load(exampleOf(base) ?? { name: "scenario", text: "", shows: "", files: {} }, text);
    } catch (error) {
      this.#load(this.#source.example);
      const { name } = this.#source.example;
      this.#notice.tell(`The link cannot be opened: ${messageOf(error)}. This is the example ${name}.`, true);
    }
  }

  #load(example: Example, text = example.text): void {
    this.#source.take(example);
    if (this.#compared.isPinned) this.#togglePin();
    this.#steps.close();
    this.#editor.show(text);
    void this.#run("opened");
  }

  // Runs.

  #run(why: Cause): Promise<void> {
    if (why !== "sliding") this.#compared.changed();
    const { files, example } = this.#source;
    return this.#runner.run({ text: this.#editor.text, name: `${example.name}.toml`, files }, why);
  }

  #typed(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#run("typed"), TYPED);
  }

  #slide(path: string, value: string, isFinal: boolean): void {
    clearTimeout(this.#timer);
    const change = edit(this.#editor.text, path, value);
    const old = this.#editor.text.slice(change.from, change.to);
    if (old !== change.insert) this.#editor.edit(change);
    else if (!isFinal) return;
    // A pointer moves more often than pictures are shown.
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => void this.#run(isFinal ? "set" : "sliding"));
  }

  /** Shows a text that the picture made of the one before, which an undo brings back, and runs it. */
  #rewrite(text: string): void {
    this.#editor.edit(changeOf(this.#editor.text, text));
    void this.#run("typed");
  }

  async #complete(text: string, cursor: number): Promise<Completions | null> {
    try {
      const request = { scenario: { text }, cursor };
      return (await this.#runner.engine?.call("complete", request, this.#source.files))?.value ?? null;
    } catch {
      return null;
    }
  }

  // Controls.

  #press(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const writes = target.closest(".cm-editor, input:not([type=range]), textarea, select") !== null;
    if (event.key !== "p" || writes || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#togglePin();
  }

  #togglePin(): void {
    const on = !this.#compared.isPinned;
    this.#compared.pin(on);
    this.results.pin(on);
    this.#pin.setAttribute("aria-pressed", String(on));
    this.#pin.textContent = on ? "Unpin" : "Pin";
  }

  // The address.

  async #hash(always: boolean): Promise<string> {
    const { text } = this.#editor;
    const { name } = this.#source.example;
    const isPlain = !always && text === exampleOf(FIRST)?.text && carriedScenario() === null;
    const link = isPlain ? null : await linkOf(text, BASES.find((base) => base.name === name) ?? null);
    const { embed } = readPlace(location.hash);
    const { number: lesson } = this.#lessons;
    return writtenPlace({ link, lesson, ...this.#steps.place, embed: always ? null : embed });
  }

  async #link(): Promise<string> {
    return new URL(await this.#hash(true), location.href).href;
  }

  /** Makes the page's address that of its text: to open it again, or to go back to it. */
  async #address(text: string): Promise<void> {
    // A text that no link carries leaves the address as it was.
    const hash = await this.#hash(false).catch(() => null);
    if (hash !== null && text === this.#editor.text)
      history.replaceState(null, "", location.pathname + location.search + hash);
  }

  async #copyLink(): Promise<void> {
    let link: string;
    try {
      link = await this.#link();
    } catch (error) {
      this.#notice.tell(`There is no link: ${messageOf(error)}.`, true);
      return;
    }
    history.replaceState(null, "", new URL(link).hash);
    await copyText(link, "Link");
  }
}

const root = document.getElementById("page");
if (root) void new Play(root).start();
