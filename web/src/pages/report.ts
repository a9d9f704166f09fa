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
import { bandsFigure } from "../figures/bands";
import { boxFigure } from "../figures/box";
import { ccdfFigure, cdfFigure, gapFigure } from "../figures/distribution";
import { extraFigure } from "../figures/extra";
import { frontFigure } from "../figures/front";
import { gridOf, heatFigure } from "../figures/heat";
import { intervalsFigure } from "../figures/intervals";
import { multiplesFigure, pairOf } from "../figures/multiples";
import { hasSenders, senderFigure } from "../figures/sender";
import { dropsFigure, splitFigure } from "../figures/stack";
import { timeFigure } from "../figures/time";
import { topologyFigure } from "../figures/topology";
import { date, shortened } from "../format";
import { type Context, Frame } from "../frame";
import type { Variants } from "../generated/lockgate";
import { EMPTY, type Report, seedNote } from "../report";
import { answering, answerPart, facts } from "../sections/answer";
import { flowsSection } from "../sections/flows";
import { isOfMembers, membersPart } from "../sections/members";
import { claimStrips, comparisonTables, definitionList, eventTable } from "../sections/notes";
import { picker } from "../sections/picker";
import { queuesTable } from "../sections/queues";
import { setupSection } from "../sections/setup";
import { variantsSubtitle, variantsTable } from "../sections/variants";
import { expectTable, verdictSection, warningList } from "../sections/verdict";
import { Selection } from "../selection";
import { SharedWindow } from "../shared-window";
import { runName } from "../style";
import { Theme } from "../theme";
import { showLive } from "./live";

const CURVES =
  "Delays are those of all seeds together; over time, the run of the first seed. “Shown” at the top of the page chooses flows and variants.";

/** Largest number of nodes of a network that is drawn beside the verdict. */
const SMALL = 16;

interface Section {
  id: string;
  title: string;
  short: string;
  parts: (HTMLElement | null)[];
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

class Page {
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

  /** Returns the frame of a figure, whose caption ends with `note`. */
  #frame(make: Make, note: string = seedNote(this.report)): HTMLElement {
    const noted: Make = (view, settings) => {
      const figure = make(view, settings);
      return { ...figure, caption: `${figure.caption}${note}` };
    };
    const frame = new Frame(noted, this.context);
    this.frames.push(frame);
    return frame.element;
  }

  #pair(...makes: Make[]): HTMLElement | null {
    if (makes.length === 0) return null;
    return h("div", { class: makes.length > 1 ? "pair" : "" }, ...makes.map((make) => this.#frame(make)));
  }

  /**
   * Returns the sections of a comparison: intervals of every metric, by two variables, against each other,
   * and curves.
   */
  #variantSections(data: Variants): Section[] {
    const { report } = this;
    const metrics = data.metrics.map(
      (metric): Make =>
        (_, settings) =>
          intervalsFigure(data, metric, settings),
    );
    // First those with a choice to make: metrics that agree have one best variant.
    const choices = data.fronts.toSorted((a, b) => b.on.length - a.on.length);
    const fronts = choices.map(
      (front): Make =>
        (_, settings) =>
          frontFigure(data, front, settings),
    );
    // The first trade-off is seen beside the table, where there is room.
    const [first] = fronts.splice(0, 1);
    const table = variantsTable(data, this.theme);
    const sections: Section[] = [
      {
        id: "verdict",
        title: "Verdict",
        short: "Verdict",
        parts: [
          ...verdictSection(report),
          first ? h("div", { class: "compared" }, table, this.#frame(first)) : table,
        ],
      },
      {
        id: "variants",
        title: "Variants",
        short: "Variants",
        parts: [this.#pair(...metrics)],
      },
    ];
    const by = data.metrics.flatMap((metric): Make[] => {
      const grid = gridOf(data, metric);
      const heat: Make[] = grid === null ? [] : [() => heatFigure(data, metric, grid)];
      if (pairOf(data) === null) return heat;
      return [(_, settings) => multiplesFigure(data, metric, settings), ...heat];
    });
    if (by.length > 0)
      sections.push({
        id: "variables",
        title: "By two variables",
        short: "Variables",
        parts: by.map((make) => this.#frame(make)),
      });
    if (fronts.length > 0)
      sections.push({
        id: "fronts",
        title: "Trade-offs",
        short: "Trade-offs",
        parts: [this.#pair(...fronts)],
      });
    if (report.runs.length > 0)
      sections.push({
        id: "curves",
        title: "Curves of each variant",
        short: "Curves",
        parts: [
          h("p", { class: "note" }, CURVES),
          this.#pair(cdfFigure, ccdfFigure),
          this.#frame(boxFigure),
          this.#frame(timeFigure),
        ],
      });
    sections.push(...this.#setup());
    return sections;
  }

  /** Returns the sections on the setup of the run and the definitions of the metrics. */
  #setup(): Section[] {
    const { report } = this;
    const picture = this.#frame(() => topologyFigure(report), "");
    const sections: Section[] = [
      { id: "setup", title: "What was run", short: "Setup", parts: setupSection(report, picture) },
    ];
    if (report.definitions.length > 0)
      sections.push({
        id: "definitions",
        title: "Definitions",
        short: "Definitions",
        parts: [definitionList(report)],
      });
    return sections;
  }

  #sections(): Section[] {
    const { report } = this;
    if (report.variants) return this.#variantSections(report.variants);
    const pair = (...makes: Make[]): HTMLElement | null => this.#pair(...makes);
    // Experiments of many runs have figures and tables instead of the runs themselves.
    const hasRuns = report.runs.length > 0;
    const bands = report.figures.find((figure) => figure.kind === "bands");
    // The delays of the worst members are drawn in the rows of their table.
    const others = report.figures.filter((figure) => figure.kind !== "map" && figure !== bands);
    const makes = others.map(
      (figure): Make =>
        (_, settings) =>
          extraFigure(figure, settings),
    );
    const overMembers = bands
      ? pair((_, settings) => bandsFigure(bands, report, settings), ...makes.splice(0, 1))
      : null;
    const extra = makes.map((make) => this.#frame(make));
    const overTime = hasRuns ? this.#frame(timeFigure) : null;
    const first = overMembers ?? overTime ?? extra.shift();
    const members = membersPart(report, this.context, this.frames);
    const places = members ? report.comparisons.filter(({ columns }) => columns[0] === "port") : [];
    const tables = report.comparisons.filter((table) => !places.includes(table) && !isOfMembers(table));
    const comparisons = comparisonTables(tables);
    const sections: Section[] = [
      {
        id: "verdict",
        title: "Verdict",
        short: "Verdict",
        parts: [...this.#answer(), ...claimStrips(hasRuns ? [] : tables), first ?? null, warningList(report)],
      },
    ];
    if (members)
      sections.push({
        id: "members",
        title: "Where and who",
        short: "Members",
        parts: [...comparisonTables(places), members],
      });
    const expectations = expectTable(report);
    if (expectations)
      sections.push({
        id: "expectations",
        title: "Expectations",
        short: "Expectations",
        parts: [expectations],
      });
    if (hasRuns) {
      sections.push(
        { id: "flows", title: "Flows", short: "Flows", parts: flowsSection(report) },
        {
          id: "queues",
          title: "Queues and events",
          short: "Queues",
          parts: [queuesTable(report), this.#frame(dropsFigure), h("h3", {}, "Events"), eventTable(report)],
        },
        {
          id: "delay",
          title: "Delay",
          short: "Delay",
          parts: [
            first === overTime ? null : overTime,
            pair(cdfFigure, ccdfFigure),
            pair(boxFigure, splitFigure),
            this.#frame(gapFigure),
          ],
        },
      );
      if (hasSenders(report))
        sections.push({
          id: "senders",
          title: "TCP senders",
          short: "TCP",
          parts: [this.#frame(senderFigure)],
        });
    }
    if (extra.length + comparisons.length > 0) {
      const title = members
        ? "Groups"
        : comparisons.length > 0
          ? hasRuns
            ? "Comparison"
            : "Results"
          : "Applications";
      // Many figures without runs, as those of an experiment, are small multiples.
      const shape = !hasRuns && extra.length > 3 ? "multiples" : extra.length > 1 ? "pair" : "";
      const figures = extra.length > 0 ? h("div", { class: shape }, ...extra) : null;
      sections.push({ id: "comparison", title, short: title, parts: [...comparisons, figures] });
    }
    sections.push(...this.#setup());
    return sections;
  }

  /** Returns the verdict with the expectations, beside the network. */
  #answer(): HTMLElement[] {
    const verdict = answering(this.report)?.verdict;
    if (!verdict) return verdictSection(this.report);
    const { nodes } = this.report.topology;
    const small = nodes.length > 0 && nodes.length <= SMALL;
    const network = small
      ? h(
          "div",
          { class: "network" },
          this.#frame(() => topologyFigure(this.report, true), ""),
        )
      : null;
    return [answerPart(this.report, verdict, this.selection, network)];
  }

  #bar(sections: readonly Section[]): HTMLElement {
    const label = (): string => (this.theme.ink.name === "dark" ? "Light" : "Dark");
    const toggle = h(
      "button",
      {
        type: "button",
        id: "theme",
        title: "Switch between light and dark",
        onclick: () => this.theme.toggle(),
      },
      label(),
    );
    this.theme.onChange(() => {
      toggle.textContent = label();
    });
    return h(
      "div",
      { class: "bar" },
      h("strong", {}, "Lockgate"),
      h(
        "nav",
        { "aria-label": "Sections" },
        ...sections.map((section) => h("a", { href: `#${section.id}` }, section.short)),
      ),
      h("span", { class: "end" }, this.report.runs.length > 0 ? picker(this.selection) : null, toggle),
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
