/**
 * Rows of a figure, one for each flow and run, with a label at the left: shared by boxes, splits and drops.
 */
import { format } from "echarts/core";
import { axisLook } from "../axis";
import { FONT } from "../chart";
import { shortened, significant } from "../format";
import type { PhaseDelay } from "../generated/lockgate";
import type { Ink } from "../palette";

/** Returns the words of a part of a run: `5 to 30 s`. */
export const partWords = ({ from_s, to_s }: PhaseDelay): string =>
  `${significant(from_s)} to ${significant(to_s)} s`;

/** The two parts of a row's label; the first is left out if it repeats the row above. */
export interface RowLabel {
  first: string;
  second: string;
}

/**
 * Returns how many letters of each part fit side by side: all if possible, otherwise the second part is
 * shortened first.
 */
export function shares(letters: number, rows: readonly RowLabel[]): { first: number; second: number } {
  const longest = (part: keyof RowLabel): number =>
    rows.reduce((most, row) => Math.max(most, row[part].length), 0);
  const [first, second] = [longest("first"), longest("second")];
  if (second === 0) return { first: Math.max(4, letters), second: 0 };
  const kept = Math.min(first, Math.max(Math.ceil(letters * 0.45), letters - 2 - second));
  return { first: Math.max(4, kept), second: Math.max(4, letters - 2 - kept) };
}

/** Pixels between a label and its axis, and before the label. */
const BESIDE = 14;

/** Returns the width of a row's label in the reader's font, and its number of letters. */
function measured(row: RowLabel): { width: number; letters: number } {
  const text = row.second === "" ? row.first : `${row.first}  ${row.second}`;
  return { width: format.getTextRect(text, `12px ${FONT}`).width, letters: text.length };
}

/** Returns the width that the labels take in a figure of this width. */
export function labelWidth(width: number, rows: readonly RowLabel[]): number {
  const longest = rows.reduce((most, row) => Math.max(most, measured(row).width), 0);
  return Math.min(Math.max(60, longest + BESIDE), width * 0.42, 300);
}

/** Returns the vertical axis of names, from the top down. */
export function rowAxis(ink: Ink, rows: readonly RowLabel[], room: number): object {
  const all = rows.map(measured);
  const cut = all.some(({ width }) => width > room - BESIDE);
  const widest = Math.max(1, ...all.map(({ width, letters }) => width / Math.max(1, letters)));
  const fits = shares(cut ? Math.floor((room - BESIDE) / widest) : Infinity, rows);
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
        const first =
          rows[index - 1]?.first === row.first && row.second !== "" ? "" : shortened(row.first, fits.first);
        return second === "" ? first : `${first}  {s|${second.replace(/[{}|]/g, " ")}}`.trimStart();
      },
      rich: { s: { color: ink.soft, fontSize: 11 } },
    },
  };
}
