/** One line a flow and run, with its label at the left: what boxes, splits and drops have in common. */
import { axisLook } from "../axis";
import { shortened } from "../format";
import type { Ink } from "../palette";

/** The first and the second part of a line's label; the first is left out where it repeats the line above. */
export interface RowLabel {
  first: string;
  second: string;
}

/** How many letters of each part fit side by side: all of both where they do, else the second part gives way first. */
export function shares(letters: number, rows: readonly RowLabel[]): { first: number; second: number } {
  const longest = (part: keyof RowLabel): number => rows.reduce((most, row) => Math.max(most, row[part].length), 0);
  const [first, second] = [longest("first"), longest("second")];
  if (second === 0) return { first: Math.max(4, letters), second: 0 };
  const kept = Math.min(first, Math.max(Math.ceil(letters * 0.45), letters - 2 - second));
  return { first: Math.max(4, kept), second: Math.max(4, letters - 2 - kept) };
}

/** How much room the labels take at this width. */
export function labelWidth(width: number, rows: readonly RowLabel[]): number {
  const longest = rows.reduce((most, row) => Math.max(most, row.first.length + (row.second === "" ? 0 : row.second.length + 2)), 0);
  return Math.min(Math.max(60, longest * 6.6 + 14), width * 0.42, 300);
}

/** The vertical axis of names, from the top down. */
export function rowAxis(ink: Ink, rows: readonly RowLabel[], room: number): object {
  const fits = shares(Math.floor((room - 14) / 6.4), rows);
  return {
    ...axisLook(ink),
    type: "category",
    inverse: true,
    data: rows.map((_, index) => String(index)),
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      color: ink.text,
      fontSize: 12,
      interval: 0,
      margin: 8,
      formatter: (value: string) => {
        const index = Number(value);
        const row = rows[index];
        if (!row) return "";
        const second = shortened(row.second, fits.second);
        const first = rows[index - 1]?.first === row.first && row.second !== "" ? "" : shortened(row.first, fits.first);
        return second === "" ? first : `${first}  {s|${second.replace(/[{}|]/g, " ")}}`.trimStart();
      },
      rich: { s: { color: ink.soft, fontSize: 11 } },
    },
  };
}
