/** Distributions of delay and gaps: CDF, CCDF on a logarithmic axis, and density of inter-arrival times. */
import { extent, variantsWantLog, wantsLog } from "../axis";
import { axisChoice, type Figure, hiddenNote, type Settings } from "../figure";
import type { Ink } from "../palette";
import type { Flow, Points } from "../report";
import { flowOf, type View } from "../selection";
import { curveName, flowKey, styleOf } from "../style";
import { type Axis, type Curve, curvesOption, curvesTable } from "./curves";

const HEIGHT = 300;

function curvesOf(view: View, ink: Ink | null, pick: (flow: Flow) => Points): Curve[] {
  return view.runs.flatMap((shown) =>
    view.flows.flatMap((name) => {
      const flow = flowOf(shown.run, name);
      const points = flow ? pick(flow) : { x: [], y: [] };
      if (!flow || points.x.length === 0) return [];
      const style = ink ? styleOf(view, ink, shown, name) : { colour: "", dash: null, mark: null, phase: 0 };
      return [{ name: curveName(view, shown, name), x: points.x, y: points.y, ...style }];
    }),
  );
}

interface Request {
  id: string;
  title: string;
  caption: string;
  empty: string;
  pick: (flow: Flow) => Points;
  x: Omit<Axis, "log">;
  y: Axis;
  column: string;
  /** True for a logarithmic axis, whatever the data. */
  log?: boolean;
}

function distribution(view: View, settings: Settings, request: Request): Figure {
  const plain = curvesOf(view, null, request.pick);
  const wide =
    request.log === true ||
    (view.report.variants ? variantsWantLog : wantsLog)(
      extent(
        plain.map((curve) => curve.x),
        true,
      ),
    );
  const x: Axis = { ...request.x, log: (settings["x"] ?? (wide ? "log" : "linear")) === "log" };
  const y: Axis = { ...request.y, log: (settings["y"] ?? (request.y.log ? "log" : "linear")) === "log" };
  return {
    id: request.id,
    title: request.title,
    caption: request.caption + hiddenNote(view),
    empty: plain.length === 0 ? request.empty : null,
    choices: [axisChoice("x", x.log), ...(request.y.limits === undefined ? [axisChoice("y", y.log)] : [])],
    key: (ink) => flowKey(view, ink),
    height: () => HEIGHT,
    draw: (ink) => ({ option: curvesOption(ink, curvesOf(view, ink, request.pick), x, y) }),
    table: () => curvesTable(plain, "value_s", request.column),
  };
}

export function cdfFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "owd-cdf",
    title: "One-way delay, distribution function",
    caption: "The fraction of packets that took at most this long.",
    empty: "No delay distribution was recorded.",
    pick: (flow) => flow.owdCdf,
    x: { name: "One-way delay", unit: "s", zero: false },
    y: { name: "Fraction of packets", unit: "fraction", log: false, limits: { min: 0, max: 1 } },
    column: "fraction",
  });
}

export function ccdfFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "owd-ccdf",
    title: "One-way delay, complement (tail)",
    caption: "The fraction of packets that took longer than this; the logarithmic axis shows the tail.",
    empty: "No delay distribution was recorded.",
    pick: (flow) => ({
      x: flow.owdCdf.x,
      // The difference of two rounded numbers: below 1e-9 it is rounding error, not the tail.
      y: flow.owdCdf.y.map((value) => (value === null || 1 - value < 1e-9 ? null : 1 - value)),
    }),
    x: { name: "One-way delay", unit: "s", zero: false },
    y: { name: "Fraction of packets beyond", unit: "fraction", log: true },
    column: "fraction_beyond",
  });
}

export function gapFigure(view: View, settings: Settings): Figure {
  return distribution(view, settings, {
    id: "iat-density",
    title: "Inter-arrival times, density",
    caption:
      "The density of the time between one packet of a flow and the next, as received. The logarithmic axis shows rare gaps beside those of back-to-back packets.",
    empty: "No inter-arrival times were recorded.",
    pick: (flow) => flow.iatDensity,
    x: { name: "Inter-arrival time", unit: "s", zero: false },
    y: { name: "Density, 1/s", unit: "", log: true },
    column: "density",
    log: true,
  });
}
