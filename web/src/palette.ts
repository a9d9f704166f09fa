/** Every colour of the page, light and dark, and the strokes by which simulation, live, theory and paper differ. */
import type { Mode } from "./report";

/** The colours of one theme. */
export interface Ink {
  name: "light" | "dark";
  page: string;
  panel: string;
  sunk: string;
  text: string;
  soft: string;
  rule: string;
  grid: string;
  accent: string;
  good: string;
  bad: string;
  warn: string;
  series: readonly string[];
}

/**
 * The colours of flows, equal in both themes, so that a flow keeps its colour between screen, file and paper. After Okabe and
 * Ito: told apart with any colour vision. Their yellow and black are left out, each unseen on one of the grounds.
 */
const SERIES = ["#0f7dc2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7d858e"];

export const LIGHT: Ink = {
  name: "light",
  page: "#ffffff",
  panel: "#ffffff",
  sunk: "#f5f6f7",
  text: "#16191d",
  soft: "#5a626c",
  rule: "#d5d9de",
  grid: "#eaecef",
  accent: "#00578a",
  good: "#006d4f",
  bad: "#b03a00",
  warn: "#8a5a00",
  series: SERIES,
};

export const DARK: Ink = {
  name: "dark",
  page: "#13161a",
  panel: "#13161a",
  sunk: "#1b1f24",
  text: "#e6e9ec",
  soft: "#9aa4ae",
  rule: "#363d45",
  grid: "#252a31",
  accent: "#7cc4f2",
  good: "#3fc79a",
  bad: "#ff8a50",
  warn: "#eab54a",
  series: SERIES,
};

/** How many flows can be told apart in one figure. */
export const COLOURS = SERIES.length;

/** The modes as they are written in keys and captions. */
export const MODE_NAMES: Record<Mode, string> = {
  sim: "simulation",
  live: "live",
  theory: "theory",
  paper: "paper",
};

/** Lengths of dash and gap in pixels; null is a solid line. */
export type Dash = readonly number[] | null;

/**
 * The stroke of a mode: simulation dashed, live solid, theory dotted. Where all there is to see is of one mode there is
 * nothing to tell apart, and a solid line is the more exact picture; the key says the mode in words in either case.
 */
export function dashOf(mode: Mode, mixed: boolean): Dash {
  if (!mixed) return null;
  if (mode === "sim") return [6, 3];
  if (mode === "theory") return [1.5, 3];
  return null;
}

/** Marks that tell further runs of one mode apart; the first has none. */
export const MARKS: readonly (string | null)[] = [
  null,
  "circle",
  "triangle",
  "rect",
  "diamond",
  "pin",
  "arrow",
];
