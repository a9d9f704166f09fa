/** The static report of a run: lays out the figures and tables of the data that the page carries. */
import "../style/answer.css";
import "../style/page.css";
import "../style/figure.css";
import "../style/section.css";
import "../style/narrow.css";
import "../style/print.css";
import { followAddress } from "../address";
import { carriedData } from "../carried";
import { h } from "../dom";
import type { Make } from "../figure";
import { FIGURES, type Place } from "../figures/list";
import { date, shortened } from "../format";
import { type Context, Frame } from "../frame";
import { EMPTY, type Report, seedNote } from "../report";
import { answering, facts } from "../sections/answer";
import { type Placing, SECTIONS } from "../sections/list";
import { picker } from "../sections/picker";
import { share } from "../sections/share";
import { variantsSubtitle } from "../sections/variants";
import { Selection } from "../selection";
import { SharedWindow } from "../shared-window";
import { runName } from "../style";
import { Theme, themeButton } from "../theme";
import { showLive } from "./live";

/** A section as it is laid out. */
interface Laid {
  id: string;
  title: string;
  short: string;
  parts: HTMLElement[];
}

/** Configuration and date, as captions end in files and on paper: a figure that was cut out still says what it is of. */
function configurationOf(report: Report): string {
  const seeds = [...new Set(report.runs.map((run) => run.summary.seed))];
  const runs = [report.runs.slice(0, 4).map(runName).join(", ")];
  if (seeds.length > 0) runs.push(`${seeds.length === 1 ? "seed" : "seeds"} ${seeds.slice(0, 4).join(", ")}`);
  const more = report.runs.length > 4 ? `and ${report.runs.length - 4} more runs` : "";
  const version = report.version === "" ? "" : `Lockgate ${report.version}`;
  return `${[shortened(report.title, 90), ...runs, more, version, date(report.generated)].filter((part) => part !== "").join("; ")}.`;
}

class Page implements Placing {
  readonly theme = new Theme();
  readonly time = new SharedWindow();
  readonly selection: Selection;
  readonly context: Context;
  readonly frames: Frame[] = [];

  constructor(readonly report: Report) {
    this.selection = new Selection(report);
    this.context = {
      selection: this.selection,
      theme: this.theme,
      time: this.time,
      configuration: configurationOf(report),
    };
    followAddress(this.selection, this.time);
  }

  show(root: HTMLElement, problem: string): void {
    document.title = this.report.title === "" ? "Lockgate report" : `${this.report.title} – Lockgate report`;
    const sections = this.report === EMPTY ? [] : this.#sections();
    root.replaceChildren(
      h("a", { class: "skip", href: "#verdict" }, "To the results"),
      this.#bar(sections),
      h(
        "main",
        {},
        h(
          "header",
          { class: "title" },
          h("h1", {}, this.report.title || "Lockgate report"),
          h("p", { class: "note" }, this.#subtitle()),
        ),
        problem === "" ? null : h("p", { class: "notice", role: "alert" }, problem),
        ...sections.map((section, index) =>
          h(
            "section",
            { id: section.id, "aria-labelledby": `${section.id}-title` },
            h(
              "h2",
              { id: `${section.id}-title` },
              h("span", { class: "ordinal" }, String(index + 1)),
              section.title,
            ),
            ...section.parts,
          ),
        ),
      ),
    );
    // All widths are read before the first height is set, which makes the page lay itself out once.
    const widths = this.frames.map((frame) => frame.width);
    this.frames.forEach((frame, at) => void frame.fit(widths[at]));
    // Those of the first section are in sight: drawn at once.
    const sight = root.querySelector("main > section");
    for (const frame of this.frames) if (sight?.contains(frame.element)) frame.show();
    this.#printing();
    // The part that an address names was not there when the page was loaded.
    if (/^#[\w-]+$/.test(location.hash)) root.querySelector(location.hash)?.scrollIntoView();
  }

  #subtitle(): string {
    const { runs, version, generated, variants } = this.report;
    if (variants) return [variantsSubtitle(variants), date(generated), `Lockgate ${version}`].join(" · ");
    const told = answering(this.report);
    if (told && runs.length === 1)
      return [
        facts(told, runs[0]?.mode === "live"),
        date(generated),
        version === "" ? "" : `Lockgate ${version}`,
      ]
        .filter((part) => part !== "")
        .join(" · ");
    const names = runs.slice(0, 6).map(runName).join(", ");
    const several = runs.length > 1 ? `${runs.length} runs: ${names}${runs.length > 6 ? ", …" : ""}` : names;
    const repeated = runs[0]?.summary.runs ?? 1;
    const seeds =
      repeated > 1
        ? `${repeated} seeds: expectations are on all of them, curves and tables of the first, ${runs[0]?.summary.seed}`
        : "";
    return [several, seeds, date(generated), version === "" ? "" : `Lockgate ${version}`]
      .filter((part) => part !== "")
      .join(" · ");
  }

  /** Returns the figures that the list has for a place: one below the other, or beside each other. */
  readonly figures = (place: Place): HTMLElement[] => {
    const rows: { beside: boolean; elements: HTMLElement[] }[] = [];
    for (const { of, beside = false, isOfSetup = false } of FIGURES.filter((one) => one.place === place))
      for (const make of of(this.report)) {
        const element = this.#frame(make, isOfSetup ? "" : seedNote(this.report));
        const last = rows.at(-1);
        if (beside && last?.beside) last.elements.push(element);
        else rows.push({ beside, elements: [element] });
      }
    // Many figures without runs, as those of an experiment, are small multiples.
    const shape = (count: number): string =>
      count > 3 && this.report.runs.length === 0 ? "multiples" : "pair";
    return rows.flatMap(({ elements }) =>
      elements.length > 1 ? h("div", { class: shape(elements.length) }, ...elements) : elements,
    );
  };

  /** Returns the frame of a figure, whose caption ends with `note`. */
  #frame(make: Make, note: string): HTMLElement {
    const noted: Make = (view, settings) => {
      const figure = make(view, settings);
      return { ...figure, caption: `${figure.caption}${note}` };
    };
    const frame = new Frame(noted, this.context);
    this.frames.push(frame);
    return frame.element;
  }

  #sections(): Laid[] {
    return SECTIONS.flatMap(({ id, title, short, parts }): Laid[] => {
      const shown = parts(this).filter((part) => part !== null);
      const name = typeof title === "string" ? title : title(this.report);
      return shown.length > 0 ? [{ id, title: name, short: short ?? name, parts: shown }] : [];
    });
  }

  #bar(sections: readonly Laid[]): HTMLElement {
    const toggle = themeButton(this.theme);
    return h(
      "div",
      { class: "bar" },
      h("strong", {}, "Lockgate"),
      h(
        "nav",
        { "aria-label": "Sections" },
        ...sections.map((section) => h("a", { href: `#${section.id}` }, section.short)),
      ),
      h(
        "span",
        { class: "end" },
        this.report.runs.length > 0 ? picker(this.selection) : null,
        share(this.report),
        toggle,
      ),
    );
  }

  /**
   * Redraws everything for paper, which is narrow and white and has no folded parts, and afterwards for the
   * screen.
   */
  #printing(): void {
    let folded: HTMLDetailsElement[] = [];
    window.addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll<HTMLDetailsElement>('details[data-print="open"]:not([open])')];
      for (const details of folded) details.open = true;
      document.body.classList.add("printing");
      this.theme.printing(true);
      for (const frame of this.frames) {
        frame.show();
        frame.flush();
      }
    });
    window.addEventListener("afterprint", () => {
      for (const details of folded) details.open = false;
      document.body.classList.remove("printing");
      this.theme.printing(false);
    });
  }
}

/** Shows the live page if a running run served this one, and else the report that it carries. */
async function showCarried(root: HTMLElement): Promise<void> {
  let data: object = {};
  let problem = "This page carries no results: it is the template that results are put into.";
  try {
    data = await carriedData();
  } catch (error) {
    problem = `The data of this page cannot be read: ${String(error)}`;
  }
  if ("live" in data) showLive(root);
  else if ("schema" in data) new Page(data as Report).show(root, "");
  else new Page(EMPTY).show(root, problem);
}

const root = document.getElementById("page");
if (root) void showCarried(root);
