/**
 * Who pays in a large network: of each group the members that miss their bound, counted by their plan and by the site
 * above their queue. Members and their numbers are those of the tables of members, made in Rust (`groups.rs`).
 */
import { h } from "../dom";
import { quantity, THIN } from "../format";
import type { Cell, Comparison, QueueSummary, Run } from "../generated/lockgate";
import { unitOf } from "../metric";
import { isQuantity, limitsOf, type Report } from "../report";
import { cells } from "./tree";

/** Columns of the tables of members, by the metric that they have. */
const COLUMNS: Record<string, string> = {
  "owd.p50": "delay p50",
  "owd.p99": "delay p99",
  "owd.max": "delay max",
  loss: "loss",
  throughput: "throughput",
  r_factor: "R",
};
/** Losses from which a member pays if nothing is expected of its group, as in the rule for pain (`pain.rs`). */
const LOSS = 0.05;
/** Plans, and sites, that are shown of a group. */
const SHOWN = 24;

/** What a member of a group must keep: the column of its table, and the bounds. */
export interface Rule {
  column: string;
  unit: string;
  low: number | null;
  high: number | null;
  /** The bound in words: `loss ≤ 1 %`. */
  words: string;
  /** True if the bound is that of an expectation. */
  isExpected: boolean;
}

/** Members of a group with something in common. */
export interface Part {
  name: string;
  /** Number of queues above it, for the tree of sites. */
  depth: number;
  members: number;
  misses: number;
  /** Least and most of the metric among those that miss. */
  of: [number, number] | null;
}

const numberOf = (cell: Cell | undefined): number | null =>
  cell === undefined || cell === null
    ? null
    : isQuantity(cell)
      ? cell.value
      : typeof cell === "number"
        ? cell
        : null;

const textOf = (cell: Cell | undefined): string =>
  cell === undefined || cell === null
    ? ""
    : isQuantity(cell)
      ? quantity(cell.value, cell.unit)
      : String(cell);

const groupOf = ({ title }: Comparison): string => title.split(":")[0] ?? "";

/** Returns what the members of a group must keep: an expectation on each or on a statistic over them, else the rule for pain. */
export function ruleOf(run: Run, { columns, title }: Pick<Comparison, "columns" | "title">): Rule | null {
  const group = groupOf({ title } as Comparison);
  for (const expect of run.summary.expect) {
    // The table has values of the whole run: an expectation on a part of it judges others.
    if (expect.that.includes(" @ ")) continue;
    const that = expect.that.replaceAll('"', "");
    const metric = that.startsWith(`flow.${group}/*.`)
      ? that.slice(`flow.${group}/*.`.length)
      : that.startsWith(`group.${group}.`)
        ? that.slice(`group.${group}.`.length).replace(/\.(mean|worst|p\d+)$/, "")
        : "";
    const column = COLUMNS[metric];
    const { low, high } = limitsOf(expect);
    if (column === undefined || !columns.includes(column) || (low === null && high === null)) continue;
    const unit = unitOf(`flow.x.${metric}`);
    const words = high !== null ? `≤ ${quantity(high, unit)}` : `≥ ${quantity(low, unit)}`;
    return { column, unit, low, high, words: `${column} ${words}`, isExpected: true };
  }
  if (!columns.includes("loss")) return null;
  return {
    column: "loss",
    unit: "ratio",
    low: null,
    high: LOSS,
    words: `loss ≤ ${quantity(LOSS, "ratio")}`,
    isExpected: false,
  };
}

const misses = ({ low, high }: Rule, value: number): boolean =>
  (low !== null && value < low) || (high !== null && value > high);

/** Counts members by a key; a member has several if it is below several sites. The order is that of the keys. */
function count(
  rows: readonly Comparison["rows"][number][],
  at: number,
  rule: Rule,
  keysOf: (row: Comparison["rows"][number]) => readonly string[],
): Part[] {
  const parts = new Map<string, Part>();
  for (const row of rows) {
    const value = numberOf(row[at]);
    if (value === null) continue;
    keysOf(row).forEach((name, depth) => {
      const part = parts.get(name) ?? { name, depth, members: 0, misses: 0, of: null };
      parts.set(name, part);
      part.members += 1;
      if (!misses(rule, value)) return;
      part.misses += 1;
      const [least, most] = part.of ?? [value, value];
      part.of = [Math.min(least, value), Math.max(most, value)];
    });
  }
  return [...parts.values()];
}

/** Returns the members by plan, those with the most that miss first; none if all have one plan. */
export function byPlan({ columns, rows }: Comparison, rule: Rule): Part[] {
  const [plan, at] = [columns.indexOf("plan"), columns.indexOf(rule.column)];
  if (plan < 0) return [];
  const parts = count(rows, at, rule, (row) => [textOf(row[plan]) || "no plan"]);
  return parts.length < 2 ? [] : parts.sort((a, b) => b.misses - a.misses);
}

/** Returns the queues above a queue, the root's child first: the root has all. */
function above(queues: Readonly<Record<string, QueueSummary>>, queue: string): string[] {
  const found: string[] = [];
  for (let name = queues[queue]?.parent ?? null; name !== null && found.length < 64; ) {
    found.unshift(name);
    name = queues[name]?.parent ?? null;
  }
  return found.slice(1);
}

/** Returns the members by the queues above theirs, as a tree; none if all are below the same. */
export function bySite({ columns, rows }: Comparison, rule: Rule, run: Run): { port: string; parts: Part[] } {
  const [queue, at] = [columns.indexOf("queue"), columns.indexOf(rule.column)];
  const names = rows.map((row) => textOf(row[queue])).filter((name) => name !== "");
  const [port, { queues } = { queues: {} }] =
    Object.entries(run.summary.ports).find(([, { queues }]) => names.some((name) => queues[name])) ?? [];
  if (queue < 0 || port === undefined) return { port: "", parts: [] };
  // A path as the key: children stand behind their parents, those with the most misses first.
  const parts = count(rows, at, rule, (row) => {
    const path = above(queues, textOf(row[queue]));
    return path.map((_, depth) => path.slice(0, depth + 1).join("\n"));
  });
  const weight = new Map(parts.map((part) => [part.name, part.misses]));
  const order = (a: Part, b: Part): number => {
    const [one, other] = [a.name.split("\n"), b.name.split("\n")];
    for (let depth = 0; depth < Math.min(one.length, other.length); depth++) {
      const [left, right] = [one, other].map((path) => path.slice(0, depth + 1).join("\n")) as [
        string,
        string,
      ];
      if (left !== right)
        return (
          (weight.get(right) ?? 0) - (weight.get(left) ?? 0) ||
          left.localeCompare(right, "en", { numeric: true })
        );
    }
    return one.length - other.length;
  };
  const sorted = parts.sort(order).map((part) => ({ ...part, name: part.name.split("\n").at(-1) ?? "" }));
  // A chain has one site a level: it tells no part from another.
  return {
    port,
    parts: sorted.some(({ depth }, index) =>
      sorted.some((other, at) => at !== index && other.depth === depth),
    )
      ? sorted
      : [],
  };
}

/** Returns the least and the most of those that miss, as one text if both read the same. */
function spanOf(of: readonly [number, number], unit: string, between: string): string {
  const [least, most] = of.map((value) => quantity(value, unit)) as [string, string];
  return least === most ? least : `${least}${between}${most}`;
}

/** Share of those that miss from which a plan, or a site, is named as theirs. */
const MOST = 0.6;

/** Returns the words on what most of those that miss have in common: the plan, else the lowest site. */
function commonOf(all: Part, plans: readonly Part[], sites: readonly Part[]): string {
  const [plan] = plans;
  const isTheirs = ({ misses, members }: Part): boolean =>
    misses >= MOST * all.misses && members < all.members && misses / members > all.misses / all.members;
  const words = ({ misses, members }: Part): string => {
    const many =
      misses === all.misses ? (misses === 1 ? "it is" : "all of them are") : `${misses} of them are`;
    return `${many} among the ${members}`;
  };
  if (plan && isTheirs(plan)) return `; ${words(plan)} with a plan of ${plan.name}`;
  const lowest = (low: Part | null, one: Part): Part => (low && low.depth >= one.depth ? low : one);
  const site = sites.filter(isTheirs).reduce<Part | null>(lowest, null);
  return site ? `; ${words(site)} below ${site.name}` : "";
}

/** Returns the sentence on a group: how many miss what, and the plan or the site of most of them. */
export function sentence(
  group: string,
  rule: Rule,
  all: Part,
  plans: readonly Part[],
  sites: readonly Part[] = [],
): string {
  if (all.misses === 0) return `All ${all.members} in ${group} keep ${rule.words}.`;
  const span = spanOf(all.of ?? [0, 0], rule.unit, " to ");
  const one = all.misses === 1;
  // What is not expected is not missed.
  const fail = rule.isExpected
    ? `${one ? "misses" : "miss"} ${rule.words}, with ${span}`
    : `${one ? "loses" : "lose"} more than ${quantity(LOSS, "ratio")}: ${span}`;
  return `${all.misses} of ${all.members} in ${group} ${fail}${commonOf(all, plans, sites)}.`;
}

/**
 * Returns the sentences for the first screen, on the groups that miss their bounds; none if none does. The port that
 * loses is in the verdict.
 */
export function blameLines(report: Report, tables: readonly Comparison[]): HTMLElement[] {
  const run = report.runs[0];
  if (!run) return [];
  const told = tables.flatMap((table) => judged(run, table) ?? []).filter(({ all }) => all.misses > 0);
  return told.map(({ words }) => h("p", { class: "finding" }, words));
}

/** A group as it is judged. */
interface Judged {
  rule: Rule;
  all: Part;
  plans: Part[];
  sites: { port: string; parts: Part[] };
  words: string;
}

/** Judges a group by its table; null if nothing is known by which. */
function judged(run: Run, table: Comparison): Judged | null {
  const rule = ruleOf(run, table);
  const [all] = rule ? count(table.rows, table.columns.indexOf(rule.column), rule, () => [""]) : [];
  if (!rule || !all) return null;
  const [plans, sites] = [byPlan(table, rule), bySite(table, rule, run)];
  return { rule, all, plans, sites, words: sentence(groupOf(table), rule, all, plans, sites.parts) };
}

/** Returns who pays, for each group that is judged; null without a table of members. */
export function blamePart(report: Report, tables: readonly Comparison[]): HTMLElement | null {
  const run = report.runs[0];
  if (!run) return null;
  const parts = tables.flatMap((table): HTMLElement[] => {
    const one = judged(run, table);
    // Of a group that keeps a bound that is not set there is nothing to say.
    if (!one || (one.all.misses === 0 && !one.rule.isExpected)) return [];
    const told = h("p", { class: "finding" }, one.words);
    if (one.all.misses === 0) return [told];
    const { port, parts } = one.sites;
    const lists = [
      list("By plan", one.plans, one.rule, null),
      list("By site", parts, one.rule, { run, port }),
    ];
    return [told, ...lists.flatMap((each) => each ?? [])];
  });
  return parts.length === 0
    ? null
    : h("div", { class: "use-tree blame" }, h("h3", {}, "Who pays for it"), ...parts);
}

/** Returns a row for each part: how many miss, of how many, and how much; of sites the backlog over time. */
function list(
  title: string,
  parts: readonly Part[],
  rule: Rule,
  site: { run: Run; port: string } | null,
): HTMLElement | null {
  if (parts.length === 0) return null;
  const loads = site ? backlogs(site.run, site.port, parts) : new Map<string, Node>();
  const rows = parts
    .slice(0, SHOWN)
    .map(({ name, depth, members, misses, of }) =>
      h(
        "li",
        { style: `--depth: ${site ? depth : 0}` },
        h("span", { class: "node" }, name),
        h(
          "span",
          { class: `way${misses > 0 ? " missing" : ""}` },
          h("span", { class: "bar", style: `--used: ${misses / members}` }),
          h("span", { class: "used" }, `${misses} of ${members}`),
          h("span", { class: "cost" }, of === null ? "" : spanOf(of, rule.unit, " – ")),
        ),
        loads.get(name) ?? null,
      ),
    );
  const left = parts.length - rows.length;
  return h(
    "div",
    {},
    h(
      "p",
      { class: "note" },
      `${title}: how many members ${rule.isExpected ? `miss ${rule.words}` : `lose more than ${quantity(LOSS, "ratio")}`}.`,
      loads.size > 0 ? " Right: packets that wait there over time, strongest where they are most." : "",
      left > 0 ? ` ${left} more with fewer.` : "",
    ),
    h("ul", {}, ...rows),
  );
}

/** Draws the backlog of each site over time, on one scale for all of them; none if they were not recorded over time. */
function backlogs(run: Run, port: string, parts: readonly Part[]): Map<string, SVGSVGElement> {
  const queues = run.ports.find(({ name }) => name === port)?.queues ?? [];
  const found = new Map(
    parts.flatMap(({ name }) => {
      const series = queues.find((queue) => queue.name === name)?.series;
      return series && series.peak_packets.length > 1 ? [[name, series.peak_packets] as const] : [];
    }),
  );
  const most = Math.max(1, ...[...found.values()].flatMap((peaks) => Math.max(...peaks)));
  return new Map(
    [...found].map(([name, peaks]) => [
      name,
      cells(
        peaks,
        (largest) => `Packets in ${name} over time, at most ${largest}${THIN}`,
        (packets) => ({ opacity: (0.05 + 0.95 * (packets / most)).toFixed(2) }),
      ),
    ]),
  );
}
