/** Runs of the text: first its beginning, then all of it. A newer change of the text ends them. */
import { h } from "../dom";
import type { JobProgress, ProblemData, Ran, Sliders as SlidersData } from "../generated/lockgate";
import type { Report } from "../report";
import { type Answer, type Files, json, Overtaken } from "./engine";
import { problemsOf } from "./problems";
import type { Results } from "./results";
import type { Supervised } from "./supervised";

/** Time in ms that the preview of a run takes, about. */
const PREVIEW = 35;
/** Least part of a run that a preview leaves out: of a shorter rest there is none. */
const REST = 0.4;

/** Time in ms after a run at which its text is settled. */
const SETTLED = 250;

/** Cause of a run: a text from elsewhere, a key, a slider that is let go, or one that moves. */
export type Cause = "opened" | "typed" | "set" | "sliding";

/** A text that is run. */
export interface Runnable {
  text: string;
  name: string;
  files: Files;
}

/** Calls of a runner to the page. */
interface Calls {
  tell(problems: readonly ProblemData[]): void;
  /** Shows the knobs of a text. */
  knobs(knobs: SlidersData, text: string): void;
  /** Called when a text has been run that no slider moves any more. */
  settled(text: string): void;
}

export class Runner {
  readonly progress = h("progress", {
    class: "progress",
    max: 1,
    value: 0,
    "aria-label": "Run",
    hidden: true,
  });
  engine: Supervised | null = null;
  #round = 0;
  /** Simulated seconds a millisecond, of the last whole run. */
  #speed = 0;
  #duration = 0;

  constructor(
    readonly results: Results,
    readonly calls: Calls,
  ) {}

  async run(runnable: Runnable, why: Cause): Promise<void> {
    if (!this.engine) return;
    this.engine.next();
    this.#round += 1;
    const round = this.#round;
    this.results.behind();
    try {
      await this.#steps(this.engine, runnable, why);
    } catch (error) {
      if (error instanceof Overtaken || round !== this.#round) return;
      this.calls.tell(problemsOf(error));
      this.#broken();
    }
  }

  async #steps(engine: Supervised, { text, name, files }: Runnable, why: Cause): Promise<void> {
    const scenario = { text, name };
    if (why === "typed" || why === "opened") {
      const { value } = await engine.call("check", scenario, files);
      this.calls.tell(value.problems);
      if (value.size) this.#duration = value.size.duration_s;
      if (value.problems.some((one) => one.is_error)) return this.#broken();
    }
    const until = this.#speed * PREVIEW;
    const hasPreview = this.results.whole !== null && why !== "opened" && until > 0;
    if (hasPreview && until < this.#duration * (1 - REST)) {
      const beginning = { run: { scenario, until: `${Math.max(1, Math.round(until * 1000))}ms` } };
      const { parts } = await engine.job(beginning, undefined, files);
      this.results.preview(json<Report>(parts["report"]));
    }
    const begun = performance.now();
    const round = this.#round;
    const progress = ({ done, runs, has_result: isTold }: JobProgress): void => {
      this.progress.hidden = performance.now() - begun < 250;
      [this.progress.max, this.progress.value] = [runs, done];
      this.progress.title = isTold ? "Runs without each change, which tell its effect" : "";
    };
    let settled: Promise<void> | null = null;
    const early = (answer: Answer<Ran>): void => {
      if (round !== this.#round) return;
      this.#show(answer, performance.now() - begun, why);
      settled = this.#settle(engine, text, files, why);
      settled.catch(() => {});
    };
    const answer = (await engine.job({ run: { scenario } }, { progress, early }, files)) as Answer<Ran>;
    await settled;
    // What follows the effects of changes is the last picture of this text.
    if (settled === null) this.#show(answer, performance.now() - begun, why);
    else this.#show(answer, null, "opened");
    this.progress.hidden = true;
    if (settled === null) await this.#settle(engine, text, files, why);
  }

  /** Shows the result of a whole run, with the milliseconds that it took; null if others followed it. */
  #show({ value, parts }: Answer<Ran>, took: number | null, why: Cause): void {
    const report = json<Report>(parts["report"]);
    const [first] = report.runs;
    if (first) this.#duration = first.summary.duration_s;
    if (took !== null) this.#speed = this.#duration / Math.max(took, 1);
    this.results.show(report, why === "sliding" || why === "set");
    this.calls.tell(value.warnings);
  }

  /** Shows the knobs of a text that is shown. */
  async #settle(engine: Supervised, text: string, files: Files, why: Cause): Promise<void> {
    if (why === "sliding") return;
    // Knobs take as long as a run: they come when no further change has followed.
    const round = this.#round;
    if (why !== "opened") await new Promise((resolve) => setTimeout(resolve, SETTLED));
    if (round !== this.#round) return;
    this.results.refine();
    this.calls.settled(text);
    // The first knobs, and new ranges after a change, come when the picture stands.
    const { value: knobs } = await engine.call("knobs", { text }, files);
    this.calls.knobs(knobs, text);
  }

  /** Keeps the last picture, grey, of a text that cannot be run. */
  #broken(): void {
    this.progress.hidden = true;
    this.results.behind();
    this.results.none();
  }
}
