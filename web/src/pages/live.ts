/** The page of a running run: topology, queues with knobs, strips over time, events; pause and scrub. */
import "uplot/dist/uPlot.min.css";
import "../style/live.css";
import { announce, h, Sight, svg, writeCoded } from "../dom";
import { eventLabel } from "../events";
import type { Sample, Status } from "../generated/lockgate";
import { Bands } from "../live/bands";
import { Choice } from "../live/choice";
import { Condition } from "../live/condition";
import { Ending } from "../live/ending";
import { EventLog } from "../live/event-log";
import { Feed } from "../live/feed";
import { FlowTable } from "../live/flow-table";
import { History } from "../live/history";
import { Inside } from "../live/inside";
import { KnobPanel } from "../live/knobs";
import { canBeSaved, fidelityOf, keysOf } from "../live/offers";
import { Painter } from "../live/painter";
import { portAt } from "../live/parts";
import { Past } from "../live/past";
import { Progress } from "../live/progress";
import { QueueTable } from "../live/queue-table";
import { type Rule, Strips } from "../live/strips";
import { drawTopology } from "../live/topology";
import { Expectations } from "../live/verdict";
import { Theme } from "../theme";

/** Interval at which a flow is asked for, because the run forgets it after a minute. */
const FOLLOWED_MS = 20_000;
/** Text of the state of a running run, by its mode. */
const STATES: Record<string, string> = { live: "● live", route: "● routing" };

/** Number of flows up to which their table is drawn also where it is not seen. */
const FEW_FLOWS = 40;

const INTERVALS = ["10ms", "20ms", "50ms", "100ms", "200ms", "500ms", "1s", "2s", "5s"];
const PACES = [0.1, 1, 10, 100, 1000, 0];
/** Largest number of nodes drawn; larger networks are shown only by the table of ports. */
const DRAWN = 40;

const paceOption = (pace: number): HTMLOptionElement =>
  h("option", { value: pace }, pace === 0 ? "free" : `${pace}×`);

const spanName = (span: number): string =>
  span < 60 ? `${span} s` : span < 3600 ? `${span / 60} min` : `${span / 3600} h`;

/** Returns the index of the last sample that ends at or before `at`. */
function indexAt(samples: readonly Sample[], at: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle] as Sample).at_s <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

class LivePage {
  readonly feed = new Feed();
  readonly theme = new Theme();
  readonly knobs = new KnobPanel(this.feed, () => this.#ask());
  readonly strips = new Strips();
  readonly expectations = new Expectations();
  readonly condition = new Condition();
  readonly inside = new Inside();
  readonly bands = new Bands((flow) => this.#openFlow(flow));
  readonly choice = new Choice();
  readonly history = new History();
  readonly past = new Past(this.feed, () => this.#ask());
  readonly progress = new Progress();
  readonly queues = new QueueTable(this.feed, this.choice, this.history, () => this.#ask());
  readonly log = new EventLog(this.feed, () => this.#ask());
  /** Time that the picture shows; null while it follows the run. */
  #paused: number | null = null;
  #window = 30;
  /** Flow that the strips show; empty: the queues of the selected port. */
  #flow = "";
  /** Time at which a large network's run was asked for that flow. */
  #followed = 0;
  /** Parts of the page that are drawn only near the screen. */
  readonly #sight = new Sight(() => this.#ask());
  readonly #painter = new Painter(() => this.#draw());

  readonly state = h("strong", { class: "state" }, "connecting");
  readonly clock = h("span", { class: "clock" });
  readonly reasons = h("p", { class: "reasons", hidden: true });
  /** Says that the page shows the past, and how far back. */
  readonly banner = h("p", { class: "banner", role: "status", hidden: true });
  readonly ending = new Ending();
  readonly fidelity = h("span", { class: "fidelity", hidden: true });
  readonly picture = svg("svg", { class: "network", "aria-label": "The network" });
  readonly flows = new FlowTable((flow) => this.#openFlow(flow));
  readonly scrub = h("input", {
    type: "range",
    class: "scrub",
    min: 0,
    max: 1,
    step: "any",
    "aria-label": "Scrub over the last minutes",
    oninput: () => this.#scrubbed(),
  });
  readonly pauseButton = h("button", { type: "button", onclick: () => this.#pause() }, "Pause");
  readonly markButton = h(
    "button",
    {
      type: "button",
      title: "Notes this moment in the log and in the saved scenario (m)",
      onclick: () => void this.#mark(),
    },
    "Mark",
  );
  readonly holdButton = h(
    "button",
    {
      type: "button",
      title: "Lets the run itself wait",
      onclick: () => void this.#hold(),
    },
    "Hold",
  );
  readonly saveLink = h(
    "a",
    { class: "button", href: "api/scenario", download: "session.toml" },
    "Save scenario",
  );
  readonly keys = h("p", { class: "note" });
  readonly backButton = h(
    "button",
    { type: "button", class: "quiet", hidden: true, onclick: () => this.#openFlow("") },
    "back to the queues",
  );
  readonly every = h(
    "select",
    {
      "aria-label": "Interval of samples",
      onchange: (event: Event) =>
        void this.feed.control({ every: (event.target as HTMLSelectElement).value }),
    },
    ...INTERVALS.map((text) => h("option", { value: text }, text)),
  );
  readonly everyLabel = h("label", {}, "sample ", this.every);
  readonly pace = h(
    "select",
    {
      "aria-label": "Pace",
      onchange: (event: Event) =>
        void this.feed.control({ pace: Number((event.target as HTMLSelectElement).value) }),
    },
    ...PACES.map(paceOption),
  );
  readonly paceLabel = h("label", {}, "pace ", this.pace);
  readonly span = h(
    "select",
    {
      "aria-label": "Time shown",
      onchange: (event: Event) => this.#setWindow(Number((event.target as HTMLSelectElement).value)),
    },
    ...[5, 10, 30, 60, 300, 900, 3600].map((span) =>
      h("option", { value: span, selected: span === 30 }, spanName(span)),
    ),
  );

  async show(root: HTMLElement): Promise<void> {
    root.replaceChildren(this.#frame());
    this.feed.onChange(() => this.#ask());
    this.theme.onChange(() => this.#ask());
    this.queues.body.addEventListener("click", () => this.#openFlow(""));
    window.addEventListener("resize", () => this.#ask());
    document.addEventListener("keydown", (event) => this.#key(event));
    try {
      await this.feed.start();
    } catch {
      this.state.textContent = "no answer";
      this.#reveal();
    }
  }

  #bar(): HTMLElement {
    const theme = h(
      "button",
      {
        type: "button",
        id: "theme",
        title: "Switch between light and dark",
        onclick: () => this.theme.toggle(),
      },
      "◐ theme",
    );
    return h(
      "header",
      { class: "bar" },
      h("strong", {}, "Lockgate"),
      this.state,
      this.clock,
      this.fidelity,
      h(
        "span",
        { class: "end" },
        this.paceLabel,
        this.everyLabel,
        this.pauseButton,
        this.markButton,
        this.holdButton,
        this.saveLink,
        theme,
      ),
    );
  }

  #frame(): HTMLElement {
    return h(
      "div",
      // Shown when the first picture is drawn, so that nothing moves under the reader.
      { class: "live waiting" },
      h("a", { class: "skip", href: "#queues" }, "To the queues"),
      this.#bar(),
      h(
        "main",
        {},
        h("h1", { class: "title" }),
        h(
          "div",
          { class: "news" },
          this.condition.element,
          this.reasons,
          this.banner,
          this.expectations.element,
        ),
        h("section", { class: "net", "aria-label": "Topology" }, this.picture),
        this.bands.element,
        h(
          "section",
          { id: "queues", class: "queues" },
          h("h2", {}, "Queues ", this.queues.span, this.queues.filter, this.queues.order),
          h(
            "div",
            { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of queues" },
            h("table", {}, this.queues.head, this.queues.body),
          ),
          this.queues.note,
        ),
        h(
          "section",
          { class: "over" },
          h("h2", {}, "Over time ", this.backButton),
          h(
            "div",
            { class: "scrubber" },
            this.scrub,
            this.span,
            h("button", { type: "button", onclick: () => this.#resume() }, "Live"),
          ),
          this.strips.element,
        ),
        h("div", { class: "beside" }, this.knobs.element, this.inside.element, this.log.element),
        this.flows.element,
        this.keys,
      ),
      this.ending.element,
    );
  }

  /** Shows a flow over time; an empty name shows the queues again. */
  #openFlow(flow: string): void {
    this.#flow = flow === this.#flow ? "" : flow;
    this.#followed = 0;
    this.#ask();
  }

  /** Requests that samples of a large network contain the flow that is shown. */
  #followFlow(sample: Sample | undefined): void {
    const now = performance.now();
    if (this.#flow === "" || (sample?.left_out.flows ?? 0) === 0 || now - this.#followed < FOLLOWED_MS)
      return;
    this.#followed = now;
    void this.feed.search(this.#flow);
  }

  #reveal(): void {
    document.querySelector(".live.waiting")?.classList.remove("waiting");
  }

  #setWindow(span: number): void {
    this.#window = span;
    this.#ask();
  }

  #pause(): void {
    if (this.#paused === null) this.#paused = this.feed.samples.at(-1)?.at_s ?? 0;
    else this.#paused = null;
    this.#ask();
  }

  /** Lets the run wait, or go on; the button says that it is being done until the run answers. */
  async #hold(): Promise<void> {
    const held = this.feed.status?.held !== true;
    this.holdButton.disabled = true;
    this.holdButton.textContent = held ? "Holding …" : "Going on …";
    const answer = await this.feed.control({ held });
    this.holdButton.disabled = false;
    if (!answer.ok) announce(answer.text);
    this.#ask();
  }

  async #mark(): Promise<void> {
    const answer = await this.feed.mark("");
    announce(answer.ok ? "noted" : answer.text);
  }

  #resume(): void {
    this.#paused = null;
    this.#ask();
  }

  #scrubbed(): void {
    this.#paused = Number(this.scrub.value);
    this.#ask();
  }

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
      return;
    const last = this.feed.samples.at(-1)?.at_s ?? 0;
    if (event.key === " " && target.tagName !== "BUTTON" && target.tagName !== "A") this.#pause();
    else if (event.key === "m" && !this.feed.readOnly) void this.#mark();
    else if (event.key === "[") this.#paused = Math.max(0, (this.#paused ?? last) - this.#window / 10);
    else if (event.key === "]")
      this.#paused =
        (this.#paused ?? last) + this.#window / 10 >= last
          ? null
          : (this.#paused ?? last) + this.#window / 10;
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      this.queues.step(this.#sample(), event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
    this.#ask();
  }

  #ask(): void {
    this.#painter.ask();
  }

  #sample(): Sample | undefined {
    const { samples } = this.feed;
    return this.#paused === null ? samples.at(-1) : samples[indexAt(samples, this.#paused)];
  }

  /** Draws the picture in parts; the data are those at its begin, so that all parts show the same time. */
  *#draw(): Generator<void> {
    const { status, samples, events } = this.feed;
    if (!status) return;
    const sample = this.#sample();
    const paused = this.#paused;
    const ink = this.theme.ink;
    this.history.take(samples);
    this.choice.follow(sample);
    const last = samples.at(-1)?.at_s ?? 0;
    const behind = paused === null ? 0 : last - paused;
    const word = status.ended
      ? "ended"
      : !this.feed.connected
        ? "⚠ stream cut"
        : paused !== null
          ? `paused, ${behind.toFixed(1)} s behind`
          : status.held
            ? "held"
            : (STATES[status.mode] ?? "● running");
    if (this.state.textContent !== word) this.state.textContent = word;
    const isPast = paused !== null;
    this.state.dataset["state"] = status.ended
      ? "ended"
      : !this.feed.connected
        ? "cut"
        : isPast || status.held
          ? "paused"
          : "ok";
    this.expectations.draw(status, sample, paused === null);
    this.#drawBanner(status, behind);
    this.ending.draw(status, events, last);
    document.body.classList.toggle("cut", !this.feed.connected && !status.ended);
    const missed = this.feed.missed + (samples.at(-1)?.dropped_samples ?? 0);
    // A router has no planned end.
    const planned = status.duration_s > 0 ? ` of ${status.duration_s} s` : "";
    this.clock.textContent = [
      `${(sample?.at_s ?? 0).toFixed(2)} s${planned}`,
      this.#speed(status, last),
      missed > 0 ? `${missed} ${missed === 1 ? "sample" : "samples"} missed` : "",
    ]
      .filter(Boolean)
      .join(" · ");
    this.#drawFidelity(sample);
    // A run on real packets has no pace.
    this.paceLabel.hidden = status.mode !== "sim";
    this.holdButton.hidden = status.mode !== "sim" || this.feed.readOnly;
    this.markButton.hidden = this.feed.readOnly;
    this.pace.disabled = this.every.disabled = this.feed.readOnly;
    this.saveLink.hidden = !canBeSaved(status);
    const keys = keysOf(status, this.feed.readOnly);
    if (this.keys.textContent !== keys) this.keys.textContent = keys;
    // At the end their room stays, so that nothing moves.
    for (const control of [this.paceLabel, this.holdButton, this.markButton, this.everyLabel])
      control.classList.toggle("unused", status.ended);
    this.pauseButton.classList.toggle("unused", status.ended && paused === null);
    this.pauseButton.textContent = paused === null ? "Pause" : "Resume";
    if (!this.holdButton.disabled) this.holdButton.textContent = status.held ? "Go on" : "Hold";
    const interval = INTERVALS.find(
      (text) => Math.abs((text.endsWith("ms") ? 1e-3 : 1) * Number.parseFloat(text) - status.every_s) < 1e-6,
    );
    if (interval !== undefined && document.activeElement !== this.every) this.every.value = interval;
    if (![...this.pace.options].some((option) => Number(option.value) === status.pace))
      this.pace.append(paceOption(status.pace));
    if (document.activeElement !== this.pace) this.pace.value = String(status.pace);
    document.title = `${status.title} – Lockgate`;
    const title = document.querySelector(".live h1");
    const [name = ""] = status.title.split("; ");
    if (title && title.textContent !== name) title.textContent = name;
    this.condition.take(samples);
    this.condition.draw(status, sample, events);
    const drawn = status.nodes.length <= DRAWN && !status.is_large;
    document.querySelector(".live main")?.classList.toggle("large", !drawn);
    // One interface alone is no network, nor is one with what lies behind it.
    const net = this.picture.parentElement;
    const isNetwork = status.nodes.length > (status.mode === "kernel" ? 2 : 1);
    if (net) net.hidden = !isNetwork;
    if (drawn && isNetwork)
      drawTopology(this.picture, status, sample, ink, this.choice.port, (port) => this.#select(port, ""));
    yield;
    this.queues.draw(sample, ink);
    yield;
    const flows = this.flows.element;
    // A router counts packets by queue, and has no flows.
    flows.hidden = status.mode === "route" || status.mode === "kernel";
    // A few are always up to date, for who prints the page or has it read out.
    const isNear = this.#sight.isNear(flows);
    if (isNear || (sample?.flows.length ?? 0) <= FEW_FLOWS) this.flows.draw(sample, this.#flow);
    this.log.draw(paused ?? Number.POSITIVE_INFINITY);
    this.inside.draw(
      portAt(sample, this.choice.port)?.queues.find((queue) => queue.name === this.choice.queue),
    );
    this.knobs.show(portAt(sample, this.choice.port)?.name ?? "", this.choice.queue);
    const isBare = [this.knobs, this.inside, this.log].every(({ element }) => element.hidden === true);
    document.querySelector(".live main")?.classList.toggle("bare", isBare);
    yield;
    const end = paused ?? last;
    [this.scrub.min, this.scrub.max] = [String(samples[0]?.at_s ?? 0), String(last)];
    // Not if it was moved since this picture was begun.
    if (this.#paused === paused && (document.activeElement !== this.scrub || paused === null))
      this.scrub.value = String(end);
    const from = indexAt(samples, end - this.#window);
    const shown = samples.slice(from, indexAt(samples, end) + 1);
    const chosen = this.history.within(this.choice.port, this.choice.queue, end - this.#window, end);
    const rules = events.map((event): Rule => ({ at: event.at_s, label: eventLabel(event) }));
    this.bands.worst.take(samples);
    if (this.bands.element.hidden || this.#sight.isNear(this.bands.element)) this.bands.draw(shown, ink);
    yield;
    this.backButton.hidden = this.#flow === "";
    this.#followFlow(sample);
    const start = end - this.#window;
    const [first] = samples;
    // What the page has not seen itself.
    if (first && first.number > 0 && first.at_s > start) this.past.want(this.choice.port);
    if (this.#sight.isNear(this.strips.element))
      this.strips.draw(shown, chosen, this.#flow, rules, ink, { columns: this.past.columns, from: start });
    this.#reveal();
  }

  /** Draws the band that says that the picture is of the past; knobs and capacities are those of now. */
  #drawBanner(status: Status, behind: number): void {
    const isPast = this.#paused !== null && !status.ended;
    document.body.classList.toggle("past", isPast);
    this.banner.hidden = !isPast;
    const text = `Paused at ${(this.#paused ?? 0).toFixed(1)} s, ${behind.toFixed(1)} s behind the run. Knobs are those of now. Space goes on.`;
    if (isPast && this.banner.textContent !== text) this.banner.textContent = text;
  }

  /** Returns the rate at which a simulation advances, if it differs from its pace. */
  #speed(status: Status, last: number): string {
    if (status.mode !== "sim" || status.ended) return "";
    if (status.held) this.progress.clear();
    else this.progress.take(last, performance.now(), status.pace);
    return this.progress.words;
  }

  /** Draws the fidelity of a live run so far. Reasons are visible text, not only tooltips. */
  #drawFidelity(sample: Sample | undefined): void {
    const fidelity = sample?.fidelity ?? null;
    this.fidelity.hidden = fidelity === null;
    if (fidelity === null) return;
    const { text, ok, title, reasons } = fidelityOf(fidelity, sample?.router);
    if (this.fidelity.textContent !== text) this.fidelity.textContent = text;
    this.fidelity.dataset["state"] = ok ? "ok" : "bad";
    this.fidelity.title = title;
    this.reasons.hidden = reasons === "";
    writeCoded(this.reasons, reasons);
  }

  #select(port: number, queue: string): void {
    this.choice.choose(port, queue);
    this.#ask();
  }
}

/** Shows the running run of the server that served this page. */
export function showLive(root: HTMLElement): void {
  void new LivePage().show(root);
}
