/**
 * Members of groups of a large network: a table of a chosen group, the worst first, to search and to sort, with the
 * delay of the worst over time; and one member in detail.
 */
import { h, svg } from "../dom";
import { extraFigure } from "../figures/extra";
import { quantity, significant } from "../format";
import { type Context, Frame } from "../frame";
import type { Comparison, Figure as FigureData, FigureSeries, Cell as ToldCell } from "../generated/lockgate";
import type { Cell, Report } from "../report";
import { type Column, makeTable } from "../table";
import { columnOf } from "./notes";

/** Rows shown at first; a button shows all. */
const SHOWN = 20;
/** Size in pixels of a delay over time in a row. */
const SPARK = { width: 96, height: 16 };

interface Group {
  name: string;
  table: Comparison;
  /** Delays over time of the worst members. */
  figure: FigureData | null;
}

/** Returns whether a table is of the members of a group. */
export const isOfMembers = (table: Comparison): boolean => table.columns[0] === "member";

function groupsOf(report: Report): Group[] {
  return report.comparisons.filter(isOfMembers).map((table) => {
    const name = table.title.split(":")[0] ?? "";
    const figure = report.figures.find((one) => one.kind === "map" && one.id === `map-${name}`) ?? null;
    return { name, table, figure };
  });
}

/** Returns the tables and the details; null without groups. */
export function membersPart(report: Report, context: Context, frames: Frame[]): HTMLElement | null {
  const groups = groupsOf(report);
  if (groups.length === 0) return null;
  const shown = h("div");
  const detail = h("div", { class: "member", "aria-live": "polite" });
  const show = (group: Group): void => {
    detail.replaceChildren();
    shown.replaceChildren(...groupTable(group, (name) => showMember(group, name)));
    for (const button of chooser.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.textContent === group.name));
  };
  const showMember = (group: Group, name: string): void => {
    detail.replaceChildren(...memberDetail(group, name, report, context, frames));
    detail.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  const chooser = h(
    "span",
    { class: "choice", role: "group", "aria-label": "Group" },
    ...groups.map((group) => h("button", { type: "button", onclick: () => show(group) }, group.name)),
  );
  show(groups[0] as Group);
  return h(
    "div",
    { class: "comparison members" },
    h("h3", {}, "Who: the worst members of ", chooser),
    shown,
    detail,
  );
}

function groupTable(group: Group, open: (member: string) => void): HTMLElement[] {
  const { table, figure } = group;
  const filled = table.columns.map((title, at) =>
    columnOf(
      title,
      table.rows.map((row) => row[at] ?? null),
    ),
  );
  const series = new Map(figure?.series.map((one) => [one.name, one]) ?? []);
  const most = Math.max(0, ...(figure?.series.flatMap(({ y }) => y.map((value) => value ?? 0)) ?? []));
  const name = (value: Cell): HTMLElement =>
    h(
      "button",
      { type: "button", class: "quiet", title: `Show ${value} below`, onclick: () => open(String(value)) },
      String(value),
    );
  const columns: Column[] = filled.map(({ column }, at) => (at === 0 ? { ...column, draw: name } : column));
  const rows = table.rows.map((_, at) => filled.map(({ cells }) => cells[at] ?? null));
  // Behind the name, so that it is in sight at every width.
  const spark: Column = {
    title: "delay over time",
    csv: "largest_delay_s",
    draw: (_, row) => sparkline(series.get(String(rows[row]?.[0])), most),
  };
  columns.splice(1, 0, spark);
  const sparked = rows.map((row): Cell[] => {
    const values = series.get(String(row[0]))?.y.map((value) => value ?? 0) ?? [];
    return [row[0] ?? null, values.length > 0 ? Math.max(...values) : null, ...row.slice(1)];
  });
  const { note } = table;
  return [
    makeTable({ name: `${group.name} members`, columns, rows: sparked, limit: SHOWN, filter: true }),
    h(
      "p",
      { class: "note" },
      `${table.title}. A heading sorts, a name opens the member. ${note}`.trim(),
      series.size < rows.length ? ` The worst ${series.size} have their delay over time here.` : "",
    ),
  ];
}

/** Returns the largest delay of each interval as a small area. */
function sparkline(series: FigureSeries | undefined, most: number): Node | string {
  if (!series || most <= 0) return "";
  const { width, height } = SPARK;
  const step = width / Math.max(1, series.y.length);
  const tops = series.y.map((value, at) => {
    const y = (height - (Math.max(0, value ?? 0) / most) * height).toFixed(1);
    return `${(at * step).toFixed(1)},${y} ${((at + 1) * step).toFixed(1)},${y}`;
  });
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", class: "spark" },
    svg("polygon", { points: `0,${height} ${tops.join(" ")} ${width},${height}`, fill: "var(--accent)" }),
  );
}

const told = (cell: ToldCell): string =>
  cell === null
    ? "–"
    : typeof cell === "object"
      ? quantity(cell.value, cell.unit)
      : typeof cell === "number"
        ? significant(cell)
        : cell;

/** Returns one member: its rank, its line, its queue, and its delay over time. */
function memberDetail(
  group: Group,
  name: string,
  report: Report,
  context: Context,
  frames: Frame[],
): HTMLElement[] {
  const { table, figure } = group;
  const place = table.rows.findIndex((row) => row[0] === name);
  const row = table.rows[place] ?? [];
  const of = (title: string): ToldCell => row[table.columns.indexOf(title)] ?? null;
  const queue = queueOf(report, of("queue"));
  const facts = [
    ["rank", `${place + 1} of ${table.rows.length}, the worst first`],
    ...table.columns.slice(1).map((title, at) => [title, told(row[at + 1] ?? null)]),
    ...queue,
  ].filter(([, value]) => value !== "–");
  const isDrawn = context.selection.ranked.includes(name);
  const series = figure?.series.find((one) => one.name === name);
  const parts: HTMLElement[] = [
    h("h3", {}, name),
    h(
      "dl",
      { class: "member-facts" },
      ...facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
    ),
  ];
  if (isDrawn)
    parts.push(
      h(
        "button",
        { type: "button", onclick: () => context.selection.only([name]) },
        "Show it alone in the figures of flows",
      ),
    );
  if (figure && series) {
    const alone: FigureData = {
      ...figure,
      id: "member",
      kind: "line",
      title: `${name}: largest delay of each interval`,
      caption: `The largest one-way delay of ${name} in each interval.`,
      series: [{ ...series, y: series.y.map((value) => (value === 0 ? null : value)) }],
    };
    const frame = new Frame((_, settings) => extraFigure(alone, settings), context);
    frames.push(frame);
    frame.show();
    parts.push(frame.element);
  } else
    parts.push(
      h(
        "p",
        { class: "note" },
        "Its delay over time is not on this page, which has that of the worst; “lockgate run --members FILE” writes the results of every member.",
      ),
    );
  return parts;
}

/** Returns what a queue did, if it is among those on the page. */
function queueOf(report: Report, queue: ToldCell): string[][] {
  for (const { summary } of report.runs)
    for (const [port, { queues }] of Object.entries(summary.ports)) {
      const found = queues[String(queue)];
      if (!found) continue;
      const dropped = found.dropped_packets;
      // Those that were in it at any time of the window, of which the dropped ones are a part.
      const all = dropped + found.sent_packets + found.moved_out_packets + found.backlog_packets;
      const share = all > 0 ? ` (${quantity(dropped / all, "ratio")})` : "";
      return [
        [
          `wait at ${port}`,
          `p99 ${quantity(found.sojourn_s.p99, "s")}, largest ${quantity(found.sojourn_s.max, "s")}`,
        ],
        ["dropped there", `${significant(dropped)}${share}`],
      ];
    }
  return [];
}
