/** Picture of the queues: the tree of each port, with the share that each queue sent and how long packets waited. */
import { h } from "../dom";
import { quantity } from "../format";
import type { Leaf, QueueSummary, Slider } from "../generated/lockgate";
import type { Report } from "../report";
import { treeOf } from "../selection";

/** Ports that are drawn: those with the longest waits. */
const PORTS = 4;

type Named = QueueSummary & { name: string };

const waitOf = (queue: QueueSummary): number => queue.sojourn_s.p99 ?? queue.sojourn_s.max ?? 0;

/** Calls of the picture to the page. */
interface Calls {
  /** Steps through the decisions of a port. */
  step(port: string): void;
  /** Makes another tree of a port its root. */
  choose(port: string, root: string): void;
  /** Gives a port a discipline as its only queue; `roots` are its trees now. */
  plug(port: string, leaf: Leaf, roots: readonly string[]): void;
}

/** Type of what is dragged from the palette: no other page offers it. */
const DRAGGED = "application/x-lockgate-discipline";

export class Trees {
  readonly element = h("section", { class: "trees", hidden: true, "aria-labelledby": "trees-title" });
  readonly #ports = h("div", { class: "tree-ports" });
  readonly #palette = h("div", { class: "palette", hidden: true });
  #leaves: readonly Leaf[] = [];
  /** Trees of each port: the names that its root can have. */
  #trees = new Map<string, readonly string[]>();
  #report: Report | null = null;

  constructor(readonly calls: Calls) {
    this.element.append(
      h("h2", { id: "trees-title" }, "Queues"),
      h(
        "p",
        { class: "note" },
        "Bar: share of the port's bytes. Time: what 99 % of the packets waited less than.",
      ),
      this.#palette,
      this.#ports,
    );
  }

  /** Shows the disciplines that a port can have, and the trees that stand ready. */
  offer(leaves: readonly Leaf[], sliders: readonly Slider[]): void {
    const roots = sliders.filter(({ queue, knob }) => queue === null && /\.root$/.test(knob.path));
    this.#trees = new Map(roots.map(({ of, knob }) => [of, knob.choices]));
    if (this.#leaves.length !== leaves.length) {
      this.#leaves = leaves;
      this.#drawPalette();
    }
    if (this.#report) this.show(this.#report);
  }

  show(report: Report): void {
    this.#report = report;
    const ports = Object.entries(report.runs[0]?.summary.ports ?? {})
      .map(([name, { queues }]) => ({
        name,
        queues: Object.entries(queues).map(([queue, of]): Named => ({ ...of, name: queue })),
      }))
      .filter(({ queues }) => queues.some(({ sent_packets: sent }) => sent > 0))
      .sort((a, b) => Math.max(...b.queues.map(waitOf)) - Math.max(...a.queues.map(waitOf)))
      .slice(0, PORTS);
    this.element.hidden = ports.length === 0;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["plug"];
    this.#ports.replaceChildren(...ports.map(({ name, queues }) => this.#port(name, queues)));
    // The port that was changed by its keys keeps the focus.
    if (focused !== undefined)
      this.#ports.querySelector<HTMLElement>(`[data-plug="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Draws the disciplines to be dragged onto a port. Keys and touch choose from the list of the port instead. */
  #drawPalette(): void {
    const chip = (leaf: Leaf): HTMLElement =>
      h(
        "span",
        {
          class: "chip",
          draggable: "true",
          title: `${leaf.summary}. Drag it onto a port.`,
          ondragstart: (event: DragEvent) => {
            event.dataTransfer?.setData(DRAGGED, leaf.kind);
            if (event.dataTransfer) event.dataTransfer.effectAllowed = "copy";
          },
        },
        leaf.kind,
      );
    this.#palette.hidden = this.#leaves.length === 0;
    this.#palette.replaceChildren(
      h("p", { class: "note" }, "Drag a discipline onto a port, or choose it there: the text follows."),
      h("div", { class: "chips" }, ...this.#leaves.map(chip)),
    );
  }

  /** Returns the list from which a port's discipline is chosen: its trees, then all others by family. */
  #choice(port: string, roots: readonly string[]): HTMLElement | null {
    if (this.#leaves.length === 0) return null;
    const trees = [...new Set([...roots, ...(this.#trees.get(port) ?? [])])];
    const families = [...new Set(this.#leaves.map(({ family }) => family))];
    const option = (value: string, text: string, title = ""): HTMLElement =>
      h("option", { value, title }, text);
    const select = h(
      "select",
      {
        "aria-label": `Discipline of ${port}`,
        "data-plug": port,
        onchange: () => {
          const [what, name = ""] = select.value.split(/ (.*)/);
          if (what === "tree") this.calls.choose(port, name);
          else this.#plug(port, name, trees);
        },
      },
      h("optgroup", { label: "in the text" }, ...trees.map((name) => option(`tree ${name}`, name))),
      ...families.map((family) =>
        h(
          "optgroup",
          { label: family },
          ...this.#leaves
            .filter((leaf) => leaf.family === family)
            .map(({ kind, summary }) => option(`kind ${kind}`, kind, summary)),
        ),
      ),
    );
    select.value = `tree ${roots[0] ?? ""}`;
    return h("label", { class: "discipline" }, h("span", { class: "offscreen" }, "Discipline "), select);
  }

  #plug(port: string, kind: string, roots: readonly string[]): void {
    const leaf = this.#leaves.find((one) => one.kind === kind);
    if (leaf) this.calls.plug(port, leaf, roots);
  }

  /** Makes the drawing of a port a place for what is dragged. */
  #receive(element: HTMLElement, port: string, roots: readonly string[]): void {
    const isOurs = (event: DragEvent): boolean => event.dataTransfer?.types.includes(DRAGGED) === true;
    const over = (event: DragEvent): void => {
      if (!isOurs(event)) return;
      event.preventDefault();
      element.classList.add("over");
    };
    element.addEventListener("dragenter", over);
    element.addEventListener("dragover", over);
    element.addEventListener("dragleave", (event) => {
      if (!element.contains(event.relatedTarget as Node | null)) element.classList.remove("over");
    });
    element.addEventListener("drop", (event) => {
      element.classList.remove("over");
      if (!isOurs(event)) return;
      event.preventDefault();
      this.#plug(port, event.dataTransfer?.getData(DRAGGED) ?? "", [
        ...new Set([...roots, ...(this.#trees.get(port) ?? [])]),
      ]);
    });
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
    const roots = queues.filter(({ parent }) => parent === null).map((queue) => queue.name);
    const element = h(
      "div",
      { class: "tree-port" },
      h(
        "div",
        { class: "row" },
        h("h3", {}, name),
        this.#choice(name, roots),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Step through ${name}`,
            onclick: () => this.calls.step(name),
          },
          "Step through",
        ),
      ),
      h("ul", {}, ...items),
    );
    this.#receive(element, name, roots);
    return element;
  }
}
