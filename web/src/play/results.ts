/** The results of the text: sentence, answer and figures, with the result before as a ghost. */
import { h } from "../dom";
import type { Make } from "../figure";
import { bandsFigure } from "../figures/bands";
import { ccdfFigure, cdfFigure } from "../figures/distribution";
import { extraFigure } from "../figures/extra";
import { COARSE, timeFigure } from "../figures/time";
import { isSmall, networkFigure } from "../figures/topology";
import { type Context, Frame } from "../frame";
import { EMPTY, type Report } from "../report";
import { answering, answerPart, facts } from "../sections/answer";
import { Selection } from "../selection";
import { SharedWindow } from "../shared-window";
import type { Theme } from "../theme";
import { haunted, viewOf } from "./ghost";

/** Time in ms after which work goes on without a painted frame. */
const HIDDEN_MS = 200;

/** Work that is done in tasks of its own, the next not before the page has painted. */
class FrameQueue {
  readonly #waiting: (() => void)[] = [];
  #isAwake = false;

  add(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#isAwake) this.#next();
  }

  #next(): void {
    this.#isAwake = this.#waiting.length > 0;
    if (!this.#isAwake) return;
    // A page in the background paints nothing: a timer goes on there.
    const begin = (): void => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      setTimeout(() => {
        this.#waiting.shift()?.();
        this.#next();
      });
    };
    const frame = requestAnimationFrame(begin);
    const timer = setTimeout(begin, HIDDEN_MS);
  }
}

export class Results {
  readonly sentence = h(
    "p",
    { id: "sentence", class: "headline none", role: "status", "aria-live": "polite" },
    "Starting …",
  );
  readonly element = h("div", { class: "results" });
  /** Figures that only whole runs have. */
  readonly further = h("div", { class: "results" });
  readonly #facts = h("p", { class: "note facts" });
  readonly #answer = h("div", { class: "answers" });
  readonly #extra = h("div", { class: "extra" });
  readonly #context: Context;
  readonly #queue: FrameQueue;
  #frames: { time: Frame; others: Frame[] } | null = null;
  /** The last whole result; the beginning of a newer one; one that the reader keeps. */
  #whole: Report | null = null;
  #preview: Report | null = null;
  #pinned: Report | null = null;
  #isBehind = false;
  /** True if the figure over time is drawn coarsely: another one may follow at once. */
  #isCoarse = false;

  constructor(readonly theme: Theme) {
    const later = (work: () => void): void => void setTimeout(work);
    this.#queue = new FrameQueue();
    this.#context = {
      selection: new Selection(EMPTY),
      theme,
      time: new SharedWindow(),
      configuration: "",
      later,
    };
  }

  get whole(): Report | null {
    return this.#whole;
  }

  /** Returns the number of a flow's colour. */
  slotOf(flow: string): number {
    return this.#context.selection.view().slotOf(flow);
  }

  /** Keeps the last whole result as the ghost, or nothing. */
  pin(on: boolean): void {
    this.#pinned = on ? this.#whole : null;
    this.#frames?.time.refresh();
  }

  /** Says that there is no result, if a text that cannot be run is the first one. */
  none(): void {
    if (this.#whole === null)
      this.sentence.textContent = "No result yet: the scenario cannot be run as it is.";
  }

  /** Marks the results as those of an older text: a newer run has begun, or the text is broken. */
  behind(): void {
    this.#isBehind = true;
    this.sentence.classList.add("old");
    for (const part of [this.element, this.further]) part.classList.add("behind");
  }

  /** Shows the beginning of a run, in front of the last whole result. */
  preview(report: Report): void {
    if (this.#frames === null) {
      this.#begin(report);
      return;
    }
    this.#preview = report;
    this.#isCoarse = true;
    this.element.classList.remove("behind");
    this.#frames.time.refreshSoon();
  }

  /** Shows the result of a whole run; coarsely if another may follow at once, until `refine` is called. */
  show(report: Report, isCoarse = false): void {
    this.#whole = report;
    this.#isCoarse = isCoarse;
    this.#preview = null;
    this.#isBehind = false;
    for (const part of [this.element, this.further]) part.classList.remove("behind");
    if (this.#frames === null) this.#begin(report);
    else this.#context.selection.replace(report);
    this.#tell(report);
  }

  /** Draws all points of the result, once no other follows. */
  refine(): void {
    if (!this.#isCoarse) return;
    this.#isCoarse = false;
    this.#frames?.time.refreshSoon();
  }

  #ghost(): Report | null {
    return this.#pinned ?? (this.#isBehind || this.#preview ? this.#whole : null);
  }

  #begin(report: Report): void {
    this.#context.selection.replace(report);
    const time: Make = (view, settings) => {
      const own = this.#preview ? viewOf(this.#preview, view) : view;
      const set = this.#isCoarse ? { ...settings, [COARSE]: "yes" } : settings;
      return haunted(timeFigure, this.#ghost())(own, set);
    };
    // The other figures come after the first, one a frame: painted together they make a long task.
    const others = { ...this.#context, later: (work: () => void) => this.#queue.add(work) };
    const frame = (make: Make): Frame => new Frame(make, others);
    const small = isSmall(report) ? [frame(networkFigure)] : [];
    this.#frames = {
      time: new Frame(time, this.#context),
      others: [frame(cdfFigure), frame(ccdfFigure), ...small],
    };
    const [cdf, ccdf, ...network] = this.#frames.others.map((one) => one.element);
    this.element.replaceChildren(this.#facts, this.#frames.time.element, this.#answer, this.#extra);
    this.further.replaceChildren(h("div", { class: "pair" }, cdf, ccdf), ...network);
    this.#frames.time.fit();
    this.#frames.time.show();
  }

  /** Shows the sentences and tables of a report. */
  #tell(report: Report): void {
    const summary = answering(report);
    const verdict = summary?.verdict;
    const part = verdict ? answerPart(report, verdict, this.#context.selection, []) : null;
    const headline = part?.querySelector(".headline") ?? null;
    headline?.remove();
    const sentence =
      headline ?? h("p", { class: "headline none" }, report.verdict[0] ?? "The run has ended.");
    this.sentence.className = sentence.className;
    this.sentence.replaceChildren(...sentence.childNodes);
    this.#facts.textContent = `${report.title === "" ? "" : `${report.title}: `}${summary ? facts(summary, false) : ""}`;
    this.#answer.replaceChildren(
      ...(part ? [part] : report.verdict.slice(1).map((line) => h("p", { class: "finding" }, line))),
    );
    // Percentiles of groups are part of the report: their figures are made anew.
    // Not from the list of all figures, which a page without them does not carry.
    const bands = report.figures.find(({ kind }) => kind === "bands");
    const other = report.figures.find(({ kind }) => kind !== "bands" && kind !== "map");
    const makes: Make[] = bands
      ? [
          (view, settings) => bandsFigure(bands, view.report, settings),
          ...(other ? [((_, settings) => extraFigure(other, settings)) satisfies Make] : []),
        ]
      : [];
    const frames = makes.map(
      (make) => new Frame(make, { ...this.#context, selection: new Selection(report) }),
    );
    this.#extra.replaceChildren(...frames.map((one) => one.element));
    for (const one of frames) {
      one.fit();
      one.show();
    }
  }
}
