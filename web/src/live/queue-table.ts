/**
 * Table of queues: the trees of all ports, or the fullest queues that a filter finds; many ports are folded.
 */
import { h, writeCoded } from "../dom";
import type { PortSample, QueueSample, Sample } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Choice } from "./choice";
import type { Feed } from "./feed";
import type { History } from "./history";
import { delayOf, isFolded, spanOf } from "./parts";
import { rate, time } from "./quantities";
import { attributeOf, type LiveRow, LiveRows, textOf } from "./rows";

/** Number of ports above which all except the selected one are folded to their roots. */
const UNFOLDED = 12;
/** Largest number of ports listed, and of leaves in an order of their own; the fullest are kept. */
const LISTED = 40;
/** Interval at which a search is repeated, because the run forgets it after a minute. */
const RENEWED_MS = 20_000;

/** A row of the table: a queue. */
interface Row {
  port: PortSample;
  depth: number;
  queue: QueueSample;
}

/** Returns the matching queues and those above them; parents come before their children. */
function withParents(
  queues: readonly QueueSample[],
  matches: (queue: QueueSample) => boolean,
): QueueSample[] {
  const places = new Set<number>();
  for (const queue of [...queues].reverse())
    if (places.has(queue.place) || matches(queue)) {
      places.add(queue.place);
      if (queue.parent !== null) places.add(queue.parent);
    }
  return queues.filter((queue) => places.has(queue.place));
}

/** Classes of columns that stand back on narrow screens, by their headings. */
const CLASSES: Record<string, string> = {
  kind: "word",
  max: "most",
  in: "rate",
  out: "rate",
  p50: "median",
  mark: "marked",
  "why it waits": "why",
};

/** Returns a row of headings. */
export const headings = (names: readonly string[]): HTMLElement =>
  h("tr", {}, ...names.map((name) => h("th", { scope: "col", class: CLASSES[name] ?? "" }, name)));

/** Returns the mean time in the queue, and in the device ring below it with the present number of packets. */
function queueAndRing(queue: QueueSample, ring: number | undefined): [string, string] {
  const { waited_mean_s: waited, sojourn_mean_s: all } = queue;
  if (waited === null) return ["–", "–"];
  return [
    time(waited),
    `${all === null ? "–" : time(Math.max(0, all - waited))}${ring === undefined ? "" : `, ${ring}p`}`,
  ];
}

/** Orders of the rows: as in the trees, or leaves alone, the worst first. */
const ORDERS: Record<string, ((queue: QueueSample) => number) | null> = {
  tree: null,
  backlog: (queue) => queue.peak_packets,
  delay: (queue) => delayOf(queue) ?? -1,
  drops: (queue) => queue.dropped_packets,
};

export class QueueTable {
  /** Filter of ports and queues, shown if there are many. */
  readonly filter: HTMLInputElement;
  readonly order: HTMLSelectElement;
  /** Time that the numbers of the table are of. */
  readonly span = h("small");
  readonly head = h("thead");
  readonly #rows = new LiveRows();
  readonly body = this.#rows.element;
  #shape = "";
  /** Note on the number of queues that are not listed. */
  readonly note = h("p", { class: "note", hidden: true });
  /** Queues of the table's rows. */
  #shown: readonly Row[] = [];
  /** Text and time of the last search. */
  #asked = { text: "", at: 0 };

  constructor(
    readonly feed: Feed,
    readonly choice: Choice,
    readonly history: History,
    readonly redraw: () => void,
  ) {
    this.filter = h("input", {
      type: "search",
      placeholder: "filter",
      "aria-label": "Filter queues",
      hidden: true,
      oninput: redraw,
    });
    this.order = h(
      "select",
      { "aria-label": "Order of queues", hidden: true, onchange: redraw },
      ...Object.keys(ORDERS).map((order) => h("option", { value: order }, order)),
    );
    this.body.addEventListener("click", (event) => {
      const place = [...this.body.children].findIndex((row) => row.contains(event.target as Node));
      const row = this.#shown[place];
      if (!row) return;
      this.choice.choose(row.port.index, row.queue.name);
      this.redraw();
    });
  }

  /**
   * Returns the queues in the order of the table. In the order of the trees, if there are many ports, only
   * the selected one is unfolded.
   */
  rows(sample: Sample | undefined): Row[] {
    const wanted = this.filter.hidden ? "" : this.filter.value.toLowerCase();
    const matches = (port: PortSample, queue: QueueSample): boolean =>
      port.name.toLowerCase().includes(wanted) || queue.name.toLowerCase().includes(wanted);
    const ports = this.#ports(sample, matches);
    const key = this.order.hidden ? null : (ORDERS[this.order.value] ?? null);
    if (key) {
      const leaves = ports.flatMap((port) => {
        const parents = new Set(port.queues.map((queue) => queue.parent));
        return port.queues
          .filter((queue) => !parents.has(queue.place) && matches(port, queue))
          .map((queue): Row => ({ port, depth: 0, queue }));
      });
      return leaves.sort((a, b) => key(b.queue) - key(a.queue)).slice(0, LISTED);
    }
    return ports.flatMap((port) => {
      const depth = new Map<number, number>();
      const isOpen = ports.length <= UNFOLDED || port.index === this.choice.port;
      const shown = isOpen
        ? withParents(port.queues, (queue) => matches(port, queue))
        : port.queues.slice(0, 1);
      return shown.map((queue) => {
        const own = queue.parent === null ? 0 : (depth.get(queue.parent) ?? -1) + 1;
        depth.set(queue.place, own);
        return { port, depth: own, queue };
      });
    });
  }

  /** Selects the queue `by` rows further down. */
  step(sample: Sample | undefined, by: number): void {
    const rows = this.rows(sample);
    const at = rows.findIndex((row) => this.#isSelected(row));
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next) this.choice.choose(next.port.index, next.queue.name);
  }

  #isSelected(row: Row): boolean {
    return row.port.index === this.choice.port && row.queue.name === this.choice.queue;
  }

  /**
   * Returns the ports to list. A port with a single queue that no packet has reached is left out unless it is
   * selected.
   */
  #ports(
    sample: Sample | undefined,
    matches: (port: PortSample, queue: QueueSample) => boolean,
  ): PortSample[] {
    const isChosen = (port: PortSample): boolean => port.index === this.choice.port;
    const used = (sample?.ports ?? []).filter(
      (port) => port.queues.length > 1 || port.queues[0]?.total.offered_packets !== 0 || isChosen(port),
    );
    const all = used.reduce((sum, port) => sum + port.queues.length, 0) + (sample?.left_out.queues ?? 0);
    this.filter.hidden = this.order.hidden = used.length <= UNFOLDED && all <= LISTED;
    this.#search(sample);
    const found = this.filter.hidden
      ? used
      : used.filter((port) => isChosen(port) || port.queues.some((queue) => matches(port, queue)));
    const peak = (port: PortSample): number =>
      isChosen(port) ? Number.POSITIVE_INFINITY : (port.queues[0]?.peak_packets ?? 0);
    const listed =
      found.length <= LISTED
        ? found
        : [...found]
            .sort((a, b) => peak(b) - peak(a))
            .slice(0, LISTED)
            .sort((a, b) => a.index - b.index);
    const isMean =
      this.feed.status?.mode === "kernel" &&
      found.every((port) => port.queues.every((queue) => queue.sojourn_p99_s === null));
    this.note.hidden = listed.length === used.length && !isFolded(sample) && !isMean;
    const note = isMean
      ? "Delay: the mean backlog over the rate. The kernel times no packets; `lockgate top --sojourn` does, with percentiles."
      : isFolded(sample)
        ? `${all - (sample?.left_out.queues ?? 0)} of ${all} queues, the worst; the filter finds the others.`
        : `${listed.length} of ${used.length} ports, the fullest; the filter finds the others.`;
    writeCoded(this.note, note);
    return listed;
  }

  /** Requests that samples of a large network contain the queues of the filter and the selected queue. */
  #search(sample: Sample | undefined): void {
    if (!isFolded(sample)) return;
    const wanted = this.filter.value.trim() || this.choice.queue;
    const now = performance.now();
    if (wanted === "" || (wanted === this.#asked.text && now - this.#asked.at < RENEWED_MS)) return;
    this.#asked = { text: wanted, at: now };
    void this.feed.search(wanted);
  }

  /** Draws the table of a sample. */
  draw(sample: Sample | undefined, ink: Ink): void {
    this.span.textContent = spanOf(sample);
    const rows = this.rows(sample);
    const most = Math.max(1, ...rows.map((row) => row.queue.peak_packets));
    const shape: Shape = {
      // If there is a device ring, the delay of the queues is shown apart from that of the ring.
      ringed: rows.some((row) => row.queue.total.waited_count > 0),
      // The kernel times no packets.
      timed: this.feed.status?.mode !== "kernel" || rows.some((row) => row.queue.sojourn_p99_s !== null),
      reasoned: rows.some((row) => (row.queue.why ?? "") !== ""),
    };
    const names = [
      "queue",
      "kind",
      "now",
      "",
      "max",
      "in",
      "out",
      ...(shape.timed ? ["p50", "p99"] : ["delay"]),
      ...(shape.ringed ? ["in queue", "in ring"] : []),
      "drop",
      "mark",
      ...(shape.reasoned ? ["why it waits"] : []),
    ];
    this.#shown = rows;
    // Rows with other columns are other rows.
    if (names.join() !== this.#shape) {
      this.#rows.clear();
      this.head.replaceChildren(headings(names));
    }
    this.#shape = names.join();
    this.#rows.show(
      rows.map((row) => this.#values(row, most, shape, ink)),
      () => queueRow(shape),
    );
  }

  /** Returns the values of a row, in the order of the writers of `queueRow`. */
  #values(row: Row, most: number, shape: Shape, ink: Ink): string[] {
    const { port, depth, queue } = row;
    const selected = this.#isSelected(row);
    const colour = port.index === this.choice.port ? this.history.slotOf(port.index, queue.name) : -1;
    const swatch = colour < 0 ? "transparent" : (ink.series[colour % ink.series.length] as string);
    const share = (value: number): string => `${Math.min(100, (100 * value) / most).toFixed(1)}%`;
    const drops = queue.dropped_by.map(([reason, packets]) => `${reason} ${packets}`).join(", ");
    const gauges = queue.gauges.map(([gauge, value]) => `${gauge} ${value.toPrecision(4)}`).join("\n");
    const { pain } = queue;
    // Below it a queue hurts: the inner one only holds that queue's packets.
    const isInner = port.queues.some((other) => other.parent === queue.place && other.pain);
    const hurts = pain ? (isInner ? "pain-below" : "pain") : "";
    return [
      [selected ? "selected" : "", hurts, depth === 0 && port.is_full ? "full" : ""].join(" ").trim(),
      String(selected),
      [gauges, drops].filter((part) => part !== "").join("\n"),
      `padding-left:${8 + depth * 16}px`,
      `background:${swatch}`,
      depth === 0 ? `${port.name} ${queue.name}` : queue.name,
      queue.kind,
      String(queue.packets),
      `--now:${share(queue.packets)};--mean:${share(queue.mean_packets)};--max:${share(queue.peak_packets)}`,
      String(queue.peak_packets),
      rate(queue.offered_bps),
      rate(queue.sent_bps),
      ...(shape.timed ? [time(queue.sojourn_p50_s)] : []),
      time(delayOf(queue)),
      !isInner && (pain === "wait" || pain === "bound") ? "bad" : "",
      ...(shape.ringed ? queueAndRing(queue, depth === 0 ? port.ring_packets : undefined) : []),
      String(queue.dropped_packets),
      !isInner && pain === "loss" ? "bad" : "",
      String(queue.marked_packets),
      ...(shape.reasoned ? [queue.why ?? ""] : []),
    ];
  }
}

/** Columns that a table has besides those of all. */
interface Shape {
  ringed: boolean;
  timed: boolean;
  reasoned: boolean;
}

/** Returns an empty row of a queue. */
function queueRow({ ringed, timed, reasoned }: Shape): LiveRow {
  const swatch = h("span", { class: "swatch" });
  const head = h("th", { scope: "row" }, swatch);
  const bar = h("span", { class: "thermometer" });
  const cells = (count: number): HTMLElement[] => Array.from({ length: count }, () => h("td"));
  const [kind, now] = [h("td", { class: "word" }), h("td")];
  const before = ["max", "in", "out", ...(timed ? ["p50"] : [])].map((name) =>
    h("td", { class: CLASSES[name] ?? "" }),
  );
  const [delay, ring, drop] = [h("td"), cells(ringed ? 2 : 0), h("td")];
  const mark = h("td", { class: "marked" });
  const why = reasoned ? [h("td", { class: "why" })] : [];
  const element = h("tr", {}, head, kind, now, h("td", {}, bar), before, delay, ring, drop, mark, why);
  return {
    element,
    writes: [
      ...["class", "aria-selected", "title"].map((name) => attributeOf(element, name)),
      attributeOf(head, "style"),
      attributeOf(swatch, "style"),
      ...[head, kind, now].map(textOf),
      attributeOf(bar, "style"),
      ...before.map(textOf),
      textOf(delay),
      attributeOf(delay, "class"),
      ...ring.map(textOf),
      textOf(drop),
      attributeOf(drop, "class"),
      textOf(mark),
      ...why.map(textOf),
    ],
  };
}
