/** The page of a running run: topology, queues with knobs, strips over time, events; pause and scrub. */
import "uplot/dist/uPlot.min.css";
import "../style/live.css";
import { announce, breakable, h, svg } from "../dom";
import { eventLabel } from "../events";
import type { EventSample, QueueSample, Sample } from "../generated/lockgate";
import { Choice } from "../live/choice";
import { Feed } from "../live/feed";
import { KnobPanel } from "../live/knobs";
import { History } from "../live/seen";
import { type Rule, Strips } from "../live/strips";
import { drawTopology } from "../live/topology";
import { Theme } from "../theme";

/** Least time between two pictures. */
const FRAME_MS = 33;
/** A picture that took so long to make is left standing so many times as long: looking is not to cost the run, which may be on this machine. */
const REST = 15;
/** State of a running run of real packets, by its mode. */
const STATES: Record<string, string> = { live: "● live", route: "● routing" };

const INTERVALS = ["10ms", "20ms", "50ms", "100ms", "200ms", "500ms", "1s", "2s", "5s"];
const PACES = [0.1, 1, 10, 100, 1000, 0];
/** More ports than this are folded to their roots, but for the one selected, and beyond so many only the fullest are listed. */
const UNFOLDED = 12;
const LISTED = 40;
/** A network of more nodes is a smear: the table of ports has it. */
const DRAWN = 40;

const rate = (bps: number): string =>
  bps >= 1e6
    ? `${(bps / 1e6).toFixed(2)} M`
    : bps >= 1e3
      ? `${(bps / 1e3).toFixed(1)} k`
      : `${bps.toFixed(0)} `;
const bytes = (count: number | null): string =>
  count === null ? "–" : count >= 1e6 ? `${(count / 1e6).toFixed(2)} MB` : `${(count / 1e3).toFixed(1)} kB`;
const time = (seconds: number | null): string =>
  seconds === null
    ? "–"
    : seconds >= 1
      ? `${seconds.toFixed(2)} s`
      : seconds >= 1e-3
        ? `${(seconds * 1e3).toFixed(1)} ms`
        : `${(seconds * 1e6).toFixed(0)} µs`;

function eventText(event: EventSample): string {
  const moved = event.moved_packets === null ? "" : `, ${event.moved_packets} packets moved`;
  const forced = event.forced_out_packets > 0 ? `, ${event.forced_out_packets} forced out` : "";
  if (event.path === "") return event.text;
  return `set ${event.path} = ${event.value}${moved}${forced}`;
}

/** Mean time in the queue, and in the device ring below it, with how many packets are there now. */
function apart(queue: QueueSample, ring: number | undefined): [string, string] {
  const { waited_mean_s: waited, sojourn_mean_s: all } = queue;
  if (waited === null) return ["–", "–"];
  return [
    time(waited),
    `${all === null ? "–" : time(Math.max(0, all - waited))}${ring === undefined ? "" : `, ${ring}p`}`,
  ];
}

const paceOption = (pace: number): HTMLOptionElement =>
  h("option", { value: pace }, pace === 0 ? "free" : `${pace}×`);

const headings = (names: readonly string[]): HTMLElement =>
  h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)));

/** Index of the last sample that ends at or before `at`. */
function indexAt(samples: readonly Sample[], at: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle] as Sample).at_s <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** A queue in the table. */
interface Row {
  port: number;
  depth: number;
  queue: QueueSample;
}

class LivePage {
  readonly feed = new Feed();
  readonly theme = new Theme();
  readonly knobs = new KnobPanel(this.feed);
  readonly strips = new Strips();
  readonly choice = new Choice();
  readonly history = new History();
  /** The time the picture stands at; null: it follows the run. */
  #paused: number | null = null;
  #window = 30;
  #queued = false;
  /** Not before then is the next picture made. */
  #rested = 0;
  #told = 0;

  readonly state = h("strong", { class: "state" });
  readonly clock = h("span", { class: "clock" });
  readonly reasons = h("p", { class: "reasons", hidden: true });
  readonly fidelity = h("span", { class: "fidelity", hidden: true });
  readonly picture = svg("svg", { class: "network", "aria-label": "The network" });
  readonly queueHead = h("thead");
  readonly table = h("tbody");
  readonly ports = h("input", {
    type: "search",
    placeholder: "filter",
    "aria-label": "Filter ports",
    hidden: true,
    oninput: () => this.#ask(),
  });
  readonly hidden = h("p", { class: "note", hidden: true });
  readonly flows = h("tbody");
  readonly log = h("ol", { class: "events", "aria-label": "Events, newest first", tabindex: 0 });
  readonly filter = h("input", {
    type: "search",
    placeholder: "filter",
    "aria-label": "Filter events",
    oninput: () => this.#ask(),
  });
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
      onclick: () => void this.feed.control({ held: this.feed.status?.held !== true }),
    },
    "Hold",
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
    ...[5, 10, 30, 60, 300, 900].map((span) =>
      h("option", { value: span, selected: span === 30 }, span < 60 ? `${span} s` : `${span / 60} min`),
    ),
  );

  async show(root: HTMLElement): Promise<void> {
    root.replaceChildren(this.#frame());
    this.feed.onChange(() => this.#ask());
    this.theme.onChange(() => this.#ask());
    window.addEventListener("resize", () => this.#ask());
    document.addEventListener("keydown", (event) => this.#key(event));
    try {
      await this.feed.start();
    } catch {
      this.state.textContent = "no answer";
    }
  }

  #frame(): HTMLElement {
    const head = (...names: string[]): HTMLElement => h("thead", {}, headings(names));
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
      "div",
      { class: "live" },
      h("a", { class: "skip", href: "#queues" }, "To the queues"),
      h(
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
          h("label", {}, "sample ", this.every),
          this.pauseButton,
          this.markButton,
          this.holdButton,
          h("a", { class: "button", href: "api/scenario", download: "session.toml" }, "Save scenario"),
          theme,
        ),
      ),
      h(
        "main",
        {},
        h("h1", { class: "title" }),
        this.reasons,
        h("section", { class: "net", "aria-label": "Topology" }, this.picture),
        h("section", { class: "log" }, h("h2", {}, "Events"), this.filter, this.log),
        h(
          "section",
          { id: "queues", class: "queues" },
          h("h2", {}, "Queues ", this.ports),
          h(
            "div",
            { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of queues" },
            h("table", {}, this.queueHead, this.table),
          ),
          this.hidden,
        ),
        h(
          "section",
          { class: "over" },
          h("h2", {}, "Over time"),
          h(
            "div",
            { class: "scrubber" },
            this.scrub,
            this.span,
            h("button", { type: "button", onclick: () => this.#resume() }, "Live"),
          ),
          this.strips.element,
        ),
        this.knobs.element,
        h(
          "section",
          { class: "flows" },
          h("h2", {}, "Flows"),
          h(
            "div",
            { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of flows" },
            h(
              "table",
              {},
              head("flow", "offered", "received", "delay p50", "p99", "lost", "cwnd", "rtt"),
              this.flows,
            ),
          ),
        ),
        h(
          "p",
          { class: "note" },
          "Keys: ↑ ↓ queue, space pause, m mark, [ ] scrub. Enter sets a knob. What is shown is what the run said; a missing sample is a gap.",
        ),
      ),
    );
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

  async #mark(): Promise<void> {
    const answer = await this.feed.mark("");
    announce(answer.ok ? "noted" : answer.text);
  }

  /** Sets what was there before a change. */
  async #undo(event: EventSample): Promise<void> {
    const answer = await this.feed.set(event.before ?? []);
    announce(answer.text);
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
    else if (event.key === "m") void this.#mark();
    else if (event.key === "[") this.#paused = Math.max(0, (this.#paused ?? last) - this.#window / 10);
    else if (event.key === "]")
      this.#paused =
        (this.#paused ?? last) + this.#window / 10 >= last
          ? null
          : (this.#paused ?? last) + this.#window / 10;
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      this.#step(event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
    this.#ask();
  }

  #step(by: number): void {
    const all = this.#lines(this.#sample());
    const at = all.findIndex((line) => this.#isSelected(line));
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
    if (next) this.choice.choose(next.port, next.queue.name);
  }

  #isSelected(line: Row): boolean {
    return line.port === this.choice.port && line.queue.name === this.choice.queue;
  }

  /** Draws soon: at most thirty times a second, and less often where that would take much of a processor. */
  #ask(): void {
    if (this.#queued) return;
    this.#queued = true;
    window.setTimeout(
      () =>
        requestAnimationFrame(() => {
          this.#queued = false;
          const begun = performance.now();
          this.#draw();
          this.#rested = begun + Math.min(500, Math.max(FRAME_MS, REST * (performance.now() - begun)));
        }),
      Math.max(0, this.#rested - performance.now()),
    );
  }

  #sample(): Sample | undefined {
    const { samples } = this.feed;
    return this.#paused === null ? samples.at(-1) : samples[indexAt(samples, this.#paused)];
  }

  /** Ports in the order of the table. One that is a single queue at which nothing ever came is left out unless it is selected. */
  #ports(sample: Sample | undefined): { port: number; queues: QueueSample[] }[] {
    const used = (sample?.ports ?? [])
      .map(({ queues }, port) => ({ port, queues }))
      .filter(
        ({ port, queues }) =>
          queues.length > 1 || queues[0]?.total.offered_packets !== 0 || port === this.choice.port,
      );
    this.ports.hidden = used.length <= UNFOLDED;
    const wanted = this.ports.hidden ? "" : this.ports.value.toLowerCase();
    const found = used.filter(
      ({ port }) =>
        port === this.choice.port ||
        (this.feed.status?.ports[port]?.name ?? "").toLowerCase().includes(wanted),
    );
    const peak = ({ port, queues }: (typeof used)[number]): number =>
      port === this.choice.port ? Infinity : (queues[0]?.peak_packets ?? 0);
    const listed =
      found.length <= LISTED
        ? found
        : [...found]
            .sort((a, b) => peak(b) - peak(a))
            .slice(0, LISTED)
            .sort((a, b) => a.port - b.port);
    this.hidden.hidden = listed.length === used.length;
    this.hidden.textContent = `${listed.length} of ${used.length} ports, the fullest; the filter finds the others.`;
    return listed;
  }

  /** Queues in the order of the table; of many ports only the selected one is unfolded. */
  #lines(sample: Sample | undefined): Row[] {
    const listed = this.#ports(sample);
    return listed.flatMap(({ port, queues }) => {
      const depth = new Map<number, number>();
      const shown = listed.length <= UNFOLDED || port === this.choice.port ? queues : queues.slice(0, 1);
      return shown.map((queue) => {
        const own = queue.parent === null ? 0 : (depth.get(queue.parent) ?? -1) + 1;
        depth.set(queue.place, own);
        return { port, depth: own, queue };
      });
    });
  }

  #draw(): void {
    const { status, samples, events } = this.feed;
    if (!status) return;
    const sample = this.#sample();
    const ink = this.theme.ink;
    this.history.take(samples);
    this.choice.follow(sample?.ports ?? []);
    const lines = this.#lines(sample);
    const last = samples.at(-1)?.at_s ?? 0;
    const behind = this.#paused === null ? 0 : last - this.#paused;
    const word = status.ended
      ? "ended"
      : !this.feed.connected
        ? "⚠ stream cut"
        : this.#paused !== null
          ? `paused, ${behind.toFixed(1)} s behind`
          : status.held
            ? "held"
            : (STATES[status.mode] ?? "● running");
    if (this.state.textContent !== word) this.state.textContent = word;
    this.state.dataset["state"] = status.ended ? "ended" : this.feed.connected ? "ok" : "cut";
    document.body.classList.toggle("cut", !this.feed.connected && !status.ended);
    const missed = this.feed.missed + (samples.at(-1)?.dropped_samples ?? 0);
    // A router has no planned end.
    const planned = status.duration_s > 0 ? ` of ${status.duration_s} s` : "";
    this.clock.textContent = `${(sample?.at_s ?? 0).toFixed(2)} s${planned}${missed > 0 ? ` · ${missed} samples missed` : ""}`;
    this.#drawFidelity(sample);
    // Real packets go by the clock.
    this.paceLabel.hidden = this.holdButton.hidden = status.mode !== "sim";
    this.markButton.hidden = this.feed.readOnly;
    this.pauseButton.textContent = this.#paused === null ? "Pause" : "Resume";
    this.holdButton.textContent = status.held ? "Go on" : "Hold";
    const interval = INTERVALS.find(
      (text) => Math.abs((text.endsWith("ms") ? 1e-3 : 1) * Number.parseFloat(text) - status.every_s) < 1e-6,
    );
    if (interval !== undefined && document.activeElement !== this.every) this.every.value = interval;
    if (![...this.pace.options].some((option) => Number(option.value) === status.pace))
      this.pace.append(paceOption(status.pace));
    if (document.activeElement !== this.pace) this.pace.value = String(status.pace);
    document.title = `${status.title} – Lockgate`;
    const title = document.querySelector(".live h1");
    if (title && title.textContent !== status.title) title.textContent = status.title;
    const drawn = status.nodes.length <= DRAWN;
    document.querySelector(".live main")?.classList.toggle("large", !drawn);
    if (drawn)
      drawTopology(this.picture, status, sample, ink, this.choice.port, (port) => this.#select(port, ""));
    this.#drawTable(lines);
    this.#drawFlows(sample);
    this.#drawLog(this.#paused ?? Number.POSITIVE_INFINITY);
    this.knobs.show(this.choice.port, this.choice.queue);
    const end = this.#paused ?? last;
    [this.scrub.min, this.scrub.max] = [String(samples[0]?.at_s ?? 0), String(last)];
    if (document.activeElement !== this.scrub || this.#paused === null) this.scrub.value = String(end);
    const from = indexAt(samples, end - this.#window);
    const shown = samples.slice(from, indexAt(samples, end) + 1);
    const chosen = this.history.within(this.choice.port, end - this.#window, end);
    const rules = events.map((event): Rule => ({ at: event.at_s, label: eventLabel(event) }));
    this.strips.draw(shown, chosen, rules, ink);
  }

  /** What may be relied on in a live run, as far as is known; the reasons are said, not only shown on hover. */
  #drawFidelity(sample: Sample | undefined): void {
    const fidelity = sample?.fidelity ?? null;
    this.fidelity.hidden = fidelity === null;
    if (fidelity === null) return;
    const ok = fidelity.unfaithful.length === 0;
    const text = `late p99 ${time(fidelity.late_p99_s)} ${ok ? "✓" : "⚠ not faithful"}`;
    if (this.fidelity.textContent !== text) this.fidelity.textContent = text;
    this.fidelity.dataset["state"] = ok ? "ok" : "bad";
    this.fidelity.title = ok
      ? "How late frames were handed over by this machine so far: within the limits of a faithful run"
      : fidelity.unfaithful.join("\n");
    this.reasons.hidden = ok;
    const said = fidelity.unfaithful.join("; ");
    if (this.reasons.textContent !== said) this.reasons.textContent = said;
  }

  #select(port: number, queue: string): void {
    this.choice.choose(port, queue);
    this.#ask();
  }

  #drawTable(lines: Row[]): void {
    const most = Math.max(1, ...lines.map((line) => line.queue.peak_packets));
    // Under a device ring, what the queues are to blame for is said apart from what the ring is.
    const ringed = lines.some((line) => line.queue.total.waited_count > 0);
    const names = [
      "queue",
      "kind",
      "now",
      "",
      "max",
      "in",
      "out",
      "p50",
      "p99",
      ...(ringed ? ["in queue", "in ring"] : []),
      "drop",
      "mark",
    ];
    if (
      this.queueHead.childElementCount === 0 ||
      this.queueHead.querySelectorAll("th").length !== names.length
    )
      this.queueHead.replaceChildren(headings(names));
    const rows = lines.map(({ port, depth, queue }) => {
      const selected = port === this.choice.port && queue.name === this.choice.queue;
      const colour = port === this.choice.port ? this.history.slotOf(port, queue.name) : -1;
      const name = depth === 0 ? `${this.feed.status?.ports[port]?.name ?? ""} ${queue.name}` : queue.name;
      const swatch =
        colour < 0 ? "transparent" : (this.theme.ink.series[colour % this.theme.ink.series.length] as string);
      const share = (value: number): string => `${Math.min(100, (100 * value) / most).toFixed(1)}%`;
      const bar = h("span", {
        class: "thermometer",
        style: `--now:${share(queue.packets)};--mean:${share(queue.mean_packets)};--max:${share(queue.peak_packets)}`,
      });
      const cells = [
        queue.kind,
        String(queue.packets),
        bar,
        String(queue.peak_packets),
        rate(queue.offered_bps),
        rate(queue.sent_bps),
        time(queue.sojourn_p50_s),
        time(queue.sojourn_p99_s),
        ...(ringed ? apart(queue, depth === 0 ? this.#sample()?.ports[port]?.ring_packets : undefined) : []),
        String(queue.dropped_packets),
        String(queue.marked_packets),
      ];
      const drops = queue.dropped_by.map(([reason, packets]) => `${reason} ${packets}`).join(", ");
      const gauges = queue.gauges.map(([gauge, value]) => `${gauge} ${value.toPrecision(4)}`).join("\n");
      return h(
        "tr",
        {
          class: selected ? "selected" : "",
          "aria-selected": String(selected),
          title: [gauges, drops].filter((part) => part !== "").join("\n"),
          onclick: () => this.#select(port, queue.name),
        },
        h(
          "th",
          { scope: "row", style: `padding-left:${8 + depth * 16}px` },
          h("span", { class: "swatch", style: `background:${swatch}` }),
          name,
        ),
        ...cells.map((cell, index) =>
          h(
            "td",
            {
              class:
                index === cells.length - 2 && queue.dropped_packets > 0 ? "bad" : index === 0 ? "word" : "",
            },
            cell,
          ),
        ),
      );
    });
    this.table.replaceChildren(...rows);
  }

  #drawFlows(sample: Sample | undefined): void {
    // What no flow of the scenario sent has a row once there is something.
    const flows = (sample?.flows ?? []).filter((flow) => flow.name !== "(other)" || flow.sent_packets > 0);
    const rows = flows
      .slice(0, 200)
      .map((flow) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, flow.name),
          ...[
            rate(flow.offered_bps),
            rate(flow.received_bps),
            time(flow.owd_p50_s),
            time(flow.owd_p99_s),
            String(flow.lost_packets),
            bytes(flow.cwnd_bytes),
            time(flow.rtt_s),
          ].map((cell) => h("td", {}, cell)),
        ),
      );
    this.flows.replaceChildren(...rows);
  }

  #undoButton(event: EventSample): HTMLElement | string {
    if (this.feed.readOnly || this.feed.status?.ended === true || (event.before ?? []).length === 0)
      return "";
    return h(
      "button",
      {
        type: "button",
        class: "undo",
        title: `lockgate set '${(event.before ?? []).join("' '")}'`,
        "aria-label": `undo: set ${(event.before ?? []).join(", ")}`,
        onclick: () => void this.#undo(event),
      },
      "undo",
    );
  }

  #drawLog(until: number): void {
    const { events } = this.feed;
    const wanted = this.filter.value.toLowerCase();
    const shown = events
      .filter((event) => event.at_s <= until && eventText(event).toLowerCase().includes(wanted))
      .slice(-100);
    const key = `${shown.length} ${shown.at(-1)?.at_s ?? ""} ${wanted} ${this.feed.status?.ended ?? ""}`;
    if (this.log.dataset["key"] === key) return;
    this.log.dataset["key"] = key;
    this.log.replaceChildren(
      ...shown
        .reverse()
        .map((event) =>
          h(
            "li",
            {},
            h("time", {}, `${event.at_s.toFixed(3)} s`),
            " ",
            ...breakable(eventText(event)),
            this.#undoButton(event),
          ),
        ),
    );
    if (events.length > this.#told && this.#told > 0) announce(eventText(events.at(-1) as EventSample));
    this.#told = events.length;
  }
}

/** Shows the running run of the server this page is from. */
export function showLive(root: HTMLElement): void {
  void new LivePage().show(root);
}
