/**
 * A line whose rate moves, over time: what it allows, the rate of the shaper before it and what passes, above the wait
 * in the queue that the shaper is to keep short. The steps of the shaper are rules with their reasons.
 */
import { pointed } from "../axis";
import { nearest } from "../decimate";
import { type Step, stepOf } from "../events";
import { axisChoice, type Figure, type KeyEntry, type Settings, type Table } from "../figure";
import type { PortData, QueueSeriesData, Run } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Cell, Numbers, Report } from "../report";
import type { View } from "../selection";
import { runName } from "../style";
import type { TipRow } from "../tooltip";
import { asideOf, type Rule, rulesOf } from "./rules";
import { duration } from "./time";
import type { BoundLine } from "./time-bounds";
import { type Curve, type Panel, waitsOf } from "./time-curves";
import { TimeDrawing } from "./time-drawing";

/** A line of a run: its port, and the port that is shaped for it; the same if none is. */
interface Line {
  line: PortData;
  shaped: PortData;
}

const hasTrace = (port: PortData): boolean => (port.rates?.capacity_bps.length ?? 0) > 0;

/** Returns the line of a run that is drawn: that of the shown port, or else the first one that is shaped, or traced. */
function lineOf(run: Run, port: string): Line | null {
  const shaped = run.ports.filter((one) => one.line !== undefined && one.line !== null);
  const traced = run.ports.filter(hasTrace);
  const own =
    shaped.find(({ name, line }) => name === port || line === port) ??
    traced.find(({ name }) => name === port) ??
    shaped[0] ??
    traced[0];
  if (own === undefined) return null;
  const line = run.ports.find(({ name }) => name === own.line) ?? own;
  return { line, shaped: own };
}

/** Returns whether the report has a line whose rate moves. */
export function hasLines(report: Report): boolean {
  return report.runs.some((run) => lineOf(run, "") !== null);
}

/** Returns the series of the queue that every packet of a port passes. */
const rootOf = (port: PortData): QueueSeriesData | undefined => port.queues[0]?.series;

/**
 * Returns the time that what waits before a line takes at the rate that it allows then; of a line that allows nothing it
 * is unknown.
 */
function waitsBefore(line: PortData): Numbers {
  const root = rootOf(line);
  if (root === undefined) return [];
  const allowed = line.rates?.capacity_bps ?? [];
  if (allowed.length === 0) return waitsOf(root, null);
  return root.backlog_bytes.map((waiting, at) => {
    const rate = allowed[at] ?? 0;
    return rate > 0 ? (8 * (waiting ?? 0)) / rate : null;
  });
}

/** Columns of a line: capacity, rate of the shaper, what passes, and the wait behind the shaper. */
function columnsOf({ line, shaped }: Line): { time: Numbers; columns: [Numbers, Numbers, Numbers, Numbers] } {
  const root = rootOf(line);
  const rates = shaped === line ? [] : (shaped.rates?.rate_bps ?? []);
  return {
    time: root?.time_s ?? line.rates?.time_s ?? [],
    columns: [line.rates?.capacity_bps ?? [], rates, root?.sent_bps ?? [], waitsBefore(line)],
  };
}

const [CAPACITY, SHAPED, PASSED, WAIT] = [0, 1, 2, 3] as const;
const NAMES = ["the line allows", "shaped rate", "passes", "wait in the line's queue"] as const;

/** Returns the look of each column. */
const looksOf = (ink: Ink): readonly { colour: string; width: number }[] => [
  { colour: ink.soft, width: 1 },
  { colour: ink.series[1] ?? ink.accent, width: 2 },
  { colour: ink.series[0] ?? ink.text, width: 1.2 },
  { colour: ink.series[2] ?? ink.text, width: 1.6 },
];

export function lineFigure(view: View, settings: Settings): Figure {
  const log = settings["wait"] === "log";
  const range = duration(view);
  const panels: Panel[] = [
    { name: "Rate", unit: "bit/s", height: 190, log: false, mean: true },
    { name: "Wait in the line's queue", unit: "s", height: 110, log },
  ];
  const drawing = new LineDrawing(view, panels, [], "packets", range);
  const first = view.runs.map(({ run }) => lineOf(run, view.port)).find((line) => line !== null);
  const isShaped = first !== undefined && first.shaped !== first.line;
  const names = isShaped
    ? `Line: ${first.line.name}; shaper: ${first.shaped.name}.`
    : `Line: ${first?.line.name ?? ""}.`;
  return {
    id: "line",
    title: isShaped ? "The line and the shaper before it" : "A line whose rate moves",
    caption:
      `${names} Grey area: the rate that the line allows. ${isShaped ? "Thick: the rate of the shaper, whose largest falls are rules with their reasons. " : ""}` +
      "Thin: what passes. Below: what waits in the queue of the line, in time at the rate that it allows then; a gap is a line that allows nothing." +
      " Rates are means over as many intervals as the width asks for: zoom in for single ones.",
    aside: asideOf(drawing.rules),
    empty: first === undefined ? "No line of this run moves." : null,
    choices: [axisChoice("wait", log)],
    key: (ink) => [{ label: "Line", entries: keyOf(ink, isShaped) }],
    height: () => drawing.height,
    draw: (ink, width, window) => ({ option: drawing.option(ink, width, window) }),
    table: () => lineTable(view),
    zoom: (ink, window, moving) => drawing.cut(ink, window, moving),
    zoomsSeries: true,
    brush: (ink, width) => drawing.silhouette(ink, width),
    range,
  };
}

function keyOf(ink: Ink, isShaped: boolean): KeyEntry[] {
  const looks = looksOf(ink);
  const entry = (of: number): KeyEntry => ({
    label: NAMES[of] ?? "",
    colour: looks[of]?.colour ?? ink.text,
    kind: of === CAPACITY ? "swatch" : "line",
    width: looks[of]?.width ?? 1,
  });
  return [CAPACITY, ...(isShaped ? [SHAPED] : []), PASSED, WAIT].map(entry);
}

/** Largest number of falls that are rules: more cannot be labelled. */
const FALLS = 8;

class LineDrawing extends TimeDrawing {
  /** The largest falls of the rate, which a reader asks about, and everything that is no step of a controller. */
  protected override events(): Rule[] {
    const rules = rulesOf(this.view).map((rule) => ({ rule, step: stepOf(rule) }));
    const fall = ({ step }: { step: Step | null }): number => (step === null ? 0 : step.from / step.to);
    const falls = rules
      .filter((one) => fall(one) > 1)
      .sort((a, b) => fall(b) - fall(a))
      .slice(0, FALLS);
    const kept = new Set(falls.map(({ rule }) => rule));
    return rules.filter(({ rule, step }) => step === null || kept.has(rule)).map(({ rule }) => rule);
  }

  /** None: expectations are on flows. */
  protected override bounds(): BoundLine[] {
    return [];
  }

  /** None: the rate that the line allows is a curve. */
  protected override get capacity(): number | null {
    return null;
  }

  protected override curves(ink: Ink): Curve[] {
    const looks = looksOf(ink);
    return this.view.runs.flatMap((shown) => {
      const found = lineOf(shown.run, this.view.port);
      if (found === null) return [];
      const { time, columns } = columnsOf(found);
      return columns.flatMap((y, of): Curve[] => {
        const look = looks[of];
        if (y.length === 0 || look === undefined) return [];
        const isArea = of === CAPACITY;
        return [
          {
            id: `${shown.index} ${NAMES[of]}`,
            of: NAMES[of] ?? "",
            panel: of === WAIT ? 1 : 0,
            x: time,
            y,
            colour: look.colour,
            dash: null,
            mark: null,
            phase: 0,
            width: look.width,
            opacity: isArea ? 0.5 : 1,
            area: isArea,
            name: NAMES[of] ?? "",
          },
        ];
      });
    });
  }

  protected override heads(): string[] {
    return ["", ...NAMES];
  }

  protected override rows(ink: Ink, at: number): TipRow[] {
    return this.view.runs.flatMap(({ run }) => {
      const found = lineOf(run, this.view.port);
      if (found === null) return [];
      const { time, columns } = columnsOf(found);
      const index = nearest(time, at);
      if (index < 0) return [];
      const name = this.view.runs.length > 1 ? runName(run) : found.line.name;
      const cells = columns.map((column, of) => pointed(column[index], of === WAIT ? "s" : "bit/s"));
      return [{ colour: ink.soft, cells: [name, ...cells] }];
    });
  }
}

const COLUMNS = ["capacity_bps", "shaped_bps", "sent_bps", "wait_s"] as const;

function lineTable(view: View): Table {
  const rows: Cell[][] = [];
  for (const { run } of view.runs) {
    const found = lineOf(run, view.port);
    if (found === null) continue;
    const { time, columns } = columnsOf(found);
    time.forEach((at, index) => {
      rows.push([run.label, found.line.name, at, ...columns.map((column) => column[index] ?? null)]);
    });
  }
  return { columns: ["run", "port", "time_s", ...COLUMNS], rows };
}
