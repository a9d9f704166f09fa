/** Figures as data, independent of the page: a frame makes a picture, a table and a file from each. */
import type { EChartsOption } from "echarts";
import type { Point } from "./decimate";
import type { Dash, Ink } from "./palette";
import type { Cell } from "./report";
import type { View } from "./selection";

/** One line of a key. An entry that names a flow is a button that shows that flow alone. */
export interface KeyEntry {
  label: string;
  colour: string;
  kind: "swatch" | "line" | "dot";
  dash?: Dash;
  mark?: string | null;
  thin?: boolean;
  /** Width of its line in pixels, if it is of neither of these. */
  width?: number;
  /** Fill colour of a mark that is drawn in outline. */
  hollow?: string;
  flow?: string;
}

export interface KeyGroup {
  label: string;
  entries: KeyEntry[];
}

/** The data of a figure as a table, in base units. */
export interface Table {
  columns: string[];
  rows: Cell[][];
}

/** A setting of the reader for one figure, such as a linear or logarithmic axis. */
export interface Choice {
  name: string;
  label: string;
  options: readonly string[];
  chosen: string;
}

/** Returns the choice between a linear and a logarithmic axis; `name` is such as `x` or `delay`. */
export const axisChoice = (name: string, log: boolean): Choice => ({
  name,
  label: `${name} axis`,
  options: ["linear", "log"],
  chosen: log ? "log" : "linear",
});

/** Drawing of a figure at one width: a chart's option, or an SVG element. */
export type Drawing = { option: EChartsOption } | { element: SVGSVGElement };

/** Curves of a whole run in little. */
export interface Silhouette {
  curves: { points: Point[]; colour: string }[];
  /** Time from which the height fits the curves. */
  from: number;
  /** Times of changes. */
  rules: number[];
  /** Margins in pixels of the plots above. */
  left: number;
  right: number;
}

export interface Figure {
  id: string;
  title: string;
  /** Description of the figure, in a sentence or two; files and paper add configuration and date. */
  caption: string;
  /** Further text for files, where the page around the figure is missing. */
  aside?: string;
  /** Reason why nothing is drawn; null if something is. */
  empty: string | null;
  choices: Choice[];
  key(ink: Ink): KeyGroup[];
  /** Height in pixels of the picture, known before it is drawn, so that the page keeps room for it. */
  height(width: number): number;
  /** Draws the figure. With a window, a still picture of that part of the time axis. */
  draw(ink: Ink, width: number, window?: readonly [number, number]): Drawing;
  table(): Table;
  /** Redraws for a window of the time axis, coarser while it moves; only figures over time have it. */
  zoom?(ink: Ink, window: readonly [number, number], moving?: boolean): EChartsOption;
  /** True if `zoom` returns every series that the picture then has; others are removed. */
  zoomsSeries?: boolean;
  /** Makes the curves of other flows faint; null: none. Only figures over time have it. */
  light?(ink: Ink, flows: readonly string[] | null): EChartsOption;
  /** Returns what the brush below the figure shows of the whole run. */
  brush?(ink: Ink, width: number): Silhouette;
  /** Whole range of the time axis. */
  range?: readonly [number, number];
}

/** The reader's settings of a figure, by name. */
export type Settings = Record<string, string>;

/** Function that makes a figure from the shown data and the reader's settings. */
export type Make = (view: View, settings: Settings) => Figure;

/** Returns a note on the flows that a figure leaves out; empty if there are none. */
export function hiddenNote(view: View): string {
  return view.hiddenFlows > 0
    ? ` Shown: ${view.flows.length} of ${view.flows.length + view.hiddenFlows} flows; the others are in the tables.`
    : "";
}
