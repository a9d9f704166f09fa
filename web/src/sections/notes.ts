/** Lists of a report: events, tables of comparison, definitions. */
import { h } from "../dom";
import { NONE, quantity, significant, THIN } from "../format";
import type { Comparison, Definition, Cell as ToldCell } from "../generated/lockgate";
import { type Cell, isQuantity, type Report } from "../report";
import { runName } from "../style";
import { type Column, compareCells, makeTable } from "../table";

/** Formats a time of a run: always in seconds, as on the time axis. */
const seconds = (at: number): string => `${significant(at, 7)}${THIN}s`;

/** Returns all events as a table with its heading, to sort and to copy; nothing without events. */
export function eventTable(report: Report): HTMLElement[] {
  const several = report.runs.length > 1;
  const rows: Cell[][] = report.runs.flatMap((run) =>
    run.events.map((event): Cell[] => [
      event.at_s,
      ...(several ? [runName(run)] : []),
      event.kind,
      event.path || null,
      event.value || null,
      event.text || null,
    ]),
  );
  if (rows.length === 0) return [];
  rows.sort((a, b) => compareCells(a[0] ?? null, b[0] ?? null, true));
  const table = makeTable({
    name: "events",
    rows,
    limit: 40,
    filter: true,
    columns: [
      { title: "Time", csv: "at_s", draw: (value) => seconds(Number(value)) },
      ...(several ? [{ title: "Run", csv: "run" }] : []),
      { title: "Kind", csv: "kind" },
      { title: "Path", csv: "path" },
      { title: "Value", csv: "value" },
      { title: "Text", csv: "text" },
    ],
  });
  return [h("h3", {}, "Events"), table];
}

/**
 * Returns a column of a comparison and its cells as numbers: one unit in its heading, as in the tables of
 * flows, or a unit in each cell if they differ. The address of its metric or setting, if it has one, is shown over the
 * heading that is pointed at, and heads the copied column.
 */
export function columnOf(
  title: string,
  cells: readonly ToldCell[],
  address = "",
): { column: Column; cells: Cell[] } {
  const named = address === "" ? { title } : { title, hint: address, csv: address };
  const plain = cells.map((cell) => (isQuantity(cell) ? cell.value : cell));
  const [unit, other] = new Set<string>(
    cells.flatMap((cell) => (isQuantity(cell) ? cell.unit : cell === null ? [] : "")),
  );
  if (unit === undefined || !cells.some(isQuantity)) return { column: named, cells: plain };
  if (other === undefined)
    return {
      column: { ...named, csv: unit === "" ? (named.csv ?? title) : `${title} (${unit})`, unit, group: unit },
      cells: plain,
    };
  const draw = (_: Cell, row: number): string => {
    const cell = cells[row] ?? null;
    return isQuantity(cell) ? quantity(cell.value, cell.unit) : String(cell ?? NONE);
  };
  return { column: { ...named, draw }, cells: plain };
}

/** Returns the rows with those whose last cell says that a claim is missed first. */
function missedFirst(rows: Comparison["rows"]): Comparison["rows"] {
  const isMissed = (row: Comparison["rows"][number]): boolean => String(row.at(-1) ?? "").startsWith("✗");
  return [...rows.filter(isMissed), ...rows.filter((row) => !isMissed(row))];
}

/** Returns the sign at the begin of a claim's verdict; a dash if it is neither held nor missed. */
const signOf = (row: Comparison["rows"][number]): "✓" | "✗" | "–" => {
  const first = String(row.at(-1) ?? "").slice(0, 1);
  return first === "✓" || first === "✗" ? first : "–";
};

/** Returns whether a table is one of claims: those of conformance have verdicts, too, and no claims. */
const isOfClaims = (columns: readonly string[]): boolean =>
  columns.includes("claim") && columns.at(-1) === "verdict";

/** Returns whether a claim holds only with a parameter that was fitted to it. */
const isFitted = (row: Comparison["rows"][number]): boolean =>
  /^✓.*\bfitted\b/.test(String(row.at(-1) ?? ""));

/** Order of the states in the strip: what holds, what is undecided, what does not. */
const STATES = ["✓", "–", "✗"];

/** Returns the claims by their state, those of a fitted parameter behind the others that hold. */
const inOrder = (rows: Comparison["rows"]): Comparison["rows"] =>
  [...rows].sort(
    (a, b) =>
      STATES.indexOf(signOf(a)) - STATES.indexOf(signOf(b)) || Number(isFitted(a)) - Number(isFitted(b)),
  );

/** Returns a strip for each table of claims: a sign a claim, by state, with the claim as its title. */
export function claimStrips(comparisons: readonly Comparison[]): HTMLElement[] {
  return comparisons
    .filter(({ columns, rows }) => isOfClaims(columns) && rows.some((row) => signOf(row) !== "–"))
    .map(({ title, rows }) => {
      const count = (sign: string): number => rows.filter((row) => signOf(row) === sign).length;
      const fitted = rows.filter(isFitted).length;
      const held = `${count("✓")} hold${fitted > 0 ? `, of which ${fitted} with a fitted parameter` : ""}`;
      const said = `${title}: ${held}, ${count("✗")} missed, ${count("–")} undecided`;
      return h(
        "p",
        { class: "signs", role: "img", "aria-label": said },
        h("span", { class: "of" }, title),
        ...inOrder(rows).map((row) =>
          h(
            "span",
            {
              class: { "✓": "good", "✗": "bad", "–": "" }[signOf(row)],
              title: row.filter((cell) => !isQuantity(cell)).join("; "),
            },
            isFitted(row) ? `(${signOf(row)})` : signOf(row),
          ),
        ),
      );
    });
}

export function comparisonTables(comparisons: readonly Comparison[]): HTMLElement[] {
  return comparisons.map((told) => {
    const comparison = { ...told, rows: missedFirst(told.rows) };
    const width = Math.max(comparison.columns.length, ...comparison.rows.map((row) => row.length), 0);
    const columns = Array.from({ length: width }, (_, index) =>
      columnOf(
        comparison.columns[index] ?? "",
        comparison.rows.map((row) => row[index] ?? null),
        comparison.addresses?.[index] ?? "",
      ),
    );
    const rows = comparison.rows.map((_, at) => columns.map(({ cells }) => cells[at] ?? null));
    return h(
      "div",
      { class: "comparison" },
      h("h3", {}, comparison.title),
      rows.length === 0
        ? h("p", { class: "nothing" }, "No rows.")
        : makeTable({
            name: "rows",
            columns: columns.map(({ column }) => column),
            rows,
            limit: 60,
            filter: true,
          }),
      comparison.note === ""
        ? null
        : h(
            "p",
            { class: "note marks" },
            ...comparison.note.split(/ {3}/).map((part) => h("span", {}, `${part} `)),
          ),
    );
  });
}

/** Headings of the definitions, by the kind of object that they are of. */
const ABOUT: [Definition["about"], string][] = [
  ["run", "The run"],
  ["flow", "Flows"],
  ["group", "Groups of flows"],
  ["port", "Ports"],
  ["queue", "Queues"],
];

/**
 * Returns the definitions of what the report shows: metrics that have a value in a table, or that an expectation or
 * a comparison names. A page without runs whose tables show no metric has all.
 */
function shownDefinitions(report: Report): Definition[] {
  const subjects = [
    ...report.runs.flatMap((run) => run.summary.expect.map(({ that }) => that)),
    ...(report.variants?.metrics.map(({ path }) => path) ?? []),
    ...report.comparisons.flatMap(({ addresses }) => addresses ?? []),
  ];
  const keys: Record<string, Set<string>> = { flow: new Set(), port: new Set(), queue: new Set() };
  const add = (about: string, values: Record<string, unknown>): void => {
    for (const [name, value] of Object.entries(values))
      if (
        value !== null &&
        (typeof value !== "object" || Object.values(value).some((one) => one !== null && one !== 0))
      )
        keys[about]?.add(name.replace(/_(s|bps|ratio|bytes|packets)$/, ""));
  };
  for (const { summary } of report.runs) {
    for (const flow of Object.values(summary.flows)) add("flow", flow);
    for (const port of Object.values(summary.ports)) {
      add("port", port);
      for (const queue of Object.values(port.queues)) add("queue", queue);
    }
  }
  const isNamed = (name: string): boolean => subjects.some((that) => that.split(".").includes(name));
  const inTables = (name: string): boolean =>
    report.comparisons.some((table) => table.columns.some((column) => column.toLowerCase().includes(name)));
  const bare = (name: string): string => name.replace(/_(packets|bytes)$/, "");
  const shown = report.definitions.filter(
    ({ name, about }) => keys[about]?.has(bare(name)) || isNamed(name) || inTables(name),
  );
  return report.runs.length === 0 && shown.length === 0 ? report.definitions : shown;
}

export function definitionList(report: Report): HTMLElement {
  const shown = shownDefinitions(report);
  const group = ([about, title]: (typeof ABOUT)[number]): HTMLElement[] => {
    const own = shown.filter((definition) => definition.about === about);
    if (own.length === 0) return [];
    return [
      h("h3", {}, title),
      h(
        "dl",
        { class: "definitions" },
        ...own.flatMap((definition) => [
          h(
            "dt",
            {},
            h("code", {}, definition.name),
            definition.unit === "" ? null : h("small", {}, ` ${definition.unit}`),
          ),
          h(
            "dd",
            {},
            definition.text,
            definition.source === "" ? null : h("small", {}, ` ${definition.source}`),
          ),
        ]),
      ),
    ];
  };
  return h("div", {}, ...ABOUT.flatMap(group));
}
