/** A walk through the steps of a port: a window of them, which moves along the run as steps beyond it are asked for. */
import type { Decisions, DecisionsRequest, PacketDocument, StepDocument } from "../generated/lockgate";
import type { StepPlace } from "./place";

/** Asks for steps; the scenario is that of the walk. */
export type Ask = (request: Omit<DecisionsRequest, "scenario">) => Promise<Decisions>;

/** Event up to which steps are skipped. */
export type Goal = "drop" | "mark" | "late";

/** Number of steps in a window. */
const COUNT = 200;
/** Number of windows that are searched for a packet. */
const WINDOWS = 40;

/** Returns the time in seconds as a text, rounded down to nanoseconds. */
const before = (at: number): string => `${(Math.floor(at * 1e9) / 1e9).toFixed(9)}s`;
const after = (at: number): string => `${(Math.floor(at * 1e9 + 1) / 1e9).toFixed(9)}s`;

const keyOf = (step: StepDocument): string => JSON.stringify([step.at, step.step]);

const isPacket = (packet: PacketDocument, other: PacketDocument): boolean =>
  packet.flow === other.flow && packet.sequence === other.sequence;

/** Returns whether a step is the end of a packet at the port. */
const ends = ({ step }: StepDocument, packet: PacketDocument): boolean =>
  (step.event === "departure" || step.event === "drop") && isPacket(step.packet, packet);

export class Walk {
  ports: readonly string[] = [];
  tree: Decisions["tree"] = [];
  port: string | null;
  /** End of the run in seconds. */
  end = 0;
  steps: StepDocument[] = [];
  index = 0;
  /** Sojourn in seconds beyond which a packet is late. */
  late = 0.02;

  constructor(
    readonly ask: Ask,
    port: string | null,
  ) {
    this.port = port;
  }

  get current(): StepDocument | null {
    return this.steps[this.index] ?? null;
  }

  /** Place of the current step. */
  get place(): StepPlace | null {
    const { current } = this;
    if (!current) return null;
    const same = this.steps.slice(0, this.index).filter(({ at }) => at === current.at);
    return { at: current.at, nth: same.length };
  }

  /** Goes to the first step at or behind a time, and `nth` further at the same time. */
  async to({ at, nth }: StepPlace): Promise<boolean> {
    const found = await this.#asked({ from: before(at), count: COUNT });
    if (found.length === 0) return false;
    this.steps = found;
    // A time in an address is rounded as numbers are.
    const first = found.findIndex((step) => step.at >= at - 1e-12);
    this.index = Math.min(Math.max(first, 0) + nth, found.length - 1);
    return true;
  }

  /** Goes to the next step; false at the end of the run. */
  async next(): Promise<boolean> {
    if (this.index + 1 < this.steps.length) {
      this.index += 1;
      return true;
    }
    return this.#further();
  }

  /** Goes to the step before; false at the first one. */
  async back(): Promise<boolean> {
    if (this.index > 0) {
      this.index -= 1;
      return true;
    }
    const { current } = this;
    if (!current || current.at === 0) return false;
    const span = Math.max((this.steps.at(-1)?.at ?? 0) - current.at, 0.001);
    for (let width = 2 * span; ; width *= 8) {
      const from = Math.max(0, current.at - width);
      const found = await this.#asked({ from: before(from), until: after(current.at), count: 2 * COUNT });
      const here = found.findIndex((step) => keyOf(step) === keyOf(current));
      const earlier = found.slice(0, here < 0 ? 0 : here);
      if (earlier.length > 0) {
        const kept = earlier.slice(-COUNT);
        this.index = kept.length - 1;
        this.steps = [...kept, ...this.steps].slice(0, 2 * COUNT);
        return true;
      }
      if (from === 0) return false;
    }
  }

  /** Goes to the next drop, mark or late packet; false if there is none. */
  async toNext(goal: Goal): Promise<boolean> {
    const reached = ({ step }: StepDocument): boolean =>
      goal === "drop"
        ? step.event === "drop"
        : step.event === "departure" && (goal === "mark" ? step.marked : step.sojourn > this.late);
    const here = this.steps.findIndex((step, at) => at > this.index && reached(step));
    if (here >= 0) {
      this.index = here;
      return true;
    }
    const last = this.steps.at(-1);
    if (!last) return false;
    const answer = await this.#answered({
      from: after(last.at),
      until: goal,
      late: `${(this.late * 1e6).toFixed(0)}us`,
      count: COUNT,
    });
    const found = answer.steps.findLastIndex(reached);
    if (!answer.reached || found < 0) return false;
    [this.steps, this.index] = [answer.steps, found];
    return true;
  }

  /** Goes to where a packet leaves or is dropped; false if it stays to the end, or is not found. */
  async toEndOf(packet: PacketDocument): Promise<boolean> {
    const [steps, index] = [this.steps, this.index];
    for (let windows = 0; windows < WINDOWS; windows++) {
      const here = this.steps.findIndex((step, at) => at >= this.index && ends(step, packet));
      if (here >= 0) {
        this.index = here;
        return true;
      }
      this.index = this.steps.length - 1;
      if (!(await this.#further())) break;
    }
    [this.steps, this.index] = [steps, index];
    return false;
  }

  /** Replaces the window by the one behind it. */
  async #further(): Promise<boolean> {
    const last = this.steps.at(-1);
    if (!last) return false;
    const found = await this.#asked({ from: before(last.at), count: 2 * COUNT });
    const here = found.findLastIndex((step) => keyOf(step) === keyOf(last));
    const fresh = found.slice(here + 1);
    if (fresh.length === 0) return false;
    // The current one stays in the window, to go back without a question.
    const kept = this.steps.slice(-COUNT / 2);
    [this.steps, this.index] = [[...kept, ...fresh], kept.length];
    return true;
  }

  async #asked(request: Omit<DecisionsRequest, "scenario">): Promise<StepDocument[]> {
    return (await this.#answered(request)).steps;
  }

  async #answered(request: Omit<DecisionsRequest, "scenario">): Promise<Decisions> {
    const answer = await this.ask(this.port === null ? request : { ...request, port: this.port });
    ({ ports: this.ports, tree: this.tree, port: this.port, end: this.end } = answer);
    return answer;
  }
}
