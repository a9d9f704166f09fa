/** Tables of a running run, drawn many times a second: rows are made once, and only what changed is written. */
import { h } from "../dom";

/** Writes one value of a row to its place. */
type Write = (value: string) => void;

/** Returns a function that writes the text of an element. */
export function textOf(element: Element): Write {
  const text = element.appendChild(document.createTextNode(""));
  return (value) => {
    text.data = value;
  };
}

/** Returns a function that writes an attribute of an element; an empty value removes it. */
export function attributeOf(element: Element, name: string): Write {
  return (value) => {
    if (value === "") element.removeAttribute(name);
    else element.setAttribute(name, value);
  };
}

/** A row of a table, and the writers of its values in their order. */
export interface LiveRow {
  element: HTMLTableRowElement;
  writes: readonly Write[];
}

/** Body of a table. Rows stay in their places, because a click counts only if it ends on the element on which it began. */
export class LiveRows {
  readonly element = h("tbody");
  #rows: (LiveRow & { shown: readonly string[] })[] = [];

  /** Shows a row for each list of values; `make` returns a new row for such values. */
  show(all: readonly (readonly string[])[], make: () => LiveRow): void {
    all.forEach((values, at) => {
      const row = this.#rows[at] ?? { ...make(), shown: [] };
      this.#rows[at] = row;
      row.writes.forEach((write, place) => {
        const value = values[place] ?? "";
        if (row.shown[place] !== value) write(value);
      });
      row.shown = values;
      if (!row.element.isConnected) this.element.append(row.element);
    });
    for (const { element } of this.#rows.slice(all.length)) element.remove();
  }

  /** Forgets all rows, because rows of another form follow. */
  clear(): void {
    this.#rows = [];
    this.element.replaceChildren();
  }
}
