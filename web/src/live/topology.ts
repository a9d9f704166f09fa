/**
 * Diagram of the network: the width of a link shows its rate, its fill the load, and the mark at its
 * start the backlog.
 */
import { svg, update } from "../dom";
import { fastestOf, places, rateFrom } from "../figures/topology";
import type { PortSample, Sample, Status } from "../generated/lockgate";
import type { Ink } from "../palette";
import { portAt } from "./parts";

const bits = (bps: number): string =>
  bps >= 1e9
    ? `${(bps / 1e9).toFixed(2)} G`
    : bps >= 1e6
      ? `${(bps / 1e6).toFixed(2)} M`
      : bps >= 1e3
        ? `${(bps / 1e3).toFixed(0)} k`
        : `${bps.toFixed(0)} `;

/** Distance of the outermost nodes from the edges, in pixels: half of a name. */
const EDGE = 60;

interface Spot {
  x: number;
  y: number;
}

/** One direction of a link. */
interface Direction {
  start: Spot;
  end: Spot;
  /** True for the direction in which the link is named. */
  isForth: boolean;
  /** Width of the link in pixels. */
  thick: number;
  /** Rate in bits per second; null if unlimited. */
  rate: number | null;
  /** Width in pixels that the names of both ends take between them. */
  named: number;
  /** Sample of its port. */
  shown: PortSample | undefined;
}

const lengthOf = ({ start, end }: Direction): number => Math.hypot(end.x - start.x, end.y - start.y) || 1;

const isDropping = ({ shown }: Direction): boolean => (shown?.queues[0]?.dropped_packets ?? 0) > 0;

/** Whether a queue of the port hurts, as Rust judges it. */
const isInPain = ({ shown }: Direction): boolean => shown?.queues.some(({ pain }) => pain) ?? false;

/** Returns the line of a direction's load, on the right-hand half of its link; without a rate there is no load. */
function drawLoad(direction: Direction, ink: Ink): SVGElement[] {
  const { start, end, thick, rate, shown } = direction;
  const load = Math.min(1, (shown?.sent_bps ?? 0) / Math.max(1, rate ?? Infinity));
  if (load <= 0) return [];
  const length = lengthOf(direction);
  const [aside, below] = [
    (-(end.y - start.y) / length) * thick * 0.25,
    ((end.x - start.x) / length) * thick * 0.25,
  ];
  return [
    svg("line", {
      class: "load",
      x1: start.x + aside,
      y1: start.y + below,
      x2: start.x + aside + (end.x - start.x) * load,
      y2: start.y + below + (end.y - start.y) * load,
      stroke: shown?.is_full ? ink.warn : ink.accent,
      "stroke-width": thick * 0.45,
      "stroke-linecap": "round",
    }),
  ];
}

/** Returns the mark of a port's queue, with its packets; on a short link it is smaller, and nearer to its node. */
function drawMark(
  direction: Direction,
  port: string,
  index: number,
  isSelected: boolean,
  ink: Ink,
): SVGElement {
  const { start, end, rate, shown } = direction;
  const packets = shown?.queues[0]?.packets ?? 0;
  const length = lengthOf(direction);
  const away = Math.min(34, Math.max(16, 0.28 * length));
  const [x, y] = [
    start.x + ((end.x - start.x) * away) / length,
    start.y + ((end.y - start.y) * away) / length,
  ];
  const [dropping, pain] = [isDropping(direction), isInPain(direction)];
  const full = shown?.is_full === true;
  const name = `${port}: ${packets} packets wait, ${bits(shown?.sent_bps ?? 0)}bit/s${rate === null ? "" : ` of ${bits(rate)}bit/s`}${full ? ", full" : ""}${dropping ? ", drops" : ""}${pain ? ", hurts" : ""}`;
  const radius = length < 90 ? 9 : 12;
  return svg(
    "g",
    {
      class: "queue-mark",
      role: "button",
      tabindex: 0,
      "aria-label": name,
      "aria-pressed": String(isSelected),
      "data-port": index,
    },
    svg("title", {}, name),
    svg("circle", {
      cx: x,
      cy: y,
      r: radius,
      fill: ink.page,
      stroke: pain ? ink.bad : isSelected ? ink.accent : full ? ink.warn : ink.soft,
      "stroke-width": pain || isSelected ? 3 : full ? 2.5 : 1.5,
    }),
    // A drop alone is how active queue management works: a tick.
    dropping ? svg("path", { d: `M${x} ${y + radius + 1}v4`, stroke: ink.soft, "stroke-width": 2 }) : null,
    svg("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 11, fill: ink.text }, String(packets)),
  );
}

/** Left, top, right and bottom edge. */
type Box = readonly [number, number, number, number];

/** Returns the box of a circle, or of a text by the mean width of its letters. */
function boxOf(element: SVGElement): Box {
  const of = (name: string): number => Number(element.getAttribute(name) ?? 0);
  if (element.tagName === "circle") {
    const [x, y, radius] = [of("cx"), of("cy"), of("r")];
    return [x - radius, y - radius, x + radius, y + radius];
  }
  const wide = (element.textContent ?? "").length * 0.57 * of("font-size");
  const anchor = { start: 0, middle: 0.5, end: 1 }[element.getAttribute("text-anchor") ?? "start"] ?? 0;
  const left = of("x") - anchor * wide;
  return [left, of("y") - 9, left + wide, of("y") + 2];
}

const meet = (one: Box, other: Box): boolean =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

/** Returns the rates of directions: the longest of each that lies over no mark, name or other rate. */
function drawRates(directions: readonly Direction[], others: readonly SVGElement[], ink: Ink): SVGElement[] {
  const taken = others.flatMap((part) => [
    ...(part.matches("circle, text") ? [boxOf(part)] : []),
    ...[...part.querySelectorAll<SVGElement>("circle")].map(boxOf),
  ]);
  return directions.flatMap((direction) => {
    for (let fewer = 0; fewer < 3; fewer++) {
      const text = drawRate(direction, ink, fewer);
      const box = boxOf(text);
      if (text.textContent === "" || taken.some((one) => meet(one, box))) continue;
      taken.push(box);
      return [text];
    }
    return [];
  });
}

/** Returns the rate of a direction on its side; without room it is only in the mark's name, and drops only in its ring. */
function drawRate(direction: Direction, ink: Ink, fewer: number): SVGElement {
  const { start, end, rate, isForth, shown } = direction;
  const sent = bits(shown?.sent_bps ?? 0);
  const whole = rate === null ? `${sent}bit/s` : `${sent.trimEnd()}/${bits(rate)}bit/s`;
  const labels = [whole, `${sent}bit/s`, sent.trimEnd()].slice(fewer);
  const room = Math.abs(end.x - start.x) - 8;
  // Without room it would lie over its neighbours, and below the link over names; it is in the mark's name.
  const free = room - (Math.abs(end.y - start.y) > 4 ? 30 : 0) - (isForth ? 0 : 60);
  // Only along a level link, beside which no other link is; below it between the names of its ends.
  const level = Math.abs(end.y - start.y) <= 4 ? room - (isForth ? 0 : direction.named) : 0;
  const short = (labels.at(-1)?.length ?? 0) * 6 <= level ? labels.at(-1) : "";
  const label = labels.find((text) => text.length * 6 <= free) ?? short ?? "";
  // Between the marks at both ends of the link, or beyond them.
  const gap = label.length * 6 <= room - 84 ? 15 : 21;
  return svg(
    "text",
    {
      x: (start.x + end.x) / 2,
      y: (start.y + end.y) / 2 + (isForth ? -1 : 1) * gap + 5,
      "text-anchor": "middle",
      "font-size": 11,
      fill: ink.soft,
    },
    label,
  );
}

/** Returns the name of a node: below it, or at the edge beside it if another node stands below. */
function drawName(name: string, { x, y }: Spot, width: number, all: readonly Spot[], ink: Ink): SVGElement {
  const isStacked = all.some((other) => other.x === x && other.y !== y);
  const isShort = name.length * 7 < EDGE - 12;
  const side = !isStacked || !isShort ? 0 : x <= EDGE ? -1 : x >= width - EDGE ? 1 : 0;
  const place =
    side === 0
      ? { x, y: y + 22, "text-anchor": "middle" }
      : { x: x + 11 * side, y: y + 4, "text-anchor": side < 0 ? "end" : "start" };
  return svg("text", { ...place, "font-size": 12, fill: ink.text }, name);
}

/** Calls `select` with the port of the mark that is clicked, or on which Enter is pressed. */
function listen(into: SVGSVGElement, select: (port: number) => void): void {
  const choose = (event: Event): void => {
    const port = (event.target as Element).closest(".queue-mark")?.getAttribute("data-port");
    if (port) select(Number(port));
  };
  into.onclick = choose;
  into.onkeydown = (event) => {
    if (event.key === "Enter") choose(event);
  };
}

/** Returns the positions of the nodes in pixels, the same as in the report. */
function spotsOf(status: Status, width: number, height: number): Map<string, Spot> {
  const found = places(
    status.nodes.map((name) => ({ name })),
    status.links,
  );
  const ys = [...found.values()].map(({ y }) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  // Room for the marks above the highest node, and for the name below the lowest.
  const down = (y: number): number =>
    high > low ? 18 + ((height - 48) * (y - low)) / (high - low) : height / 2;
  return new Map(
    [...found].map(([name, place]) => [name, { x: EDGE + (width - 2 * EDGE) * place.x, y: down(place.y) }]),
  );
}

/** Draws the network of a sample. A click on a link's queue selects its port. */
export function drawTopology(
  into: SVGSVGElement,
  status: Status,
  sample: Sample | undefined,
  ink: Ink,
  selected: number,
  select: (port: number) => void,
): void {
  const [width, height] = [Math.max(300, into.clientWidth || 600), into.clientHeight || 170];
  into.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const at = spotsOf(status, width, height);
  const parts: SVGElement[] = [];
  const rates: Direction[] = [];
  for (const link of status.links) {
    const [from, to] = [at.get(link.from), at.get(link.to)];
    if (!from || !to) continue;
    const thick = Math.min(14, Math.max(4, 2 * Math.log10(Math.max(10, fastestOf(link) / 1e4))));
    parts.push(
      svg("line", {
        x1: from.x,
        y1: from.y,
        x2: to.x,
        y2: to.y,
        stroke: ink.rule,
        "stroke-width": thick,
        "stroke-linecap": "round",
      }),
    );
    status.ports.forEach((port, index) => {
      if (port.link !== link.name) return;
      const isForth = port.from === link.from;
      const [start, end] = isForth ? [from, to] : [to, from];
      const shown = portAt(sample, index);
      const rate = rateFrom(link, port.from);
      const named = (7 * (link.from.length + link.to.length)) / 2 - 8;
      const direction = { start, end, isForth, thick, rate, named, shown };
      parts.push(...drawLoad(direction, ink));
      const root = shown?.queues[0];
      const isIdle = root === undefined || root.total.offered_packets === 0;
      if (isIdle && index !== selected) return;
      parts.push(drawMark(direction, port.name, index, index === selected, ink));
      if (!isIdle) rates.push(direction);
    });
  }
  for (const [name, spot] of at) {
    parts.push(
      svg("circle", { cx: spot.x, cy: spot.y, r: 6, fill: ink.text }),
      drawName(name, spot, width, [...at.values()], ink),
    );
  }
  parts.push(...drawRates(rates, parts, ink));
  listen(into, select);
  // After an update, the focused mark may belong to another port.
  const focused = document.activeElement?.getAttribute("aria-label")?.split(":")[0];
  update(into, parts);
  if (focused !== undefined && focused !== "") {
    for (const mark of into.querySelectorAll<SVGGElement>(".queue-mark"))
      if (mark.getAttribute("aria-label")?.startsWith(`${focused}:`)) mark.focus();
  }
}
