/**
 * Worst packets: of each judged flow the packet with the largest delay, where it waited, and behind what. Found in Rust
 * by a second run; here only drawn.
 */
import { breakable, copyText, h, svg } from "../dom";
import { duringOf } from "../figures/time-bounds";
import { plural, quantity, significant } from "../format";
import type { Served, Stay, WorstPacket } from "../generated/lockgate";
import { COLOURS, DARK } from "../palette";
import { isFolded, isOfFlow } from "../selection";

/** Width of a bar in the units of its drawing; it is stretched to its place. */
const WIDTH = 1000;
const HEIGHT = 26;
/** Served flows that are named below a bar. */
const NAMED = 6;

/** Returns the slot of a flow's colour. */
type SlotOf = (flow: string) => number;

/** Returns the address within the page of a flow's worst packet. */
const anchorOf = (flow: string): string => `worst-${flow.replace(/[^\w-]/g, "-")}`;

/**
 * Returns a link to the worst packet of the flow that an expectation judges; null if it has none. That packet is of the
 * whole run: of an expectation on a part of it only if it was sent in that part.
 */
export function worstLink(that: string, packets: readonly WorstPacket[]): HTMLElement | null {
  const judged = /\.(owd|queueing)\b/.test(that) ? packets.find(({ flow }) => isOfFlow(that, flow)) : null;
  if (!judged) return null;
  const { during } = duringOf(that);
  if (during && !(during[0] <= judged.sent_s && judged.sent_s < during[1])) return null;
  const title = `Packet of ${judged.flow} with the largest delay: where it waited, and behind what`;
  return h("a", { class: "worst-link", href: `#${anchorOf(judged.flow)}`, title }, "worst packet");
}

/** Returns each worst packet as a block. */
export function worstParts(packets: readonly WorstPacket[], slotOf: SlotOf): HTMLElement[] {
  return packets.map((packet) => {
    const times =
      packet.owd_p50_s > 0 && packet.owd_s > 2 * packet.owd_p50_s
        ? `, ${significant(packet.owd_s / packet.owd_p50_s)} times the median`
        : "";
    const longest = packet.stays.reduce((most, stay) => Math.max(most, stay.waited_s), 0);
    const waits = packet.stays.filter((stay) => stay.waited_s > 0);
    const none = packet.stays.filter((stay) => stay.waited_s <= 0).map((stay) => stay.port);
    return h(
      "article",
      { class: "worst", id: anchorOf(packet.flow) },
      h("h3", {}, `${packet.flow}: ${quantity(packet.owd_s, "s")} on its way${times}`),
      h(
        "p",
        { class: "note" },
        `Packet ${packet.sequence}, ${packet.length_bytes} B, sent at ${quantity(packet.sent_s, "s", 6)}. ` +
          `${quantity(packet.beside_queues_s, "s")} of it on links and in routers` +
          (none.length > 0 ? `; no wait at ${none.join(", ")}.` : "."),
      ),
      h("ol", {}, ...waits.map((stay) => stayItem(stay, stay.waited_s === longest, slotOf))),
      packet.command === "" ? null : commandLine(packet.command),
    );
  });
}

function commandLine(command: string): HTMLElement {
  const copy = () => void copyText(command, "Command");
  return h(
    "p",
    { class: "command note" },
    h("span", {}, "Decision by decision: ", h("code", {}, command)),
    h("button", { type: "button", class: "quiet", onclick: copy }, "Copy"),
  );
}

function stayItem(stay: Stay, isLongest: boolean, slotOf: SlotOf): HTMLElement {
  const marked = stay.is_marked ? ", and was marked there" : "";
  return h(
    "li",
    { class: isLongest ? "longest" : null },
    h(
      "p",
      {},
      h("strong", {}, ...breakable(stay.port)),
      ` ${quantity(stay.waited_s, "s")}${marked}, behind ${plural(stay.ahead_packets, "packet")}` +
        (stay.queue === "" ? "" : `, in ${stay.queue}`),
    ),
    stay.blocks.length > 0 ? bar(stay, slotOf) : null,
    h(
      "ul",
      { class: "served" },
      ...stay.served.slice(0, NAMED).map((served) => servedItem(served, stay, slotOf)),
    ),
    ...stay.reasons.map((reason) => h("p", { class: "reason" }, `Sent at last because: ${reason}`)),
  );
}

function colourOf({ flow }: Served, slotOf: SlotOf): string {
  if (flow === null) return "none";
  // Folded flows have no colour of their own; the last one is grey.
  const slot = isFolded(flow) ? COLOURS - 1 : slotOf(flow);
  return DARK.series[slot % COLOURS] ?? "currentColor";
}

const nameOf = ({ flow }: Served): string => flow ?? "the port may not send";

function servedItem(served: Served, stay: Stay, slotOf: SlotOf): HTMLElement {
  const share = stay.waited_s > 0 ? `, ${significant((served.time_s / stay.waited_s) * 100, 2)} %` : "";
  const packets = served.flow === null ? "" : `${plural(served.packets, "packet")}, `;
  return h(
    "li",
    {},
    h("i", { class: served.flow === null ? "waits" : "", style: `--colour:${colourOf(served, slotOf)}` }),
    `${nameOf(served)}: ${packets}${quantity(served.time_s, "s")}${share}`,
  );
}

/** Draws what the port did during a stay, from the arrival to the departure. */
function bar(stay: Stay, slotOf: SlotOf): HTMLElement {
  const first = stay.blocks[0]?.from_s ?? 0;
  const scale = WIDTH / Math.max(stay.waited_s - first, Number.MIN_VALUE);
  const rects = stay.blocks.map((block) => {
    const served = stay.served[block.served];
    if (!served) return null;
    const packets = served.flow === null ? "" : `: ${plural(block.packets, "packet")}`;
    return svg(
      "rect",
      {
        x: ((block.from_s - first) * scale).toFixed(2),
        width: Math.max((block.to_s - block.from_s) * scale, 0.3).toFixed(2),
        y: 0,
        height: HEIGHT,
        class: served.flow === null ? "waits" : null,
        fill: served.flow === null ? null : colourOf(served, slotOf),
      },
      svg("title", {}, `${nameOf(served)}${packets}, ${quantity(block.to_s - block.from_s, "s")}`),
    );
  });
  const [most] = stay.served;
  const label = `What ${stay.port} did while it waited: mostly ${most ? nameOf(most) : "nothing"}`;
  return h(
    "div",
    { class: "stay-bar" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      ...rects,
    ),
    h(
      "p",
      { class: "ends" },
      h("span", {}, first > 0 ? `the last ${quantity(stay.waited_s - first, "s")}` : "arrives"),
      h("span", {}, `leaves after ${quantity(stay.waited_s, "s")}`),
    ),
  );
}
