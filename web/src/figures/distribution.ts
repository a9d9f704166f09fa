/** Distributions of delay and gaps: CDF, CCDF on a logarithmic axis, and density of inter-arrival times. */
import { extent, variantsWantLog, wantsLog } from "../axis";
import { axisChoice, type Figure, hiddenNote, type KeyEntry, type KeyGroup, type Settings } from "../figure";
import { plural, significant } from "../format";
import type { Cdf, FlowData, Run } from "../generated/lockgate";
import type { Ink } from "../palette";
import type { Numbers } from "../report";

import { flowOf, type View } from "../selection";
import { curveName, flowKey, styleOf } from "../style";
import { type Axis, type Curve, curvesOption, curvesTable } from "./curves";

const HEIGHT = 300;

/** Widths in pixels of the curves of the first phase and of the last: colours and strokes are those of flows. */
const WIDTHS = [0.9, 2.4] as const;

/** Curve of a flow, or of one of its phases: `phase` counts from 0, and is null without phases. */
interface Part {
  phase: number | null;
  name: string;
  x: Numbers;
  y: Numbers;
}

interface Request {
  id: string;
  title: string;
  caption: string;
  empty: string;
  /** Returns the parts of a flow that have a curve each. */
  parts: (run: Run, flow: FlowData) => Part[];
  x: Omit<Axis, "log">;
  y: Axis;
  column: string;
  /** True for a line at the proven bound of each flow. */
  bounds?: boolean;
  /** True for a logarithmic axis, whatever the data. */
  log?: boolean;
}

/** Returns the delays of a flow, by phase if something changed in the window; `shown` is made of their fractions. */
function delaysOf(run: Run, flow: FlowData, shown: (fractions: number[]) => Numbers = (all) => all): Part[] {
  const curve = ({ value_s, fraction }: Cdf): Pick<Part, "x" | "y"> => ({ x: value_s, y: shown(fraction) });
  const { phases = [] } = flow;
  if (phases.length < 2) return [{ phase: null, name: "", ...curve(flow.owd_cdf) }];
  return phases.map((phase, index) => ({
    phase: index,
    name: `, ${phaseName(run, flow, index)} (${plural(phase.packets, "packet")})`,
    ...curve(phase.owd_cdf),
  }));
}

/** Returns the name of a phase: its time, and what changed at its start. */
function phaseName(run: Run, { phases = [] }: FlowData, index: number): string {
  const heads = run.summary.verdict?.phases?.heads ?? [];
  const [phase, head] = [phases[index], heads[index]];
  if (head !== undefined && heads.length === phases.length) return head;
  return phase ? `${significant(phase.from_s, 4)} to ${significant(phase.to_s, 4)} s` : "";
}

/** Returns the width of the curve of a phase among so many: the later, the wider. */
function widthOf(phase: number, count: number): number {
  const [thin, wide] = WIDTHS;
  return thin + ((wide - thin) * phase) / Math.max(1, count - 1);
}

function curvesOf(view: View, ink: Ink | null, parts: Request["parts"]): Curve[] {
  return view.runs.flatMap((shown) =>
    view.flows.flatMap((name) => {
      const flow = flowOf(shown.run, name);
      const all = flow ? parts(shown.run, flow) : [];
      const style = ink ? styleOf(view, ink, shown, name) : { colour: "", dash: null, mark: null, phase: 0 };
      return all.flatMap((part) =>
        part.x.length === 0
          ? []
          : [
              {
                ...style,
                ...(part.phase === null ? {} : { width: widthOf(part.phase, all.length) }),
                name: curveName(view, shown, name) + part.name,
                x: part.x,
                y: part.y,
              },
            ],
      );
    }),
  );
}

/** Returns the key of the phases: a width each, with the packets of all flows that are shown. */
function phaseKey(view: View, ink: Ink, parts: Request["parts"]): KeyGroup[] {
  // Runs may have different changes: phases of one name are one entry.
  const found = new Map<string, { packets: number; width: number }>();
  for (const { run } of view.runs) {
    for (const flow of run.flows.filter(({ name }) => view.flows.includes(name))) {
      const all = parts(run, flow);
      for (const { phase } of all) {
        if (phase === null) continue;
        const name = phaseName(run, flow, phase);
        const { packets, width } = found.get(name) ?? { packets: 0, width: widthOf(phase, all.length) };
        found.set(name, { packets: packets + (flow.phases?.[phase]?.packets ?? 0), width });
      }
    }
  }
  const entries = [...found].map(
    // A long name is cut at its end.
    ([name, { packets, width }]): KeyEntry => ({
      label: `${plural(packets, "packet")}, ${name}`,
      colour: ink.soft,
      kind: "line",
      dash: null,
      width,
    }),
  );
  return entries.length > 0 ? [{ label: "Part of the run", entries }] : [];
}

/** Strokes of the line at a proven bound: dots. */
const DOTS = [1, 4] as const;

/** Returns the proven bound of each flow that has one. */
function provenOf(view: View): { shown: View["runs"][number]; name: string; bound: number }[] {
  return view.runs.flatMap((shown) =>
    view.flows.flatMap((name) => {
      const bound = shown.run.summary.flows[name]?.owd_bound_s ?? null;
      return bound === null ? [] : [{ shown, name, bound }];
    }),
  );
}

/** Returns a dotted line at each proven bound, over the height of the curves. */
function boundsOf(view: View, ink: Ink, curves: readonly Curve[]): Curve[] {
  const height = extent(
    curves.map((curve) => curve.y),
    true,
  );
  if (height === null) return [];
  return provenOf(view).map(({ shown, name, bound }) => {
    const { colour } = styleOf(view, ink, shown, name);
    const label = `${curveName(view, shown, name)}, proven`;
    return { name: label, x: [bound, bound], y: [...height], colour, dash: DOTS, mark: null };
  });
}

function distribution(view: View, settings: Settings, request: Request): Figure {
  const plain = curvesOf(view, null, request.parts);
  const proven = request.bounds === true ? provenOf(view).map(({ bound }) => bound) : [];
  const wide =
    request.log === true ||
    (view.report.variants ? variantsWantLog : wantsLog)(
      extent([...plain.map((curve) => curve.x), proven], true),
    );
  const x: Axis = { ...request.x, log: (settings["x"] ?? (wide ? "log" : "linear")) === "log" };
  const y: Axis = { ...request.y, log: (settings["y"] ?? (request.y.log ? "log" : "linear")) === "log" };
  const parted = plain.some(({ width }) => width !== undefined)
    ? " Something changed during the run: each flow has a curve for each part, of the packets that it sent in it; the earlier ones are thin."
    : "";
  const dotted =
    proven.length > 0
      ? " A dotted line is the delay that is proven for all traffic within the envelopes."
      : "";
  return {
    id: request.id,
    title: request.title,
    caption: request.caption + dotted + parted + hiddenNote(view),
    // One point is no distribution: of members of large groups nothing else is recorded.
    empty: plain.every(({ y }) => y.filter((value) => value !== null).length < 2) ? request.empty : null,
    choices: [axisChoice("x", x.log), ...(request.y.limits === undefined ? [axisChoice("y", y.log)] : [])],
    key: (ink) => [...flowKey(view, ink), ...phaseKey(view, ink, request.parts)],
    height: () => HEIGHT,
    draw: (ink) => {
      const curves = curvesOf(view, ink, request.parts);
      const bounds = request.bounds === true ? boundsOf(view, ink, curves) : [];
      return { option: curvesOption(ink, [...curves, ...bounds], x, y) };
    },
    table: () => curvesTable(plain, "value_s", request.column),
  };
}

export function cdfFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "owd-cdf",
    title: "One-way delay, distribution function",
    caption: "The fraction of packets that took at most this long.",
    empty: "No delay distribution was recorded.",
    parts: (run, flow) => delaysOf(run, flow),
    x: { name: "One-way delay", unit: "s", zero: false },
    y: { name: "Fraction of packets", unit: "fraction", log: false, limits: { min: 0, max: 1 } },
    column: "fraction",
    bounds: true,
  });
}

export function ccdfFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "owd-ccdf",
    title: "One-way delay, complement (tail)",
    caption: "The fraction of packets that took longer than this; the logarithmic axis shows the tail.",
    empty: "No delay distribution was recorded.",
    parts: (run, flow) =>
      // The difference of two rounded numbers: below 1e-9 it is rounding error, not the tail.
      delaysOf(run, flow, (fractions) => fractions.map((value) => (1 - value < 1e-9 ? null : 1 - value))),
    x: { name: "One-way delay", unit: "s", zero: false },
    y: { name: "Fraction of packets beyond", unit: "fraction", log: true },
    column: "fraction_beyond",
    bounds: true,
  });
}

export function gapFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "iat-density",
    title: "Inter-arrival times, density",
    caption:
      "The density of the time between one packet of a flow and the next, as received. The logarithmic axis shows rare gaps beside those of back-to-back packets.",
    empty: "No inter-arrival times were recorded.",
    parts: (_, { iat_density: { value_s, density } }) => [{ phase: null, name: "", x: value_s, y: density }],
    x: { name: "Inter-arrival time", unit: "s", zero: false },
    y: { name: "Density, 1/s", unit: "", log: true },
    column: "density",
    log: true,
  });
}
