/** The section that steps through the decisions of a port: controls, and the drawing of the current step. */
import { announce, h } from "../dom";
import type { Decisions, PacketDocument } from "../generated/lockgate";
import type { Theme } from "../theme";
import { type Files, Overtaken } from "./engine";
import type { Place } from "./place";
import { decisionsOf, drawDecision, drawTree, eventOf, timeOf } from "./step-view";
import type { Supervised } from "./supervised";
import { type Goal, Walk } from "./walk";

/** A text that is stepped through. */
export interface Stepped {
  text: string;
  files: Files;
}

/** Calls of the section to the page. */
interface Calls {
  /** Starts a worker. */
  start(): Supervised;
  /** Returns the text. */
  current(): Stepped;
  /** Called when another step is shown. */
  moved(): void;
  /** Returns the number of a flow's colour in the figures. */
  slotOf(flow: string): number;
}

const GOALS: readonly (readonly [Goal, string, string])[] = [
  ["drop", "Next drop", "d"],
  ["mark", "Next mark", "m"],
  ["late", "Next late packet", "l"],
];

export class Steps {
  readonly element = h("section", { class: "steps", id: "steps", "aria-labelledby": "steps-title" });
  readonly #opener = h(
    "button",
    { type: "button", id: "step", onclick: () => void this.open() },
    "Step through the decisions",
  );
  readonly #port = h("select", { "aria-label": "Port", onchange: () => void this.#change(this.#port.value) });
  readonly #time = h("input", {
    type: "number",
    min: 0,
    step: "any",
    "aria-label": "Time in seconds",
    onchange: () => void this.#go(() => this.#walk?.to({ at: this.#time.valueAsNumber || 0, nth: 0 })),
  });
  readonly #late = h("input", {
    type: "number",
    min: 0,
    value: 20,
    step: "any",
    "aria-label": "Late after, in milliseconds",
    onchange: () => {
      if (this.#walk) this.#walk.late = (this.#late.valueAsNumber || 0) / 1000;
    },
  });
  readonly #slider = h("input", {
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    "aria-label": "Step",
    oninput: () => {
      if (!this.#walk) return;
      this.#walk.index = this.#slider.valueAsNumber;
      this.#draw();
    },
  });
  readonly #event = h("p", { class: "event", role: "status", "aria-live": "polite" });
  readonly #shown = h("div", { class: "step-shown" });
  readonly #controls = h("div", { class: "step-controls", hidden: true });
  #worker: Supervised | null = null;
  #walk: Walk | null = null;
  #isBusy = false;
  #isOpen = false;

  constructor(
    readonly theme: Theme,
    readonly calls: Calls,
  ) {
    const button = (name: string, key: string, act: () => unknown): HTMLElement =>
      h("button", { type: "button", title: `Key: ${key}`, onclick: () => void act() }, name);
    this.#controls.append(
      h(
        "div",
        { class: "row" },
        button("Back", "←", () => this.#go(() => this.#walk?.back(), "This is the first step")),
        button("Next", "→", () => this.#go(() => this.#walk?.next(), "This is the last step")),
        ...GOALS.map(([goal, name, key]) => button(name, key, () => this.#toNext(goal))),
      ),
      this.#slider,
      h(
        "div",
        { class: "row soft" },
        h("label", {}, "Port ", this.#port),
        h("label", {}, "Time ", this.#time, " s"),
        h("label", {}, "Late after ", this.#late, " ms"),
      ),
    );
    this.element.append(
      h("h2", { id: "steps-title" }, "Why this packet?"),
      h(
        "p",
        { class: "note" },
        "Stops the run at a packet, and shows the state by which the scheduler decides, and its reason.",
      ),
      this.#opener,
      this.#controls,
      this.#event,
      this.#shown,
    );
    this.element.addEventListener("keydown", (event) => this.#press(event));
    theme.onChange(() => this.#draw());
  }

  /** Step and port that are shown, for an address. */
  get place(): Pick<Place, "step" | "port"> {
    return { step: this.#isOpen ? (this.#walk?.place ?? null) : null, port: this.#walk?.port ?? null };
  }

  /** Opens the section at a step, or at the first one. */
  async open({ step, port }: Pick<Place, "step" | "port"> = { step: null, port: null }): Promise<void> {
    this.#isOpen = true;
    const hadFocus = document.activeElement === this.#opener;
    this.#opener.hidden = true;
    this.#walk = this.#begin(port);
    await this.#go(async () => {
      const found = await this.#walk?.to(step ?? { at: 0, nth: 0 });
      // Packets that wait make a decision of the first step.
      if (found && step === null) while (this.#isTrivial() && (await this.#walk?.next()));
      return found ?? false;
    }, "The port decides nothing there");
    // The button that had the focus is gone; keys step from here on.
    if (hadFocus) this.#slider.focus({ preventScroll: true });
  }

  /** Shows another text: the same time of it, if the section is open. */
  changed(): void {
    this.#worker?.next();
    if (!this.#isOpen) return;
    const { step, port } = this.place;
    this.element.classList.add("behind");
    void this.open({ step: step ?? { at: 0, nth: 0 }, port });
  }

  close(): void {
    this.#isOpen = false;
    this.#walk = null;
    this.#opener.hidden = false;
    this.#controls.hidden = true;
    this.#event.textContent = "";
    this.#shown.replaceChildren();
  }

  #begin(port: string | null): Walk {
    const { text, files } = this.calls.current();
    this.#worker ??= this.calls.start();
    const worker = this.#worker;
    const walk = new Walk(async (request): Promise<Decisions> => {
      const { value } = await worker.call("decisions", { scenario: { text }, ...request }, files);
      return value;
    }, port);
    walk.late = (this.#late.valueAsNumber || 0) / 1000;
    return walk;
  }

  /** Returns whether no choice is made at this step: at most one packet waits. */
  #isTrivial(): boolean {
    const walk = this.#walk;
    return walk !== null && (walk.current?.packets ?? 0) < 3 && walk.index < 150;
  }

  async #change(port: string): Promise<void> {
    const at = this.#walk?.current?.at ?? 0;
    await this.open({ step: { at, nth: 0 }, port });
  }

  #toNext(goal: Goal): Promise<void> {
    const [, name = ""] = GOALS.find(([one]) => one === goal) ?? [];
    return this.#go(
      () => this.#walk?.toNext(goal),
      `No ${name.replace("Next ", "")} until the end of the run`,
    );
  }

  #follow(packet: PacketDocument): Promise<void> {
    return this.#go(
      () => this.#walk?.toEndOf(packet),
      `${packet.flow}#${packet.sequence} stays to the end of the run`,
    );
  }

  /** Moves, and draws where it came to. */
  async #go(move: () => Promise<boolean> | undefined, otherwise = ""): Promise<void> {
    if (this.#isBusy && this.#walk?.current) return;
    this.#isBusy = true;
    const slow = setTimeout(() => this.element.classList.add("busy"), 150);
    try {
      const moved = await move();
      if (moved === false && otherwise !== "") announce(otherwise);
      this.element.classList.remove("behind");
      if (this.#walk?.current) this.#draw();
      else this.#event.textContent = `${otherwise}.`;
    } catch (error) {
      if (error instanceof Overtaken) return;
      this.#event.textContent = `It cannot be stepped through: ${error instanceof Error ? error.message : String(error)}.`;
    } finally {
      clearTimeout(slow);
      this.#isBusy = false;
      this.element.classList.remove("busy");
    }
  }

  #colourOf(flow: string): string {
    const { series } = this.theme.ink;
    return series[this.calls.slotOf(flow) % series.length] as string;
  }

  #draw(): void {
    const walk = this.#walk;
    const step = walk?.current;
    if (!walk || !step) return;
    this.#controls.hidden = false;
    const names = walk.ports.map((name) => h("option", { value: name }, name));
    if (this.#port.childElementCount !== names.length) this.#port.replaceChildren(...names);
    this.#port.value = walk.port ?? "";
    this.#time.value = String(Number(step.at.toFixed(9)));
    this.#time.max = String(walk.end);
    this.#slider.max = String(walk.steps.length - 1);
    this.#slider.valueAsNumber = walk.index;
    this.#slider.setAttribute("aria-valuetext", `${timeOf(step.at)} ${eventOf(step)}`);
    const decisions = decisionsOf(step);
    this.#event.replaceChildren(
      h("span", { class: "at" }, timeOf(step.at)),
      ` ${eventOf(step)}`,
      h("span", { class: "offscreen" }, `. ${decisions.map(({ sentence }) => sentence).join("; ")}`),
    );
    const drawing = {
      colourOf: (flow: string) => this.#colourOf(flow),
      follow: (packet: PacketDocument) => void this.#follow(packet),
    };
    const focused = this.#shown.contains(document.activeElement);
    this.#shown.replaceChildren(drawTree(step, walk.tree, drawing), ...decisions.map(drawDecision));
    // A packet that was chosen is drawn anew.
    if (focused) this.#slider.focus();
    this.calls.moved();
  }

  #press(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (!this.#walk || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("select, input[type=number], .state-table") !== null && event.key.startsWith("Arrow"))
      return;
    const goal = GOALS.find(([, , key]) => key === event.key)?.[0];
    const acts: Record<string, () => unknown> = {
      ArrowRight: () => this.#go(() => this.#walk?.next(), "This is the last step"),
      ArrowLeft: () => this.#go(() => this.#walk?.back(), "This is the first step"),
    };
    const act = goal ? () => this.#toNext(goal) : acts[event.key];
    if (!act || (goal && target.closest("input[type=number], select"))) return;
    event.preventDefault();
    event.stopPropagation();
    void act();
  }
}
