/** Drawing of a step: the tree with its packets, the state that decides, and the reason. */
import { h } from "../dom";
import type {
  DecisionDocument,
  PacketDocument,
  QueueDocument,
  ReasonPart,
  StepDocument,
  WaitingDocument,
} from "../generated/lockgate";

/** Rows of a table that are shown: as many as the terminal has. */
const ROWS = 16;
/** Packets of a queue that are drawn. */
const PACKETS = 24;

/** Parts of a drawing that the caller knows. */
export interface Drawing {
  colourOf(flow: string): string;
  /** Called when a packet is chosen. */
  follow(packet: PacketDocument): void;
}

const UNITS: readonly (readonly [number, string])[] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** Returns a length of time with its unit, in at most five digits. */
export function spanOf(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Number((seconds / size).toPrecision(5))} ${unit}`;
}

/** Returns a time in seconds to nanoseconds. */
export const timeOf = (seconds: number): string => `${Number(seconds.toFixed(9))} s`;

const nameOf = ({ flow, sequence }: PacketDocument): string => `${flow}#${sequence}`;

/** Returns what happened, in a sentence. */
export function eventOf({ step }: StepDocument): string {
  switch (step.event) {
    case "departure":
      return `sends ${nameOf(step.packet)}${step.marked ? ", marked" : ""}, ${step.packet.length} B, after ${spanOf(step.sojourn)}`;
    case "drop":
      return `drops ${nameOf(step.packet)}, ${step.packet.length} B (${step.reason})`;
    case "wait":
      return `waits until ${timeOf(step.until)}`;
    case "arrival":
      return `receives ${nameOf(step.packet)}, ${step.packet.length} B`;
    case "empty":
      return "has no packet";
  }
}

/** Returns whether a decision shows only its backlog, as that of a FIFO below another queue does. */
function isPlain({ rows, drops, state }: DecisionDocument): boolean {
  return (
    rows.length === 0 && drops === 0 && state.every(({ name }) => name === "packets" || name === "bytes")
  );
}

/** Returns the decisions that say something, from the root down. */
export const decisionsOf = (step: StepDocument): DecisionDocument[] =>
  (step.decision ?? []).filter((one, depth) => depth === 0 || !isPlain(one));

/** Returns the reason with its quantities set off. */
export function reasonOf(parts: readonly ReasonPart[]): (Node | string)[] {
  return parts.map((part) => (typeof part === "string" ? part : h("b", {}, part.text)));
}

/** Draws the tree of queues, each leaf with its packets, the one that leaves first at the left. */
export function drawTree(step: StepDocument, tree: readonly QueueDocument[], drawing: Drawing): HTMLElement {
  const path = new Set((step.decision ?? []).map(({ queue }) => queue));
  const names = new Set(tree.map(({ name }) => name));
  // A tree that was exchanged during the run: the queues of the decision, and those that hold packets.
  const held = [...new Set([...path, ...step.queue.map(({ queue }) => queue)])];
  const isOther = held.some((name) => !names.has(name));
  const other = held.map((name) => ({ name, kind: "", depth: 0, is_leaf: true }));
  const queues = isOther ? other : tree;
  const items = queues.map((queue) => {
    const packets = step.queue.filter((one) => one.queue === queue.name);
    const name = h(
      "span",
      { class: "queue-name" },
      queue.name,
      queue.kind === "" || queue.kind === queue.name ? null : h("small", {}, ` ${queue.kind}`),
    );
    return h(
      "li",
      { class: path.has(queue.name) ? "on-path" : "", style: `--depth: ${queue.depth}` },
      name,
      ...(queue.is_leaf || packets.length > 0 ? [lanes(queue.name, packets, step, drawing)] : []),
    );
  });
  const hidden = step.packets - step.queue.length;
  return h(
    "div",
    { class: "step-tree" },
    h("ul", { "aria-label": "Queues with their packets" }, ...items),
    hidden > 0 ? h("p", { class: "note" }, `${hidden} more packets wait, between those drawn.`) : null,
  );
}

/** Draws the packets of a leaf: a lane a flow, if it has a queue a flow. */
function lanes(
  queue: string,
  packets: readonly WaitingDocument[],
  step: StepDocument,
  drawing: Drawing,
): HTMLElement {
  const decision = (step.decision ?? []).find((one) => one.queue === queue);
  const flows = new Set(packets.map(({ packet }) => packet.flow));
  const rows = (decision?.rows ?? []).map(({ name }) => name.text).filter((name) => flows.has(name));
  if (rows.length === 0) return lane(packets, step, drawing, null);
  const rest = [...flows].filter((flow) => !rows.includes(flow));
  const one = (flow: string): HTMLElement =>
    lane(
      packets.filter(({ packet }) => packet.flow === flow),
      step,
      drawing,
      flow,
    );
  return h("div", { class: "lanes" }, ...[...new Set(rows), ...rest].map(one));
}

function lane(
  packets: readonly WaitingDocument[],
  { step }: StepDocument,
  { colourOf, follow }: Drawing,
  flow: string | null,
): HTMLElement {
  const moves = step.event === "departure" || step.event === "drop" ? step.packet : null;
  const draw = ({ packet, waited }: WaitingDocument): HTMLElement => {
    const isMoving = moves !== null && nameOf(packet) === nameOf(moves);
    const what = isMoving ? (step.event === "drop" ? ", dropped now" : ", sent now") : "";
    return h(
      "button",
      {
        type: "button",
        class: `packet${isMoving ? ` ${step.event === "drop" ? "dropped" : "sent"}` : ""}`,
        style: `--flow: ${colourOf(packet.flow)}; --length: ${packet.length}`,
        title: `${nameOf(packet)}, ${packet.length} B, waits for ${spanOf(waited)}${what}. Goes to where it leaves.`,
        "aria-label": `${nameOf(packet)}, ${packet.length} bytes, waits for ${spanOf(waited)}${what}: go to where it leaves`,
        onclick: () => follow(packet),
      },
      `${packet.flow.slice(0, 1)}${packet.sequence}`,
    );
  };
  const shown = packets.slice(0, PACKETS);
  return h(
    "div",
    { class: "lane" },
    flow === null ? null : h("span", { class: "lane-name" }, flow),
    packets.length === 0 ? h("span", { class: "soft" }, "empty") : null,
    ...shown.map(draw),
    packets.length > shown.length ? h("span", { class: "soft" }, `+${packets.length - shown.length}`) : null,
  );
}

/** Draws the decision of a queue: its reason, its state, and the table of its rows. */
export function drawDecision(decision: DecisionDocument): HTMLElement {
  const { queue, kind, state, why, rows } = decision;
  return h(
    "div",
    { class: "decision" },
    h("p", { class: "why" }, h("span", { class: "where" }, `${queue}`), " ", ...reasonOf(why)),
    state.length === 0
      ? null
      : h(
          "dl",
          { class: "state" },
          ...state.flatMap(({ name, value }) => [h("div", {}, h("dt", {}, name), h("dd", {}, value.text))]),
        ),
    rows.length === 0 ? null : stateTable(decision, `State of ${queue} (${kind})`),
  );
}

function stateTable({ rows, row_noun: noun, choice }: DecisionDocument, name: string): HTMLElement {
  const chosen = typeof choice === "object" && "packet" in choice ? choice.packet.row : null;
  // In the order of the row that has most of them.
  const fullest = [...rows].sort((a, b) => b.fields.length - a.fields.length);
  const titles = [...new Set(fullest.flatMap(({ fields }) => fields.map((field) => field.name)))];
  const end = Math.min(Math.max(ROWS, (chosen ?? 0) + 1), rows.length);
  const first = Math.max(0, end - ROWS);
  const body = rows.slice(first, end).map((row, at) => {
    const isChosen = first + at === chosen;
    const cell = (title: string): HTMLElement => {
      const text = row.fields.find((field) => field.name === title)?.value.text ?? "";
      return h("td", {}, text);
    };
    return h(
      "tr",
      { class: isChosen ? "chosen" : "" },
      h(
        "th",
        { scope: "row", style: `--depth: ${row.depth}` },
        isChosen ? h("span", { class: "sign", "aria-hidden": "true" }, "▸") : null,
        row.name.text,
        isChosen ? h("span", { class: "offscreen" }, ", chosen") : null,
      ),
      ...titles.map(cell),
    );
  });
  return h(
    "div",
    { class: "state-table", tabindex: 0, role: "region", "aria-label": name },
    h(
      "table",
      {},
      h("caption", { class: "offscreen" }, name),
      h("thead", {}, h("tr", {}, ...[noun, ...titles].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, ...body),
    ),
    end - first < rows.length ? h("p", { class: "note" }, `${end - first} of ${rows.length} rows`) : null,
  );
}
