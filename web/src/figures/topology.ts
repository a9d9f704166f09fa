/** The network of a run: nodes and links, routers as squares, rate and delay at every link. */
import { svg } from "../dom";
import type { Figure } from "../figure";
import { quantity, shortened } from "../format";
import type { TopologyLink, TopologyNode } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Report } from "../report";
import type { View } from "../selection";

/** Largest number of nodes drawn with names, which would otherwise overlap; the table has the names. */
const NAMED = 40;

/** Position of a node, both coordinates between 0 and 1. */
interface Place {
  x: number;
  y: number;
}

/** A link with the rates of both directions: first that from `from` to `to`. */
type Way = Pick<TopologyLink, "from" | "to" | "rate_bps">;

/** Returns the known rates of a link. */
const ratesOf = (link: Pick<Way, "rate_bps">): number[] => link.rate_bps.filter((rate) => rate !== null);

/** Returns the rate of the faster direction, which determines how thick a link is drawn; 0 if unknown. */
export const fastestOf = (link: Pick<Way, "rate_bps">): number => Math.max(0, ...ratesOf(link));

/** Returns the rate of a link in the direction away from `node`; null if unknown. */
export const rateFrom = (link: Pick<Way, "from" | "rate_bps">, node: string): number | null =>
  link.rate_bps[node === link.from ? 0 : 1] ?? null;

/**
 * Returns a position for every node: the given one, or columns by the distance in hops from one end of the
 * longest shortest path, each column spread evenly. If the slowest link divides the network, the columns are
 * arranged around it.
 */
export function places(
  nodes: readonly Pick<TopologyNode, "name" | "x" | "y">[],
  links: readonly Way[],
): Map<string, Place> {
  const found = new Map<string, Place>();
  if (nodes.length > 0 && nodes.every(({ x, y }) => typeof x === "number" && typeof y === "number")) {
    for (const node of nodes) found.set(node.name, { x: clamp(node.x), y: clamp(node.y) });
    return found;
  }
  const names = nodes.map((node) => node.name);
  const beside = new Map<string, string[]>(names.map((name) => [name, []]));
  for (const { from, to } of links) {
    beside.get(from)?.push(to);
    beside.get(to)?.push(from);
  }
  const column = sides(names, links);
  for (const name of names) {
    if (column.has(name)) continue;
    const there = hops(beside, name);
    const ends = [...there].reduce((far, entry) => (entry[1] > far[1] ? entry : far), [name, 0]);
    // Begins at the end that is named first: scenarios are usually written from the sender to the receiver.
    const back = hops(beside, ends[0]);
    const other = [...back].reduce((far, entry) => (entry[1] > far[1] ? entry : far), [ends[0], 0]);
    const start = names.indexOf(other[0]) < names.indexOf(ends[0]) ? other[0] : ends[0];
    for (const [node, distance] of hops(beside, start)) column.set(node, distance);
  }
  const columns = new Map<number, string[]>();
  for (const name of names)
    columns.set(column.get(name) ?? 0, [...(columns.get(column.get(name) ?? 0) ?? []), name]);
  const last = Math.max(0, ...columns.keys());
  for (const [at, members] of columns) {
    members.forEach((name, index) => {
      found.set(name, { x: last === 0 ? 0.5 : at / last, y: (index + 0.5) / members.length });
    });
  }
  return found;
}

/**
 * Returns the columns around the slowest link, if it alone joins two parts of the network; otherwise none.
 * Such a link is usually the scenario's subject, and the side named first sends into it.
 */
function sides(names: readonly string[], links: readonly Way[]): Map<string, number> {
  const column = new Map<string, number>();
  const slowestOf = (link: Way | null): number => Math.min(...(link ? ratesOf(link) : []));
  const slowest = links.reduce<Way | null>(
    (least, link) => (slowestOf(link) < slowestOf(least) ? link : least),
    null,
  );
  if (!slowest) return column;
  const beside = new Map<string, string[]>(names.map((name) => [name, []]));
  for (const link of links) {
    if (link === slowest) continue;
    beside.get(link.from)?.push(link.to);
    beside.get(link.to)?.push(link.from);
  }
  const [here, there] = [hops(beside, slowest.from), hops(beside, slowest.to)];
  if (here.has(slowest.to) || !beside.has(slowest.from) || !beside.has(slowest.to)) return column;
  const first = (side: Map<string, number>): number =>
    Math.min(...[...side.keys()].map((name) => names.indexOf(name)));
  const [left, right] = first(here) <= first(there) ? [here, there] : [there, here];
  const depth = Math.max(...left.values());
  for (const [name, distance] of left) column.set(name, depth - distance);
  for (const [name, distance] of right) column.set(name, depth + 1 + distance);
  return column;
}

const clamp = (value: number | null | undefined): number => Math.min(1, Math.max(0, value ?? 0.5));

function hops(beside: Map<string, string[]>, start: string): Map<string, number> {
  const distance = new Map([[start, 0]]);
  const queue = [start];
  for (let at = 0; at < queue.length; at += 1) {
    const name = queue[at] as string;
    for (const next of beside.get(name) ?? []) {
      if (distance.has(next) || !beside.has(next)) continue;
      distance.set(next, (distance.get(name) ?? 0) + 1);
      queue.push(next);
    }
  }
  return distance;
}

/** Returns the figure of the network, in full. */
export const topologyFigure = ({ report }: Pick<View, "report">): Figure => figureOf(report, false);

/** Largest number of nodes of a network that is drawn beside the verdict. */
const SMALL = 16;

/** Returns whether the network is drawn beside the verdict. */
export const isSmall = ({ topology: { nodes } }: Report): boolean =>
  nodes.length > 0 && nodes.length <= SMALL;

/** Returns the figure of the network as it stands beside the verdict. */
export const networkFigure = ({ report }: Pick<View, "report">): Figure => figureOf(report, true);

/** Wait in seconds from which packets wait too long, as in the rule for pain (`pain.rs`). */
const LONG_S = 0.1;

/** The port at which packets of a run wait longest, which the verdict names. */
interface Wait {
  port: string;
  wait: number;
}

/** Returns where packets wait longest; null if none waits, and in a report of several runs. */
function longestWait({ runs }: Report): Wait | null {
  const [run] = runs;
  if (!run || runs.length > 1) return null;
  const waits = Object.entries(run.summary.ports).flatMap(([port, { queues }]) =>
    Object.values(queues).map(({ sojourn_s }) => ({ port, wait: sojourn_s.p99 ?? sojourn_s.max ?? 0 })),
  );
  return waits.reduce<Wait | null>((most, one) => (one.wait > (most?.wait ?? 0) ? one : most), null);
}

function figureOf(report: Report, small: boolean): Figure {
  const { nodes, links } = report.topology;
  return {
    id: small ? "network" : "topology",
    title: "Topology",
    caption:
      "Squares forward, circles send or receive; the width of a link shows the rate of its faster direction. Dot: where packets wait longest, red from 100 ms." +
      (nodes.length > NAMED ? ` ${nodes.length} nodes: their names are in the table.` : ""),
    empty: nodes.length === 0 ? "The report carries no topology." : null,
    choices: [],
    key: () => [],
    height: (width) => heightOf(places(nodes, links), width, small),
    draw: (ink, width) => ({ element: draw(report, ink, width, small) }),
    table: () => ({
      columns: ["link", "from", "to", "rate_bps", "delay_s"],
      // A row for each direction.
      rows: links.flatMap((link) => [
        [link.name, link.from, link.to, link.rate_bps[0] ?? null, link.delay_s[0] ?? null],
        [link.name, link.to, link.from, link.rate_bps[1] ?? null, link.delay_s[1] ?? null],
      ]),
    }),
  };
}

/** Returns the height of the picture, which has room for the column with the most nodes. */
function heightOf(at: ReadonlyMap<string, Place>, width: number, small: boolean): number {
  const tallest = Math.max(
    1,
    ...tallyBy([...at.values()].map((place) => Math.round(place.x * 1000))).values(),
  );
  const apart = at.size > NAMED ? 16 : small ? 56 : width < 520 ? 96 : 74;
  return Math.min(640, Math.max(110, tallest * apart + 40));
}

function draw(report: Report, ink: Ink, width: number, small: boolean): SVGSVGElement {
  const { nodes, links } = report.topology;
  const at = places(nodes, links);
  const named = nodes.length <= NAMED;
  const height = heightOf(at, width, small);
  const side = named ? 54 : 20;
  const spot = (name: string): { x: number; y: number } => {
    const place = at.get(name) ?? { x: 0.5, y: 0.5 };
    return { x: side + place.x * (width - 2 * side), y: 26 + place.y * (height - 62) };
  };
  const rates = links.map(fastestOf).filter((rate) => rate > 0);
  const [slowest, fastest] = [Math.min(...rates), Math.max(...rates)];
  const degree = tallyBy(links.flatMap((link) => [link.from, link.to]));
  const element = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-family": "system-ui, sans-serif",
  });
  const letters = nodes.length > 1 ? Math.max(9, Math.floor(width / 60)) : 40;
  const taken = named ? nodes.map((node) => nameBox(shortened(node.name, letters), spot(node.name))) : [];
  for (const link of links) {
    if (!at.has(link.from) || !at.has(link.to)) continue;
    const share =
      fastest > slowest && fastestOf(link) > 0
        ? Math.log(fastestOf(link) / slowest) / Math.log(fastest / slowest)
        : 0.4;
    // Labels of links that meet in a node are nearer to the links' other ends, where the links are apart.
    const [from, to] = [degree.get(link.from) ?? 0, degree.get(link.to) ?? 0];
    const label = Math.min(from, to) > 1 || Math.max(from, to) < 3 ? 0.5 : from < to ? 0.36 : 0.64;
    element.append(
      drawLink(ink, link, spot(link.from), spot(link.to), 1.5 + 4 * share, named ? label : null, taken),
    );
  }
  for (const node of nodes) element.append(drawNode(ink, node, spot(node.name), named, letters));
  const place = longestWait(report);
  const [from = "", to = ""] = place?.port.replace(/@.*/, "").split(":") ?? [];
  if (place && at.has(from) && at.has(to)) element.append(drawWait(ink, place, spot(from), spot(to)));
  return element;
}

/** Distance in pixels of the mark of a wait from the node that it is at. */
const BEFORE = 21;

/** Draws a ring on the link before which packets wait longest, red if they wait too long. */
function drawWait(ink: Ink, { port, wait }: Wait, from: Place, to: Place): SVGGElement {
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y));
  const part = Math.min(0.4, BEFORE / length);
  return svg(
    "g",
    {},
    svg("title", {}, `Packets wait longest at ${port}: ${quantity(wait, "s")}`),
    svg("circle", {
      class: "waits",
      cx: from.x + (to.x - from.x) * part,
      cy: from.y + (to.y - from.y) * part,
      r: 5.5,
      fill: wait >= LONG_S ? ink.bad : ink.panel,
      stroke: wait >= LONG_S ? ink.bad : ink.soft,
      "stroke-width": 2,
    }),
  );
}

/** Room that a text takes, in pixels. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Returns the room of a node's name, below its mark. */
function nameBox(name: string, at: Place): Box {
  const half = name.length * 3.6;
  return { left: at.x - half, right: at.x + half, top: at.y + 14, bottom: at.y + 29 };
}

const isApart = (a: Box, b: Box): boolean =>
  a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top;

/** Shares of its length at which the label of a link is tried, if there is no room for it at the first place. */
const SHARES = [0.42, 0.5, 0.58, 0.3, 0.7];

function tallyBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/**
 * Returns the label of a link: its rate, and its delay if it has one; with an arrow for each direction if the
 * two differ.
 */
export function linkWords(
  link: Pick<TopologyLink, "rate_bps" | "delay_s">,
  [forth, back]: readonly [string, string] = ["→", "←"],
): string[] {
  const words = ([one = null, other = null]: readonly (number | null)[], unit: string): string[] => {
    if (one !== other) return [`${forth} ${quantity(one, unit)}`, `${back} ${quantity(other, unit)}`];
    return one === null || (one === 0 && unit === "s") ? [] : [quantity(one, unit)];
  };
  return [...words(link.rate_bps, "bit/s"), ...words(link.delay_s, "s")];
}

/**
 * Draws a link with its label at this share of its length, or at another one if a text stands there; null for no
 * label. Adds the room of the label to what is taken.
 */
function drawLink(
  ink: Ink,
  link: TopologyLink,
  from: Place,
  to: Place,
  thickness: number,
  label: number | null,
  taken: Box[],
): SVGGElement {
  const [run, rise] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
  const forward = run > rise ? to.x > from.x : to.y > from.y;
  const arrows = run > rise ? (["→", "←"] as const) : (["↓", "↑"] as const);
  const words = linkWords(link, forward ? arrows : [arrows[1], arrows[0]]);
  const group = svg(
    "g",
    {},
    svg("title", {}, `${link.name}: ${[`${link.from} – ${link.to}`, ...linkWords(link)].join(", ")}`),
  );
  group.append(
    svg("line", {
      x1: from.x,
      y1: from.y,
      x2: to.x,
      y2: to.y,
      stroke: ink.rule,
      "stroke-width": thickness + 1,
    }),
  );
  if (label !== null) labelLink(group, ink, words, from, to, thickness, label, taken);
  return group;
}

/** Adds the label of a link to its group, in the first room that is free; without any the label is only in the table. */
function labelLink(
  group: SVGGElement,
  ink: Ink,
  words: string[],
  from: Place,
  to: Place,
  thickness: number,
  label: number,
  taken: Box[],
): void {
  const [run, rise] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  // A short link has its label in several lines, so that it stays between its nodes, and a shorter one in `M`; without
  // room for that the label is only in the table.
  const room = (line: string): number => line.length * 6 + (label === 0.5 ? 8 : 64);
  const whole = words.join(", ");
  const fits = (lines: readonly string[]): boolean =>
    (label === 0.5 && run <= rise) || run >= Math.max(0, ...lines.map(room));
  const lines = [
    length > Math.max(190, room(whole)) ? [whole] : words,
    words.map((line) => line.replace("bit/s", "")),
  ].find(fits);
  if (lines === undefined) return;
  const half = Math.max(...lines.map((line) => line.length)) * 3;
  // Above the link, because the names of nodes are below it.
  const tried = [label, ...SHARES].map((share) => ({
    x: from.x + (to.x - from.x) * share,
    y: from.y + (to.y - from.y) * share - 7 - thickness / 2,
  }));
  const boxOf = ({ x, y }: Place): Box => ({
    left: x - half,
    right: x + half,
    top: y - 13 * lines.length + 3,
    bottom: y + 2,
  });
  const middle = tried.find((place) => taken.every((other) => isApart(other, boxOf(place))));
  if (middle === undefined) return;
  taken.push(boxOf(middle));
  lines.forEach((line, index) => {
    const y = middle.y - (lines.length - 1 - index) * 13;
    group.append(
      svg(
        "text",
        {
          x: middle.x,
          y,
          "text-anchor": "middle",
          "font-size": 11,
          fill: ink.soft,
          stroke: ink.panel,
          "stroke-width": 4,
          "paint-order": "stroke",
          "stroke-linejoin": "round",
        },
        line,
      ),
    );
  });
}

function drawNode(ink: Ink, node: TopologyNode, at: Place, labelled: boolean, letters: number): SVGGElement {
  const group = svg("g", {}, svg("title", {}, node.name));
  const size = labelled ? 8 : 4;
  const look = { fill: node.router ? ink.accent : ink.panel, stroke: ink.accent, "stroke-width": 2 };
  group.append(
    node.router
      ? svg("rect", { x: at.x - size, y: at.y - size, width: 2 * size, height: 2 * size, rx: 2, ...look })
      : svg("circle", { cx: at.x, cy: at.y, r: size, ...look }),
  );
  if (labelled) {
    group.append(
      svg(
        "text",
        {
          x: at.x,
          y: at.y + 25,
          "text-anchor": "middle",
          "font-size": 12,
          "font-weight": 600,
          fill: ink.text,
          stroke: ink.panel,
          "stroke-width": 4,
          "paint-order": "stroke",
          "stroke-linejoin": "round",
        },
        shortened(node.name, letters),
      ),
    );
  }
  return group;
}
