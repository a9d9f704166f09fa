/** Tooltip: a small table at the pointer, built of elements so that names are never parsed as HTML. */
import { h } from "./dom";

export interface TipRow {
  colour?: string;
  cells: string[];
}

/** Returns the place on the axis that the library's parameters of a tooltip are of; NaN for none. */
export function placeOf(parameters: unknown): number {
  const first = (Array.isArray(parameters) ? parameters[0] : parameters) as
    | { axisValue?: unknown }
    | undefined;
  return Number(first?.axisValue);
}

/**
 * Returns a tooltip: a heading, the names of the columns, and rows; a row without a colour is a subheading.
 */
export function tip(
  heading: string,
  columns: readonly string[],
  rows: readonly TipRow[],
  note = "",
): HTMLElement {
  return h(
    "div",
    { class: "tip" },
    h("div", { class: "tip-head" }, heading),
    h(
      "table",
      {},
      columns.length > 0 ? h("tr", {}, ...columns.map((column) => h("th", {}, column))) : null,
      ...rows.map((row) =>
        h(
          "tr",
          {},
          ...row.cells.map((cell, index) =>
            h(
              "td",
              {},
              index === 0 && row.colour !== undefined ? h("i", { style: `background:${row.colour}` }) : null,
              cell,
            ),
          ),
        ),
      ),
    ),
    note === "" ? null : h("div", { class: "tip-note" }, note),
  );
}
