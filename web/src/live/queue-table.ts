/** Table of queues: the trees of all ports, or of the fullest ones that a filter finds, folded where there are many. */
import { h } from "../dom";
import type { QueueSample, Sample } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Choice } from "./choice";
import type { Feed } from "./feed";
import { rate, time } from "./quantities";
import type { History } from "./seen";

/** More ports than this are folded to their roots, except the selected one. */
const UNFOLDED = 12;
/** More ports than this are not listed: the fullest are. */
const LISTED = 40;

/** A queue in the table. */
export interface Row {
  port: number;
  depth: number;
  queue: QueueSample;
}

/** A row of headings. */
export const headings = (names: readonly string[]): HTMLElement =>
  h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)));

/** Mean time in the queue, and in the device ring below it, with the number of packets there now. */
function queueAndRing(queue: QueueSample, ring: number | undefined): [string, string] {
  const { waited_mean_s: waited, sojourn_mean_s: all } = queue;
  if (waited === null) return ["–", "–"];
  return [
    time(waited),
    `${all === null ? "–" : time(Math.max(0, all - waited))}${ring === undefined ? "" : `, ${ring}p`}`,
  ];
}

export class QueueTable {
  /** Filter of ports, shown where there are many. */
  readonly filter: HTMLInputElement;
  readonly head = h("thead");
  readonly body = h("tbody");
  /** Says how many ports are not listed. */
  readonly note = h("p", { class: "note", hidden: true });

  constructor(
    readonly feed: Feed,
    readonly choice: Choice,
    readonly history: History,
    readonly redraw: () => void,
  ) {
    this.filter = h("input", {
      type: "search",
      placeholder: "filter",
      "aria-label": "Filter ports",
      hidden: true,
      oninput: redraw,
    });
  }

  /** Queues in the order of the table; of many ports only the selected one is unfolded. */
  rows(sample: Sample | undefined): Row[] {
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

  /** Selects the queue so many rows further down. */
  step(sample: Sample | undefined, by: number): void {
    const rows = this.rows(sample);
    const at = rows.findIndex((row) => this.#isSelected(row));
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next) this.choice.choose(next.port, next.queue.name);
  }

  #isSelected(row: Row): boolean {
    return row.port === this.choice.port && row.queue.name === this.choice.queue;
  }

  /** Ports in the order of the table. One that is a single queue that no packet has reached is left out unless it is selected. */
  #ports(sample: Sample | undefined): { port: number; queues: QueueSample[] }[] {
    const used = (sample?.ports ?? [])
      .map(({ queues }, port) => ({ port, queues }))
      .filter(
        ({ port, queues }) =>
          queues.length > 1 || queues[0]?.total.offered_packets !== 0 || port === this.choice.port,
      );
    this.filter.hidden = used.length <= UNFOLDED;
    const wanted = this.filter.hidden ? "" : this.filter.value.toLowerCase();
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
    this.note.hidden = listed.length === used.length;
    this.note.textContent = `${listed.length} of ${used.length} ports, the fullest; the filter finds the others.`;
    return listed;
  }

  /** Draws the table of a sample. */
  draw(sample: Sample | undefined, ink: Ink): void {
    const rows = this.rows(sample);
    const most = Math.max(1, ...rows.map((row) => row.queue.peak_packets));
    // Above a device ring, the delay of the queues is shown apart from that of the ring.
    const ringed = rows.some((row) => row.queue.total.waited_count > 0);
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
    if (this.head.childElementCount === 0 || this.head.querySelectorAll("th").length !== names.length)
      this.head.replaceChildren(headings(names));
    this.body.replaceChildren(...rows.map((row) => this.#row(row, sample, most, ringed, ink)));
  }

  #row(row: Row, sample: Sample | undefined, most: number, ringed: boolean, ink: Ink): HTMLElement {
    const { port, depth, queue } = row;
    const selected = this.#isSelected(row);
    const colour = port === this.choice.port ? this.history.slotOf(port, queue.name) : -1;
    const name = depth === 0 ? `${this.feed.status?.ports[port]?.name ?? ""} ${queue.name}` : queue.name;
    const swatch = colour < 0 ? "transparent" : (ink.series[colour % ink.series.length] as string);
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
      ...(ringed ? queueAndRing(queue, depth === 0 ? sample?.ports[port]?.ring_packets : undefined) : []),
      String(queue.dropped_packets),
      String(queue.marked_packets),
    ];
    const drops = queue.dropped_by.map(([reason, packets]) => `${reason} ${packets}`).join(", ");
    const gauges = queue.gauges.map(([gauge, value]) => `${gauge} ${value.toPrecision(4)}`).join("\n");
    const looks = (index: number): string =>
      index === cells.length - 2 && queue.dropped_packets > 0 ? "bad" : index === 0 ? "word" : "";
    return h(
      "tr",
      {
        class: selected ? "selected" : "",
        "aria-selected": String(selected),
        title: [gauges, drops].filter((part) => part !== "").join("\n"),
        onclick: () => {
          this.choice.choose(port, queue.name);
          this.redraw();
        },
      },
      h(
        "th",
        { scope: "row", style: `padding-left:${8 + depth * 16}px` },
        h("span", { class: "swatch", style: `background:${swatch}` }),
        name,
      ),
      ...cells.map((cell, index) => h("td", { class: looks(index) }, cell)),
    );
  }
}
