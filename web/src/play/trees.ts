/** Picture of the queues: the tree of each port, with the share that each queue sent and how long packets waited. */
import { h } from "../dom";
import { quantity } from "../format";
import type { QueueSummary } from "../generated/lockgate";
import type { Report } from "../report";
import { treeOf } from "../selection";

/** Ports that are drawn: those with the longest waits. */
const PORTS = 4;

type Named = QueueSummary & { name: string };

const waitOf = (queue: QueueSummary): number => queue.sojourn_s.p99 ?? queue.sojourn_s.max ?? 0;

export class Trees {
  readonly element = h("section", { class: "trees", hidden: true, "aria-labelledby": "trees-title" });

  /** `step` is called to step through the decisions of a port. */
  constructor(readonly step: (port: string) => void) {}

  show(report: Report): void {
    const ports = Object.entries(report.runs[0]?.summary.ports ?? {})
      .map(([name, { queues }]) => ({
        name,
        queues: Object.entries(queues).map(([queue, of]): Named => ({ ...of, name: queue })),
      }))
      .filter(({ queues }) => queues.some(({ sent_packets: sent }) => sent > 0))
      .sort((a, b) => Math.max(...b.queues.map(waitOf)) - Math.max(...a.queues.map(waitOf)))
      .slice(0, PORTS);
    this.element.hidden = ports.length === 0;
    this.element.replaceChildren(
      h("h2", { id: "trees-title" }, "Queues"),
      h(
        "p",
        { class: "note" },
        "Bar: share of the port's bytes. Time: what 99 % of the packets waited less than.",
      ),
      ...ports.map(({ name, queues }) => this.#port(name, queues)),
    );
  }

  #port(name: string, queues: readonly Named[]): HTMLElement {
    const all = Math.max(
      1,
      ...queues.filter(({ parent }) => parent === null).map(({ sent_bytes }) => sent_bytes),
    );
    const items = treeOf(queues).map(({ queue, depth }) => {
      const share = queue.sent_bytes / all;
      const drops = queue.dropped_packets;
      return h(
        "li",
        { style: `--depth: ${depth}; --share: ${share}` },
        h("span", { class: "queue-name" }, queue.name, h("small", {}, ` ${queue.kind}`)),
        h("span", { class: "share", title: `${(share * 100).toFixed(1)} % of the bytes` }),
        h(
          "span",
          { class: "wait" },
          queue.sent_packets === 0 ? "idle" : quantity(waitOf(queue), "s"),
          drops > 0 ? h("small", { class: "drops" }, `, ${drops} dropped`) : null,
        ),
      );
    });
    return h(
      "div",
      { class: "tree-port" },
      h(
        "div",
        { class: "row" },
        h("h3", {}, name),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Step through ${name}`,
            onclick: () => this.step(name),
          },
          "Step through",
        ),
      ),
      h("ul", {}, ...items),
    );
  }
}
