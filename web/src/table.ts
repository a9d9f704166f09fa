/**
 * Tables: sortable by their headings, copied as CSV in base units; long ones are cut, with the number of
 * hidden rows.
 */
import { toCsv } from "./csv";
import { copyText, h } from "./dom";
import { columnScale, NONE, plural, significant, spaced, THIN } from "./format";
import type { Cell } from "./report";

/** A column: its heading, and the formatting of its raw values. */
export interface Column {
  title: string;
  /** Heading in CSV, with the unit; the title by default. */
  csv?: string;
  /** Unit of numbers; undefined for texts. */
  unit?: string;
  /** Group of columns that have one unit and share a prefix, such as percentiles, which are read across. */
  group?: string;
  hint?: string;
  /** True if left out on paper, which has no room for a wide table. */
  secondary?: boolean;
  /** Draws a cell that is not plain text. */
  draw?: (value: Cell, row: number) => Node | string;
}

interface TableRequest {
  /** Name of the rows, for buttons and screen readers, such as "flows". */
  name: string;
  columns: Column[];
  rows: Cell[][];
  /** Number of rows shown at first; the rest is shown on demand. */
  limit?: number;
  /** Returns the class of a row. */
  look?: (row: number) => string;
  /** Whether a filter field is shown, which keeps the rows with a text that contains the input. */
  filter?: boolean;
}

/** Compares two cells; missing values come last in either direction. */
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

/**
 * Returns the buttons that scroll to what is cut off at the right and at the bottom of a table; each is shown while
 * there is something, and that edge fades.
 */
function edges(
  scroll: HTMLElement,
  body: HTMLTableSectionElement,
): { below: HTMLElement; beyond: HTMLElement } {
  const button = (name: string, by: () => ScrollToOptions, ...words: string[]): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: `quiet ${name}`,
        hidden: true,
        onclick: () => scroll.scrollBy({ ...by(), behavior: "smooth" }),
      },
      ...words,
    );
  const below = button("below", () => ({ top: scroll.clientHeight * 0.8 }));
  const beyond = button("beyond", () => ({ left: scroll.clientWidth * 0.8 }), "More columns →");
  const measure = (): void => {
    beyond.hidden = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft < 8;
    scroll.classList.toggle("cut", !beyond.hidden);
    const edge = scroll.scrollTop + scroll.clientHeight - 8;
    const hidden = [...body.rows].filter((row) => row.offsetTop + row.offsetHeight / 2 > edge).length;
    below.hidden = hidden === 0;
    below.textContent = `${plural(hidden, "more row")} ↓`;
    scroll.classList.toggle("long", hidden > 0);
  };
  scroll.addEventListener("scroll", measure, { passive: true });
  const observer = new ResizeObserver(measure);
  observer.observe(scroll);
  observer.observe(body);
  return { below, beyond };
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
    // Counts stay whole; measured values keep their digits, so that columns align.
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

  /** Returns the numbers that share the prefix of a column. */
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
    this.#headings.push(...columns.map((column, index) => this.#heading(column, index)));
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
      h("table", {}, h("thead", {}, h("tr", {}, ...this.#headings)), this.#body),
    );
    const { below, beyond } = edges(scroll, this.#body);
    return h(
      "div",
      { class: "table" },
      scroll,
      h("div", { class: "tools" }, below, this.#more, this.#filter(), copy, beyond),
    );
  }

  #heading(column: Column, index: number): HTMLTableCellElement {
    const label = column.unit === undefined ? "" : columnScale(this.#scaled(index), column.unit).label;
    return h(
      "th",
      { scope: "col", class: this.#classes(index, this.#numeric(index)), title: column.hint ?? null },
      h(
        "button",
        // A column of marks has no title, but a name for those who hear it.
        {
          type: "button",
          "aria-label": column.title === "" ? "mark" : null,
          onclick: () => this.#sort(index),
        },
        column.title,
        label === "" ? null : h("small", {}, `${THIN}${label}`),
        h("span", { class: "order", "aria-hidden": "true" }),
      ),
    );
  }

  /** Returns the field that filters the rows; null for a table that has none. */
  #filter(): HTMLElement | null {
    const { name, rows, filter } = this.request;
    if (!filter || rows.length <= 8) return null;
    return h("input", {
      type: "search",
      placeholder: `Filter ${plural(rows.length, name.replace(/s$/, ""), name)}`,
      "aria-label": `Filter ${name}`,
      oninput: (event: InputEvent) => {
        this.#wanted = (event.target as HTMLInputElement).value.toLowerCase();
        this.#fill();
      },
    });
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
              (cell) => typeof cell === "string" && spaced(cell).toLowerCase().includes(wanted),
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
      { class: this.request.look?.(index) || null },
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
