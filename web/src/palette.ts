/**
 * Colours of the page, light and dark, and the strokes that distinguish simulation, live, theory and paper.
 */
import type { Origin } from "./generated/lockgate";

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
 * Colours of flows, equal in both themes, so that a flow keeps its colour on screen, in files and on paper.
 * They follow Okabe and Ito and differ for any colour vision. Their yellow and black are left out, because
 * each is invisible on one of the backgrounds.
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

/** Number of flows that can be told apart in one figure. */
export const COLOURS = SERIES.length;

/** Names of the modes in keys and captions. */
export const MODE_NAMES: Record<Origin, string> = {
  sim: "simulation",
  live: "live",
  theory: "theory",
  paper: "paper",
};

/** Lengths of dash and gap in pixels; null is a solid line. */
export type Dash = readonly number[] | null;

/**
 * Strokes that distinguish curves beside their colours: green and pink, or vermilion and amber, are one colour to
 * many readers, and all are on grey paper. The first is solid, which is drawn most exactly.
 */
export const STROKES: readonly Dash[] = [
  null,
  [14, 3],
  [7, 3],
  [12, 2.5, 2.5, 2.5],
  [3, 2],
  [9, 2, 2, 2, 2, 2],
  [1.5, 2.5],
];

/** Returns the stroke of a slot. When the colours start again, the strokes are shifted by one. */
export function strokeOf(slot: number): Dash {
  return STROKES[(slot + Math.floor(slot / COLOURS)) % STROKES.length] ?? null;
}

/** Returns the stroke of a mode, where several modes meet: simulation dashed, live solid, theory dotted. */
export function dashOf(mode: Origin): Dash {
  if (mode === "sim") return [6, 3];
  if (mode === "theory") return [1.5, 3];
  return null;
}

/** Marks that distinguish further runs of one mode; the first run has none. */
export const MARKS: readonly (string | null)[] = [
  null,
  "circle",
  "triangle",
  "rect",
  "diamond",
  "pin",
  "arrow",
];

/** Returns a colour moved towards another by a part of the way. */
export function mixed(colour: string, other: string, part: number): string {
  const channel = (from: string, at: number): number =>
    Number.parseInt(from.slice(1 + 2 * at, 3 + 2 * at), 16);
  const mix = (at: number): string =>
    Math.round(channel(colour, at) * (1 - part) + channel(other, at) * part)
      .toString(16)
      .padStart(2, "0");
  return `#${mix(0)}${mix(1)}${mix(2)}`;
}
