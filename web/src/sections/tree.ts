/**
 * A large network as a tree: each hop with bars of its use both ways, the load over time, losses and waits. Hops of
 * members are one row, which opens. The numbers are those of the table of ports, made in Rust (`places.rs`).
 */
import { h, svg } from "../dom";
import { plural, quantity, significant } from "../format";
import type { Comparison, Run } from "../generated/lockgate";
import { isQuantity, type Report } from "../report";

/** Share of a link's rate from which it is full, as on the live page. */
const FULL = 0.98;
/** Ports of members that are shown when a row is opened. */
const MEMBERS = 24;
/** Size in pixels of a load over time. */
const LOAD = { width: 120, height: 14 };

/** Uses of a folded port. */
interface Use {
  /** Its name as in the table: `olt:sub/*`. */
  name: string;
  from: string;
  to: string;
  ports: number;
  rate: number;
  used: number | null;
  dropped: number;
  /** Share of all drops of the network: the table leaves out ports beyond its limit. */
  share: number;
  wait: number | null;
  queue: string;
}

/** A node of the tree with the ports towards it and away from it. */
interface Hop {
  node: string;
  depth: number;
  there: Use | null;
  back: Use | null;
}

/** Returns a name with its member's number as a star. */
const foldedName = (name: string): string => name.replace(/\/[^/]*$/, "/*");
const foldedPort = (port: string): string => port.split(":").map(foldedName).join(":");

/** Reads the table of ports. */
export function usesOf({ columns, rows }: Comparison): Use[] {
  const at = (title: string): number => columns.indexOf(title);
  const number = (cell: Comparison["rows"][number][number] | undefined): number | null =>
    isQuantity(cell ?? null)
      ? (cell as unknown as { value: number }).value
      : typeof cell === "number"
        ? cell
        : null;
  return rows.flatMap((row): Use[] => {
    const [, name = "", , count = "1"] = /^(\S+?)( \((\d+) ports\))?$/.exec(String(row[0])) ?? [];
    const [from, to] = name.split(":");
    if (from === undefined || to === undefined) return [];
    return [
      {
        name,
        from,
        to: to.replace(/@.*/, ""),
        ports: Number(count),
        rate: number(row[at("rate")]) ?? 0,
        used: number(row[at("used")]),
        dropped: number(row[at("dropped")]) ?? 0,
        share: number(row[at("of all drops")]) ?? 0,
        wait: number(row[at("longest wait p99")]),
        queue: String(row[at("in queue")] ?? ""),
      },
    ];
  });
}

/** Returns the nodes below the one that is furthest from the members, each behind its parent. */
export function hopsOf(uses: readonly Use[]): Hop[] {
  const beside = new Map<string, Set<string>>();
  for (const { from, to } of uses)
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const)
      beside.set(one, (beside.get(one) ?? new Set()).add(other));
  const names = [...beside.keys()];
  const isMember = (name: string): boolean => name.endsWith("/*");
  // As far from the members as possible: the network's core, or its way out.
  const distance = new Map(names.filter(isMember).map((name) => [name, 0]));
  const queue = [...distance.keys()];
  for (let at = 0; at < queue.length; at++)
    for (const next of beside.get(queue[at] as string) ?? [])
      if (!distance.has(next)) {
        distance.set(next, (distance.get(queue[at] as string) ?? 0) + 1);
        queue.push(next);
      }
  // Of two equally far the one with the faster line.
  const line = (name: string): number =>
    Math.max(0, ...uses.map(({ from, rate }) => (from === name ? rate : 0)));
  const far = Math.max(0, ...distance.values());
  const ends = names.filter((name) => (distance.get(name) ?? 0) === far);
  const root = ends.reduce<string | undefined>(
    (best, name) => (best === undefined || line(name) > line(best) ? name : best),
    undefined,
  );
  if (root === undefined) return [];
  const port = (from: string, to: string): Use | null =>
    uses.find((use) => use.from === from && use.to === to) ?? null;
  const hops: Hop[] = [];
  const visit = (node: string, parent: string | null, depth: number): void => {
    if (hops.some((hop) => hop.node === node)) return;
    const [there, back] = parent === null ? [null, null] : [port(parent, node), port(node, parent)];
    hops.push({ node, depth, there, back });
    const weight = (next: string): number => port(node, next)?.dropped ?? 0;
    const below = [...(beside.get(node) ?? [])].sort((a, b) => weight(b) - weight(a));
    for (const next of below) visit(next, node, depth + 1);
  };
  visit(root, null, 0);
  return hops;
}

/** Returns a share of less than all: it does not read as all of it. */
function partOf(share: number): string {
  const text = quantity(share, "ratio");
  return text === quantity(1, "ratio") ? `over ${quantity(0.999, "ratio")}` : text;
}

/** Returns the sentence on the port at which most is lost, or else waits longest: the first of the table. */
export function blame(uses: readonly Use[]): string {
  const [worst] = uses;
  if (!worst) return "";
  const { share } = worst;
  const all = share > 0 ? Math.round(worst.dropped / share) : 0;
  const full = worst.used === null ? "" : ` is ${quantity(worst.used, "ratio")} used`;
  const lost =
    worst.dropped === 0
      ? "nothing is dropped there"
      : `${worst.dropped === all ? "all" : partOf(share)} of the ${plural(all, "drop")} ${all === 1 ? "is" : "are"} there`;
  const waits =
    worst.wait === null ? "" : `; the longest wait is ${quantity(worst.wait, "s")} (p99) in ${worst.queue}`;
  return `${worst.name}${full}: ${lost}${waits}.`;
}

/** Returns the tree; null for a report without the table, or if the network is not a tree. */
export function networkTree(report: Report, table: Comparison | undefined): HTMLElement | null {
  const uses = table ? usesOf(table) : [];
  const hops = hopsOf(uses);
  const run = report.runs[0];
  if (hops.length < 3 || !run) return null;
  return h(
    "div",
    { class: "use-tree" },
    h("h3", {}, "How full each hop is"),
    h("p", { class: "finding" }, blame(uses)),
    h(
      "ul",
      {},
      ...hops.map((hop) =>
        h(
          "li",
          { style: `--depth: ${hop.depth}` },
          h(
            "span",
            { class: "node" },
            hop.node,
            hop.there && hop.there.ports > 1 ? h("small", {}, ` ${hop.there.ports} of them`) : null,
          ),
          ...(hop.depth === 0
            ? []
            : [direction("↓", hop.there, run), direction("↑", hop.back, run), members(hop, run)]),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      "↓ towards the members, ↑ back. Bar: share of the rate that was used, of several the most used one; beside it the load over time, strongest where it is full.",
    ),
  );
}

/** Returns one direction of a hop: its bar, its use, its load over time, its losses and its longest wait. */
function direction(sign: string, use: Use | null, run: Run): HTMLElement | null {
  if (!use) return null;
  const { used, dropped, wait } = use;
  const isFull = used !== null && used >= FULL;
  return h(
    "span",
    { class: `way${isFull ? " full" : ""}`, title: use.name },
    h("span", { class: "sign", "aria-label": sign === "↓" ? "towards the members" : "back" }, sign),
    h("span", { class: "bar", style: `--used: ${Math.min(1, used ?? 0)}` }),
    h("span", { class: "used" }, used === null ? "–" : `${quantity(used, "ratio")}${isFull ? ", full" : ""}`),
    load(use, run),
    h(
      "span",
      { class: "cost" },
      [
        dropped > 0 ? `${significant(dropped)} dropped` : "",
        wait !== null && wait >= 1e-4 ? `waits ${quantity(wait, "s")}` : "",
      ]
        .filter(Boolean)
        .join(", "),
    ),
  );
}

/** Draws the load of a port over time as cells, of each the largest share of the rate; null of several ports. */
function load(use: Use, run: Run): SVGSVGElement | null {
  const port = use.ports > 1 ? undefined : run.ports.find(({ name }) => name === use.name);
  const summary = run.summary.ports[use.name];
  const root = Object.entries(summary?.queues ?? {}).find(([, queue]) => queue.parent === null)?.[0];
  const series = port?.queues.find(({ name }) => name === root)?.series;
  if (!series || !summary || series.sent_bps.length < 2) return null;
  return cells(
    series.sent_bps.map((rate) => (rate ?? 0) / summary.rate_bps),
    (most) => `Load of ${use.name} over time, at most ${quantity(most, "ratio")}`,
    (share) => ({ class: share >= FULL ? "full" : "", opacity: Math.min(1, 0.06 + share).toFixed(2) }),
  );
}

/** Draws values over time as at most 60 cells, each the largest of its part; `look` returns attributes of a cell. */
export function cells(
  values: readonly number[],
  label: (most: number) => string,
  look: (value: number) => Record<string, string>,
): SVGSVGElement {
  const count = Math.min(60, values.length);
  const largest = Array.from({ length: count }, (_, cell) => {
    const [from, to] = [cell, cell + 1].map((at) => Math.floor((at * values.length) / count));
    return Math.max(0, ...values.slice(from, to));
  });
  return svg(
    "svg",
    {
      class: "load",
      ...LOAD,
      viewBox: `0 0 ${count} 1`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label(Math.max(...largest)),
    },
    ...largest.map((value, at) => svg("rect", { x: at, y: 0, width: 1.05, height: 1, ...look(value) })),
  );
}

/** Returns the ports of a hop of members, the most used first, behind a summary that opens them. */
function members({ there }: Hop, run: Run): HTMLElement | null {
  if (!there || there.ports < 2) return null;
  const list = h("ol", { class: "of-members" });
  const details = h(
    "details",
    {
      ontoggle: () => {
        if (details.open && list.childElementCount === 0) list.replaceChildren(...rows());
      },
    },
    h("summary", {}, "which"),
    list,
  );
  const rows = (): HTMLElement[] =>
    Object.entries(run.summary.ports)
      .filter(([name]) => foldedPort(name) === there.name)
      .sort(([, a], [, b]) => (b.utilisation ?? 0) - (a.utilisation ?? 0))
      .slice(0, MEMBERS)
      .map(([name, { utilisation }]) =>
        h(
          "li",
          {},
          h("span", {}, name),
          h("span", { class: "bar", style: `--used: ${Math.min(1, utilisation ?? 0)}` }),
          h("span", { class: "used" }, utilisation === null ? "–" : quantity(utilisation, "ratio")),
        ),
      );
  const isKnown = Object.keys(run.summary.ports).some((name) => foldedPort(name) === there.name);
  return isKnown ? details : null;
}
