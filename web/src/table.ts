/** Tables: sorted by their headings, copied as CSV in base units, long ones cut with a word of how much is hidden. */
import { toCsv } from "./csv";
import { copyText, h } from "./dom";
import { columnScale, NONE, plural, significant, THIN } from "./format";
import type { Cell } from "./report";

/** One column: its heading, and how a raw value is read. */
export interface Column {
  title: string;
  /** The name in CSV, with its unit in it; the title where there is none. */
  csv?: string;
  /** A number's unit; undefined for texts. */
  unit?: string;
  /** Columns of one group, which have one unit, are in the same prefix: percentiles are read across. */
  group?: string;
  hint?: string;
  /** Left out on paper, where a wide table has no room. */
  secondary?: boolean;
  /** Draws the cell where a text will not do. */
  draw?: (value: Cell, row: number) => Node | string;
}

export interface TableRequest {
  /** What the rows are, for the buttons and for screen readers: "flows". */
  name: string;
  columns: Column[];
  rows: Cell[][];
  /** Rows shown at first; the rest on demand. */
  limit?: number;
  /** Whether there is a field that keeps the rows of which some text contains what is typed. */
  filter?: boolean;
}

/** -1, 0 or 1 in ascending order; what is missing goes last in either direction. */
export function compareCells(a: Cell, b: Cell, ascending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return ascending ? order : -order;
}

export function makeTable(request: TableRequest): HTMLElement {
  return new SortedTable(request).element;
}

class SortedTable {
  readonly element: HTMLElement;
  readonly #body = h("tbody");
  readonly #more = h("button", { type: "button", class: "quiet", onclick: () => this.#showAll() });
  readonly #headings: HTMLTableCellElement[] = [];
  readonly #scales: ((value: Cell) => string)[];
  #order: number[];
  #sorted: { column: number; ascending: boolean } | null = null;
  #wanted = "";
  #limit: number;

  constructor(readonly request: TableRequest) {
    this.#order = request.rows.map((_, index) => index);
    this.#limit = request.limit ?? 50;
    this.#scales = request.columns.map((column, index) => this.#formatter(column, index));
    this.element = this.#build();
    this.#fill();
  }

  #formatter(column: Column, index: number): (value: Cell) => string {
    const { unit } = column;
    if (unit === undefined)
      return (value) => (value === null ? NONE : typeof value === "number" ? significant(value, 4) : value);
    const { factor } = columnScale(this.#scaled(index), unit);
    // Counts stay whole; measures keep their digits, so that a column can be read down.
    const fractional = unit !== "";
    return (value) =>
      typeof value === "number" ? significant(value / factor, 3, fractional) : value === null ? NONE : value;
  }

  #column(index: number): (number | null)[] {
    return this.request.rows.map((row) => {
      const value = row[index] ?? null;
      return typeof value === "number" ? value : null;
    });
  }

  /** The numbers that share the prefix of a column. */
  #scaled(index: number): (number | null)[] {
    const { columns } = this.request;
    const group = columns[index]?.group;
    return columns.flatMap((column, at) =>
      at === index || (group !== undefined && column.group === group) ? this.#column(at) : [],
    );
  }

  #numeric(index: number): boolean {
    return (
      this.request.columns[index]?.unit !== undefined ||
      this.request.rows.some((row) => typeof row[index] === "number")
    );
  }

  #classes(column: number, numeric: boolean): string | null {
    const names = [
      numeric ? "number" : "",
      this.request.columns[column]?.secondary ? "secondary" : "",
    ].filter((name) => name !== "");
    return names.length > 0 ? names.join(" ") : null;
  }

  #build(): HTMLElement {
    const { columns, name, rows } = this.request;
    const headings = columns.map((column, index) => {
      const label = column.unit === undefined ? "" : columnScale(this.#scaled(index), column.unit).label;
      const heading = h(
        "th",
        { scope: "col", class: this.#classes(index, this.#numeric(index)), title: column.hint ?? null },
        h(
          "button",
          { type: "button", onclick: () => this.#sort(index) },
          column.title,
          label === "" ? null : h("small", {}, `${THIN}${label}`),
          h("span", { class: "order", "aria-hidden": "true" }),
        ),
      );
      this.#headings.push(heading);
      return heading;
    });
    const filter =
      this.request.filter && rows.length > 8
        ? h("input", {
            type: "search",
            placeholder: `Filter ${plural(rows.length, name.replace(/s$/, ""), name)}`,
            "aria-label": `Filter ${name}`,
            oninput: (event: InputEvent) => {
              this.#wanted = (event.target as HTMLInputElement).value.toLowerCase();
              this.#fill();
            },
          })
        : null;
    const copy = h(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => void copyText(this.#csv(), `${plural(rows.length, "row")} of ${name} as CSV`),
      },
      "Copy CSV",
    );
    const scroll = h(
      "div",
      {
        class: columns.length > 11 ? "scroll many" : "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `Table of ${name}`,
      },
      h("table", {}, h("thead", {}, h("tr", {}, ...headings)), this.#body),
    );
    const beyond = h(
      "button",
      {
        type: "button",
        class: "quiet beyond",
        hidden: true,
        onclick: () => scroll.scrollBy({ left: scroll.clientWidth * 0.8, behavior: "smooth" }),
      },
      "More columns →",
    );
    // What is cut off at the right is said: the edge fades, and a button goes there.
    const measure = (): void => {
      beyond.hidden = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft < 8;
      scroll.classList.toggle("cut", !beyond.hidden);
    };
    scroll.addEventListener("scroll", measure, { passive: true });
    new ResizeObserver(measure).observe(scroll);
    return h(
      "div",
      { class: "table" },
      scroll,
      h("div", { class: "tools" }, this.#more, filter, copy, beyond),
    );
  }

  #csv(): string {
    return toCsv(
      this.request.columns.map((column) => column.csv ?? column.title),
      this.#order.map((index) => this.request.rows[index] ?? []),
    );
  }

  #sort(column: number): void {
    const first = !this.#numeric(column);
    const ascending = this.#sorted?.column === column ? !this.#sorted.ascending : first;
    this.#sorted = { column, ascending };
    const cell = (row: number): Cell => this.request.rows[row]?.[column] ?? null;
    this.#order.sort((a, b) => compareCells(cell(a), cell(b), ascending) || a - b);
    this.#headings.forEach((heading, index) => {
      if (index === column) heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else heading.removeAttribute("aria-sort");
    });
    this.#fill();
  }

  #showAll(): void {
    this.#limit = Infinity;
    this.#fill();
  }

  #fill(): void {
    const wanted = this.#wanted;
    const matching =
      wanted === ""
        ? this.#order
        : this.#order.filter((row) =>
            (this.request.rows[row] ?? []).some(
              (cell) => typeof cell === "string" && cell.toLowerCase().includes(wanted),
            ),
          );
    const shown = matching.slice(0, this.#limit);
    this.#body.replaceChildren(...shown.map((row) => this.#row(row)));
    const hidden = matching.length - shown.length;
    this.#more.textContent = `Show all ${matching.length} (${hidden} hidden)`;
    this.#more.hidden = hidden === 0;
  }

  #row(index: number): HTMLTableRowElement {
    const row = this.request.rows[index] ?? [];
    return h(
      "tr",
      {},
      ...this.request.columns.map((column, at) => {
        const value = row[at] ?? null;
        const content = column.draw ? column.draw(value, index) : (this.#scales[at]?.(value) ?? "");
        const name = at === 0 ? "th" : "td";
        return h(
          name,
          {
            class: this.#classes(at, this.#numeric(at) && typeof value !== "string"),
            scope: at === 0 ? "row" : null,
            title: typeof value === "string" && value.length > 24 ? value : null,
          },
          content,
        );
      }),
    );
  }
}
