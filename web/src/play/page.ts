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
import { announce, copyText, download, h } from "../dom";
import type { Completions, ProblemData, Ran, Sliders as SlidersData } from "../generated/lockgate";
import type { Report } from "../report";
import { Theme, themeButton } from "../theme";
import { moduleBytes, reportTemplate, startWorker } from "./bundle";
import { Compared } from "./compared";
import { Editor, replacements } from "./editor";
import { type Files, json, Overtaken, Problems } from "./engine";
import { BASES, EXAMPLES, type Example, exampleOf, FIRST } from "./examples";
import { commandOf, markdownOf, reportPage } from "./leaving";
import { isLink, linkOf, readLink } from "./link";
import { recognised } from "./recognise";
import { Results } from "./results";
import { Sliders } from "./sliders";
import { Supervised } from "./supervised";
import { edit } from "./toml";

/** Time in ms after the last key at which the text is run. */
const TYPED = 180;
/** Time in ms that the preview of a run takes, about. */
const PREVIEW = 35;
/** Least part of a run that a preview leaves out: of a shorter rest there is none. */
const REST = 0.4;

class Play {
  readonly theme = new Theme();
  readonly results = new Results(this.theme);
  readonly sliders = new Sliders((path, value, isFinal) => this.#slide(path, value, isFinal));
  readonly #editor: Editor;
  readonly #compared: Compared;
  readonly #menu = this.#examples();
  readonly #shows = h("p", { class: "note shows" });
  readonly #problems = h("ul", { class: "problems", id: "problems", "aria-label": "Problems of the text" });
  readonly #notice = h("div", { id: "notice" });
  readonly #progress = h("progress", {
    class: "progress",
    max: 1,
    value: 0,
    "aria-label": "Run",
    hidden: true,
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
  #engine: Supervised | null = null;
  #example: Example = exampleOf(FIRST) ?? (EXAMPLES[0] as Example);
  #files: Files = {};
  #timer = 0;
  #frame = 0;
  #round = 0;
  /** Simulated seconds a millisecond, of the last whole run. */
  #speed = 0;
  #duration = 0;

  constructor(root: HTMLElement) {
    const editor = h("div", { class: "editor" });
    this.#compared = new Compared(
      this.theme,
      () => new Supervised(startWorker, this.#bytes ?? new ArrayBuffer(0)),
      () => ({ text: this.#editor.text, files: this.#files }),
    );
    root.replaceChildren(
      h("a", { class: "skip", href: "#sentence" }, "To the results"),
      this.#bar(),
      h(
        "main",
        { class: "play" },
        h("h1", { class: "offscreen" }, "Lockgate playground"),
        h("div", { class: "top" }, this.#notice, this.results.sentence, this.#progress),
        h(
          "div",
          { class: "side" },
          h(
            "section",
            { class: "text", "aria-labelledby": "text-title" },
            h("div", { class: "row" }, h("h2", { id: "text-title" }, "Scenario"), this.#menu, this.#file()),
            this.#shows,
            editor,
            this.#problems,
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
          h("section", { class: "further", "aria-label": "Further figures" }, this.results.further),
        ),
      ),
    );
    this.#editor = new Editor(editor, {
      changed: () => this.#typed(),
      complete: (text, cursor) => this.#complete(text, cursor),
      pasted: (text) => this.#pasted(text),
    });
    document.addEventListener("keydown", (event) => this.#press(event));
    addEventListener("hashchange", ({ newURL }) => void this.#open(new URL(newURL).hash));
  }

  /** Opens the text of the address, or the first example, and runs it. */
  async start(): Promise<void> {
    const opened = this.#open();
    try {
      this.#bytes = await moduleBytes();
      this.#engine = new Supervised(startWorker, this.#bytes);
    } catch (error) {
      this.#note(`The simulator cannot be loaded: ${messageOf(error)}.`, true);
      return;
    }
    await opened;
    void this.#run("opened");
  }

  // Texts that come from elsewhere.

  async #open(hash = location.hash): Promise<void> {
    if (!isLink(hash)) {
      this.#load(this.#example);
      return;
    }
    try {
      const { text, base } = await readLink(hash, BASES);
      this.#load(exampleOf(base) ?? { name: "scenario", text: "", shows: "", files: {} }, text);
    } catch (error) {
      this.#load(this.#example);
      this.#note(
        `The link cannot be opened: ${messageOf(error)}. This is the example ${this.#example.name}.`,
        true,
      );
    }
  }

  #load(example: Example, text = example.text): void {
    this.#example = example;
    this.#files = example.files;
    this.#menu.value = example.name;
    if (this.#menu.value !== example.name) this.#menu.value = "";
    this.#shows.textContent =
      example.shows === "" ? "" : `${example.shows[0]?.toUpperCase()}${example.shows.slice(1)}.`;
    this.#notice.replaceChildren();
    if (this.#compared.isPinned) this.#togglePin();
    this.#editor.show(text);
    if (this.#engine) void this.#run("opened");
  }

  #pasted(text: string): boolean {
    const what = recognised(text);
    if (what === null || !this.#engine) return false;
    void this.#import(text, what, "pasted");
    return true;
  }

  async #import(text: string, what: string, name: string): Promise<void> {
    try {
      const { value } = await this.#need().call("import", { text, name, lenient: true });
      this.#editor.show(value.scenario, true);
      this.#shows.textContent = "";
      this.#menu.value = "";
      this.#note(`Imported ${what}. Undo brings the former text back.`, false, value.left_out);
      void this.#run("opened");
    } catch (error) {
      if (error instanceof Overtaken) return;
      const problems = error instanceof Problems ? error.problems : [];
      this.#note(`This looks like ${what}, and cannot be imported: ${messageOf(error)}.`, true, problems);
    }
  }

  /** Says something about the text as a whole, with the words that it left out. */
  #note(text: string, isError: boolean, left: readonly ProblemData[] = []): void {
    const line = ({ line, message, help }: ProblemData): string =>
      `${line === null ? "" : `line ${line}: `}${message}${help === null ? "" : ` (${help})`}`;
    this.#notice.replaceChildren(
      h(
        "div",
        { class: `notice${isError ? " wrong" : ""}`, role: isError ? "alert" : "status" },
        h("p", {}, text),
        left.length === 0
          ? null
          : h(
              "details",
              { open: true },
              h("summary", {}, isError ? "Why" : `Left out (${left.length})`),
              h("ul", {}, ...left.map((one) => h("li", {}, line(one)))),
            ),
      ),
    );
  }

  // Runs.

  #need(): Supervised {
    if (!this.#engine) throw new Error("the simulator is not loaded yet");
    return this.#engine;
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

  /** Runs the text: first its beginning, then all of it. A newer change ends that. */
  async #run(why: "opened" | "typed" | "set" | "sliding"): Promise<void> {
    if (!this.#engine) return;
    const engine = this.#engine;
    engine.next();
    this.#round += 1;
    const round = this.#round;
    const { text } = this.#editor;
    const scenario = { text, name: `${this.#example.name}.toml` };
    if (why !== "sliding") this.#compared.changed();
    this.results.behind();
    try {
      if (why === "typed" || why === "opened") {
        const { value } = await engine.call("check", scenario, this.#files);
        this.#tellProblems(value.problems);
        if (value.size) this.#duration = value.size.duration_s;
        if (value.problems.some((one) => one.is_error)) {
          this.#broken();
          return;
        }
      }
      const until = this.#speed * PREVIEW;
      if (
        this.results.whole !== null &&
        why !== "opened" &&
        until > 0 &&
        until < this.#duration * (1 - REST)
      ) {
        const beginning = await engine.job(
          { run: { scenario, until: `${Math.max(1, Math.round(until * 1000))}ms` } },
          undefined,
          this.#files,
        );
        this.results.preview(json<Report>(beginning.parts["report"]));
      }
      const begun = performance.now();
      const { value, parts } = await engine.job(
        { run: { scenario } },
        ({ done }) => {
          this.#progress.hidden = performance.now() - begun < 250;
          this.#progress.value = done;
        },
        this.#files,
      );
      const took = performance.now() - begun;
      const report = json<Report>(parts["report"]);
      const [first] = report.runs;
      if (first) this.#duration = first.summary.duration_s;
      this.#speed = this.#duration / Math.max(took, 1);
      this.results.show(report);
      this.#tellProblems((value as Ran).warnings);
      this.#progress.hidden = true;
      if (why !== "sliding") void this.#address(text);
      // The first knobs, and new ranges after a change, come when the picture stands.
      if (why !== "sliding") await this.#knobs(engine, text);
    } catch (error) {
      if (error instanceof Overtaken || round !== this.#round) return;
      this.#progress.hidden = true;
      if (error instanceof Problems && error.problems.length > 0) this.#tellProblems(error.problems);
      else
        this.#tellProblems([
          {
            is_error: true,
            message: messageOf(error),
            help: error instanceof Problems ? error.help : null,
            line: null,
            column: null,
            span: null,
            related: [],
          },
        ]);
      this.#broken();
    }
  }

  async #knobs(engine: Supervised, text: string): Promise<void> {
    const { value }: { value: SlidersData } = await engine.call("knobs", { text }, this.#files);
    if (text === this.#editor.text) this.sliders.show(value.sliders, text);
  }

  /** Keeps the last picture, grey, of a text that cannot be run. */
  #broken(): void {
    this.#progress.hidden = true;
    this.results.behind();
  }

  #tellProblems(problems: readonly ProblemData[]): void {
    const { text } = this.#editor;
    this.#editor.mark(problems);
    this.#problems.replaceChildren(
      ...problems.map((problem) => {
        const place = problem.line === null ? "" : `line ${problem.line}`;
        return h(
          "li",
          { class: problem.is_error ? "error" : "warning" },
          problem.span
            ? h(
                "button",
                { type: "button", class: "quiet", onclick: () => this.#editor.reveal(problem) },
                place || "show",
              )
            : null,
          h("span", { class: "message" }, problem.message),
          problem.help === null ? null : h("span", { class: "help" }, problem.help),
          ...replacements(problem, text).map((fresh) =>
            h(
              "button",
              { type: "button", class: "fix", onclick: () => this.#editor.fix(problem, fresh) },
              `Write ${fresh}`,
            ),
          ),
        );
      }),
    );
    const errors = problems.filter((one) => one.is_error);
    if (errors.length > 0) announce(errors[0]?.message ?? "");
  }

  async #complete(text: string, cursor: number): Promise<Completions | null> {
    try {
      return (await this.#need().call("complete", { scenario: { text }, cursor }, this.#files)).value;
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

  #examples(): HTMLSelectElement {
    const select = h(
      "select",
      {
        id: "example",
        "aria-label": "Example",
        onchange: () => {
          const chosen = exampleOf(select.value);
          if (!chosen) return;
          history.replaceState(null, "", location.pathname + location.search);
          this.#load(chosen);
        },
      },
      h("option", { value: "", disabled: true }, "no example"),
      ...EXAMPLES.map(({ name, shows }) => h("option", { value: name, title: shows }, name)),
    );
    return select;
  }

  #file(): HTMLElement {
    const input = h("input", {
      type: "file",
      id: "file",
      class: "offscreen",
      tabindex: -1,
      "aria-label": "File",
      onchange: async () => {
        const [file] = input.files ?? [];
        input.value = "";
        if (!file) return;
        const text = await file.text();
        const what = recognised(text);
        if (what !== null) void this.#import(text, what, file.name);
        else this.#load({ name: file.name.replace(/\.toml$/, ""), text, shows: "", files: {} });
      },
    });
    const open = h(
      "button",
      {
        type: "button",
        title: "Open a scenario, a script of tc or a configuration of SQM",
        onclick: () => input.click(),
      },
      "Open …",
    );
    return h("span", {}, open, input);
  }

  #bar(): HTMLElement {
    const toggle = themeButton(this.theme);
    const item = (name: string, title: string, act: () => unknown): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          title,
          onclick: (event: Event) => {
            (event.currentTarget as HTMLElement).closest("details")?.removeAttribute("open");
            void act();
          },
        },
        name,
      );
    const share = h(
      "details",
      { class: "picker share" },
      h("summary", {}, "Take away"),
      h(
        "div",
        { class: "panel" },
        item("Copy as Markdown", "Verdict, expectations and text", () => this.#copyMarkdown()),
        item("Copy as command", "Commands for a shell that write the file and run it", () =>
          copyText(commandOf(this.#name, this.#editor.text, this.#files), "Command"),
        ),
        item("Save scenario", "The text as a TOML file", () =>
          download(`${this.#name}.toml`, "application/toml", this.#editor.text),
        ),
        item("Save report", "All results as one HTML file", () => this.#saveReport()),
      ),
    );
    share.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      share.open = false;
      share.querySelector("summary")?.focus();
    });
    return h(
      "div",
      { class: "bar" },
      h("strong", {}, "Lockgate"),
      h("span", { class: "wide soft" }, "playground: runs here, sends nothing"),
      h(
        "span",
        { class: "end" },
        this.#pin,
        h("button", { type: "button", id: "link", onclick: () => void this.#copyLink() }, "Copy link"),
        share,
        toggle,
      ),
    );
  }

  get #name(): string {
    return this.#example.name.replace(/[^\w.-]+/g, "-") || "scenario";
  }

  async #link(): Promise<string> {
    const { text } = this.#editor;
    const hash = await linkOf(text, BASES.find(({ name }) => name === this.#example.name) ?? null);
    return new URL(hash, location.href).href;
  }

  /** Makes the page's address that of its text: to open it again, or to go back to it. */
  async #address(text: string): Promise<void> {
    const hash = text === exampleOf(FIRST)?.text ? "" : new URL(await this.#link()).hash;
    if (text === this.#editor.text)
      history.replaceState(null, "", location.pathname + location.search + hash);
  }

  async #copyLink(): Promise<void> {
    const link = await this.#link();
    history.replaceState(null, "", new URL(link).hash);
    await copyText(link, "Link");
  }

  async #copyMarkdown(): Promise<void> {
    // An address on a disk leads nowhere for others.
    const link = location.protocol === "file:" ? "" : await this.#link();
    await copyText(markdownOf(this.results.whole, this.#editor.text, link), "Markdown");
  }

  async #saveReport(): Promise<void> {
    const { whole } = this.results;
    if (!whole) return announce("There is no result yet");
    try {
      download(`${this.#name}.html`, "text/html", reportPage(await reportTemplate(), whole));
    } catch (error) {
      announce(`The page of a report is not here: ${messageOf(error)}`);
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const root = document.getElementById("page");
if (root) void new Play(root).start();
