/** A lesson on the page: its question, the reader's guess, the run, and the explanation. */
import { h } from "../dom";
import { micro } from "../format";
import type { Decisions, RunRequest } from "../generated/lockgate";
import type { Report } from "../report";
import type { Theme } from "../theme";
import { json } from "./engine";
import { type ByHand, LESSONS, type Lesson, type Question } from "./lessons";
import { messageOf } from "./problems";
import { decisionsOf, drawDecision, drawTree, eventOf } from "./step-view";
import type { Supervised } from "./supervised";
import { Walk } from "./walk";

/** Calls of a lesson to the page. */
interface Calls {
  /** Starts a worker. */
  start(): Supervised;
  /** Shows a text in the page. */
  show(text: string): void;
  /** Called when another lesson is shown, or none. */
  moved(lesson: number | null): void;
}

export class Lessons {
  readonly element = h("section", { class: "lesson", hidden: true, "aria-labelledby": "lesson-title" });
  readonly menu = h(
    "details",
    { class: "picker lessons" },
    h("summary", {}, "Lessons"),
    h(
      "div",
      { class: "panel" },
      ...LESSONS.map(({ title }, at) =>
        h("button", { type: "button", onclick: () => this.open(at + 1) }, `${at + 1}. ${title}`),
      ),
    ),
  );
  readonly #body = h("div", { class: "lesson-body" });
  #worker: Supervised | null = null;
  #number: number | null = null;
  #points = 0;
  /** Number of questions and decisions so far. */
  #asked = 0;

  constructor(
    readonly theme: Theme,
    readonly calls: Calls,
  ) {
    this.menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.menu.open = false;
      this.menu.querySelector("summary")?.focus();
    });
  }

  get number(): number | null {
    return this.#number;
  }

  /** Opens a lesson at its first part. */
  open(number: number): void {
    const lesson = LESSONS[number - 1];
    this.menu.open = false;
    if (!lesson) return;
    this.#number = number;
    [this.#points, this.#asked] = [0, 0];
    this.element.hidden = false;
    this.element.replaceChildren(
      h(
        "div",
        { class: "row" },
        h("h2", { id: "lesson-title", tabindex: -1 }, lesson.title),
        h("button", { type: "button", class: "quiet", onclick: () => this.close() }, "Leave the lesson"),
      ),
      h("p", {}, lesson.about),
      this.#body,
    );
    this.#part(lesson, 0);
    this.element.querySelector<HTMLElement>("#lesson-title")?.focus();
    this.calls.moved(number);
  }

  close(): void {
    this.#number = null;
    this.element.hidden = true;
    this.calls.moved(null);
  }

  #part(lesson: Lesson, at: number): void {
    const part = lesson.parts[at];
    if (!part) {
      this.#body.replaceChildren(
        h("p", { role: "status" }, `You were right in ${this.#points} of ${this.#asked}. ${lesson.end}`),
      );
      return;
    }
    const next = (): void => this.#part(lesson, at + 1);
    if (part.kind === "guess") this.#guess(part, next);
    else void this.#byHand(part, next);
    this.#body.prepend(h("p", { class: "note" }, `Part ${at + 1} of ${lesson.parts.length}`));
  }

  // Questions.

  #guess(question: Question, next: () => void): void {
    const answer = h("div", { class: "lesson-answer", role: "status", "aria-live": "polite" });
    const buttons = question.options.map((option, at) =>
      h("button", { type: "button", class: "option", onclick: () => void judge(at) }, option),
    );
    const judge = async (guess: number): Promise<void> => {
      for (const button of buttons) button.disabled = true;
      buttons[guess]?.classList.add("guessed");
      answer.textContent = "The runs are made …";
      this.calls.show(question.text);
      try {
        const { right, measured } = await question.find((text, seed) => this.#run(text, seed));
        buttons[right]?.classList.add("right");
        const isRight = right === guess;
        this.#points += Number(isRight);
        this.#asked += 1;
        answer.replaceChildren(
          h("p", {}, h("b", {}, isRight ? "Right. " : `No: ${question.options[right] ?? ""}. `), measured),
          h("p", {}, question.because),
          h("button", { type: "button", class: "next", onclick: next }, "Go on"),
        );
      } catch (error) {
        answer.textContent = `The runs fail: ${messageOf(error)}.`;
      }
    };
    this.#body.replaceChildren(
      h("p", { class: "ask" }, question.ask),
      h("div", { class: "row", role: "group", "aria-label": "Guesses" }, ...buttons),
      answer,
    );
  }

  async #run(text: string, seed: number): Promise<Report> {
    this.#worker ??= this.calls.start();
    const request: RunRequest = { scenario: { text }, seeds: [seed] };
    const { parts } = await this.#worker.job({ run: request });
    return json<Report>(parts["report"]);
  }

  // Decisions by hand.

  async #byHand(round: ByHand, next: () => void): Promise<void> {
    const place = h("div", {});
    this.#body.replaceChildren(h("p", { class: "ask" }, round.ask), place);
    this.calls.show(round.text);
    this.#worker ??= this.calls.start();
    const worker = this.#worker;
    const walk = new Walk(async (request): Promise<Decisions> => {
      const { value } = await worker.call("decisions", { scenario: { text: round.text }, ...request });
      return value;
    }, round.port);
    try {
      await walk.to({ at: round.from, nth: 0 });
      this.#turn(place, walk, round, 0, next);
    } catch (error) {
      place.textContent = `The run fails: ${messageOf(error)}.`;
    }
  }

  /** Asks for the choice of the current step, and shows the rule's. */
  #turn(place: HTMLElement, walk: Walk, round: ByHand, done: number, next: () => void): void {
    const step = walk.current;
    const decision = step && decisionsOf(step)[0];
    if (!step || !decision || step.step.event !== "departure") {
      const isEnd = !step || done >= round.rounds;
      if (!isEnd) {
        void walk.next().then((moved) => (moved ? this.#turn(place, walk, round, done, next) : next()));
        return;
      }
    }
    if (!step || !decision || done >= round.rounds) {
      place.replaceChildren(
        h("p", {}, round.because),
        h("button", { type: "button", class: "next", onclick: next }, "Go on"),
      );
      return;
    }
    const { series } = this.theme.ink;
    // The queues have the colours that the flows of their names have in the figures.
    const flows = walk.tree.filter(({ is_leaf }) => is_leaf).map(({ name }) => name);
    const drawing = {
      colourOf: (flow: string) => series[Math.max(0, flows.indexOf(flow)) % series.length] as string,
      follow: () => {},
    };
    const hidden = { ...step, step: { event: "empty" as const }, decision: null };
    const rows = decision.rows.map((row) => ({
      ...row,
      fields: row.fields.filter(({ name }) => !round.hides.includes(name)),
    }));
    const asking = { choice: "unknown" as const, why: ["Which queue sends next?"], drops: 0 };
    const open = { ...decision, rows, ...asking };
    const chosen =
      typeof decision.choice === "object" && "packet" in decision.choice ? decision.choice.packet.row : null;
    const answer = h("div", { class: "lesson-answer", role: "status", "aria-live": "polite" });
    const buttons = decision.rows.map((row, at) =>
      h("button", { type: "button", class: "option", onclick: () => judge(at) }, row.name.text),
    );
    const judge = (guess: number): void => {
      for (const button of buttons) button.disabled = true;
      buttons[guess]?.classList.add("guessed");
      if (chosen !== null) buttons[chosen]?.classList.add("right");
      const isRight = guess === chosen;
      this.#points += Number(isRight);
      this.#asked += 1;
      const go = (): void =>
        void walk.next().then((moved) => (moved ? this.#turn(place, walk, round, done + 1, next) : next()));
      const further = h("button", { type: "button", class: "next", onclick: go }, "Next packet");
      answer.replaceChildren(
        h(
          "p",
          {},
          h("b", {}, isRight ? "Right: " : "No: "),
          `${eventOf(step)}. ${micro(decision.sentence)}.`,
        ),
        further,
      );
      further.focus();
    };
    place.replaceChildren(
      h("p", { class: "note" }, `Packet ${done + 1} of ${round.rounds}`),
      drawTree(hidden, walk.tree, drawing),
      drawDecision(open),
      h("div", { class: "row", role: "group", "aria-label": "Queue that sends" }, ...buttons),
      answer,
    );
  }
}
