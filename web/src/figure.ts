/** What a figure is, before it meets the page: pure data from which a frame makes a picture, a table and a file. */
import type { EChartsOption } from "echarts";
import type { Dash, Ink } from "./palette";
import type { Cell } from "./report";
import type { View } from "./selection";

/** One line of a key. A key entry that names a flow can be pressed to see that flow alone. */
export interface KeyEntry {
  label: string;
  colour: string;
  kind: "swatch" | "line" | "dot";
  dash?: Dash;
  mark?: string | null;
  thin?: boolean;
  /** The fill of a mark in outline. */
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

/** A choice of the reader's in one figure, such as a linear or logarithmic axis. */
export interface Choice {
  name: string;
  label: string;
  options: readonly string[];
  chosen: string;
}

/** The choice between a linear and a logarithmic axis, such as the `x` or the `delay` axis. */
export const axisChoice = (name: string, log: boolean): Choice => ({
  name,
  label: `${name} axis`,
  options: ["linear", "log"],
  chosen: log ? "log" : "linear",
});

/** What one figure draws at a width: a chart's option, or its own SVG. */
export type Drawing = { height: number; option: EChartsOption } | { height: number; element: SVGSVGElement };

export interface Figure {
  id: string;
  title: string;
  /** What is to be seen, in a sentence or two; files and paper add configuration and date. */
  caption: string;
  /** What a file must say besides, since the page around it is missing there. */
  aside?: string;
  /** Why there is nothing to draw; null where there is. */
  empty: string | null;
  choices: Choice[];
  key(ink: Ink): KeyGroup[];
  /** With a window: a still picture of that part of the time axis. */
  draw(ink: Ink, width: number, window?: readonly [number, number]): Drawing;
  table(): Table;
  /** Redraws for a window of the time axis; present on figures with a brush. */
  zoom?(ink: Ink, window: readonly [number, number]): EChartsOption;
  /** The whole range of the time axis. */
  range?: readonly [number, number];
}

/** The reader's choices in a figure, by name. */
export type Settings = Record<string, string>;

/** Makes a figure from what is shown and what the reader chose in it. */
export type Make = (view: View, settings: Settings) => Figure;

/** A note of what a figure leaves out; empty where nothing is. */
export function hiddenNote(view: View): string {
  return view.hiddenFlows > 0
    ? ` Shown: ${view.flows.length} of ${view.flows.length + view.hiddenFlows} flows; the others are in the tables.`
    : "";
}
