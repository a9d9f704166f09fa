/** Figures of a report: a line each, in the order of the page. */
import type { Make } from "../figure";
import type { Variants } from "../generated/lockgate";
import { hasRuns, type Report } from "../report";
import { bandsFigure } from "./bands";
import { boxFigure } from "./box";
import { ccdfFigure, cdfFigure, gapFigure } from "./distribution";
import { extraFigure } from "./extra";
import { frontFigure } from "./front";
import { gridOf, heatFigure } from "./heat";
import { intervalsFigure } from "./intervals";
import { hasLines, lineFigure } from "./line";
import { multiplesFigure, pairOf } from "./multiples";
import { hasSenders, senderFigure } from "./sender";
import { dropsFigure, splitFigure } from "./stack";
import { timeFigure } from "./time";
import { isSmall, networkFigure, topologyFigure } from "./topology";

/** Sections that have figures (`sections/list.ts`); the network is beside the answer. */
export type Place =
  | "network"
  | "verdict"
  | "variants"
  | "variables"
  | "fronts"
  | "curves"
  | "queues"
  | "delay"
  | "senders"
  | "comparison"
  | "setup";

interface Listed {
  place: Place;
  /** The figures of a report: none if it has not the data, and one or several otherwise. */
  of: (report: Report) => Make[];
  /** True if it stands beside those next to it in the list that have this too, where there is room. */
  beside?: boolean;
  /** True if it is not of a run: then its caption does not say of which seed it is. */
  isOfSetup?: boolean;
}

export const FIGURES: readonly Listed[] = [
  { place: "network", of: needs(isSmall, networkFigure), isOfSetup: true },
  // At the top: of members, of a run, of an experiment, or of variants that are compared.
  { place: "verdict", of: bands, beside: true },
  { place: "verdict", of: needs((report) => hasRuns(report) && !hasMembers(report), timeFigure) },
  { place: "verdict", of: needs((report) => hasRuns(report) && hasLines(report), lineFigure) },
  { place: "verdict", of: (report) => extras(report).slice(0, leading(report)), beside: true },
  { place: "verdict", of: compared((data) => fronts(data).slice(0, 1)) },
  // Of variants.
  { place: "variants", of: compared(intervals), beside: true },
  { place: "variables", of: compared(byVariables) },
  { place: "fronts", of: compared((data) => fronts(data).slice(1)), beside: true },
  { place: "curves", of: needs(hasCurves, cdfFigure), beside: true },
  { place: "curves", of: needs(hasCurves, ccdfFigure), beside: true },
  { place: "curves", of: needs(hasCurves, boxFigure) },
  { place: "curves", of: needs(hasCurves, timeFigure) },
  // Of runs.
  { place: "queues", of: needs(hasRuns, dropsFigure) },
  { place: "delay", of: needs(hasMembers, timeFigure) },
  { place: "delay", of: needs(hasRuns, cdfFigure), beside: true },
  { place: "delay", of: needs(hasRuns, ccdfFigure), beside: true },
  { place: "delay", of: needs(hasRuns, boxFigure), beside: true },
  { place: "delay", of: needs(hasRuns, splitFigure), beside: true },
  { place: "delay", of: needs(hasRuns, gapFigure) },
  { place: "senders", of: needs((report) => hasRuns(report) && hasSenders(report), senderFigure) },
  { place: "comparison", of: (report) => extras(report).slice(leading(report)), beside: true },
  { place: "setup", of: () => [topologyFigure], isOfSetup: true },
];

/** Returns the figure for reports that have what it needs. */
function needs(isThere: (report: Report) => boolean, make: Make): Listed["of"] {
  return (report) => (isThere(report) ? [make] : []);
}

/** Returns the figures of the variants that a report compares. */
function compared(makes: (data: Variants) => Make[]): Listed["of"] {
  return ({ variants }) => (variants ? makes(variants) : []);
}

function hasCurves({ runs, variants }: Report): boolean {
  return runs.length > 0 && variants !== undefined;
}

function hasMembers(report: Report): boolean {
  return hasRuns(report) && bands(report).length > 0;
}

/** Returns the percentiles over the members of groups over time. */
function bands({ figures }: Report): Make[] {
  const all = figures.filter(({ kind }) => kind === "bands");
  return all.slice(0, 1).map((figure) => (view, settings) => bandsFigure(figure, view.report, settings));
}

/** Returns the other figures that a report carries; the delays of the worst members are in the rows of their table. */
function extras({ figures, variants }: Report): Make[] {
  const drawn = figures.filter(({ kind }) => kind !== "map" && kind !== "bands" && !variants);
  return drawn.map((figure) => (_, settings) => extraFigure(figure, settings));
}

/** Returns how many of them are at the top of the page: the first, unless the record of a run over time is there. */
function leading(report: Report): number {
  return hasRuns(report) && !hasMembers(report) ? 0 : 1;
}

/** Returns the trade-offs; first those with a choice to make: metrics that agree have one best variant. */
function fronts(data: Variants): Make[] {
  const all = data.fronts.toSorted((a, b) => b.on.length - a.on.length);
  return all.map((front) => (_, settings) => frontFigure(data, front, settings));
}

/** Returns the intervals of every metric. */
function intervals(data: Variants): Make[] {
  return data.metrics.map((metric) => (_, settings) => intervalsFigure(data, metric, settings));
}

/** Returns every metric by two variables: as small multiples, and if both are numbers as a map. */
function byVariables(data: Variants): Make[] {
  return data.metrics.flatMap((metric): Make[] => {
    const grid = gridOf(data, metric);
    const multiples: Make = (_, settings) => multiplesFigure(data, metric, settings);
    return [
      ...(pairOf(data) === null ? [] : [multiples]),
      ...(grid === null ? [] : [() => heatFigure(data, metric, grid)]),
    ];
  });
}
