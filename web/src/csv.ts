/** Tables as comma-separated values (RFC 4180), in base units and full precision. */
import { spaced } from "./format";
import type { Cell } from "./report";

function field(value: Cell): string {
  if (value === null) return "";
  const text = spaced(String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns a header line and one line for each row, each ended by CR LF. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}
