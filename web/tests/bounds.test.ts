/** Bounds on figures over time: each line is drawn at its value. */
import { describe, expect, it } from "vitest";
import { chartToSvg } from "../src/chart";
import { timeFigure } from "../src/figures/time";
import { LIGHT } from "../src/palette";
import { readReport } from "../src/report";
import { Selection } from "../src/selection";
import { singleReport } from "./sample";

describe("the line of a bound", () => {
  it.each([0.015, 0.012, 0.0123])("is at its value, not at hundredths: %d s", (bound) => {
    const raw = JSON.parse(JSON.stringify(singleReport()));
    const [flow] = raw.runs[0].flows;
    flow.series.owd_p50_s = flow.series.time_s.map(() => 0.01);
    flow.series.owd_p99_s = flow.series.time_s.map(() => 0.02);
    raw.runs[0].summary.expect = [
      { that: `flow.${flow.name}.owd.p99`, below: bound, value: 0.02, values: [0.02], held: 0, holds: false },
    ];
    const selection = new Selection(readReport(raw));
    selection.showFlows([flow.name]);
    const figure = timeFigure(selection.view(), {});
    const drawing = figure.draw(LIGHT, 900);
    if (!("option" in drawing)) throw new Error("no chart");
    const grid = (drawing.option.grid as { top: number; height: number }[])[1];
    const axis = (drawing.option.yAxis as { min: number; max: number }[])[1];
    if (!grid || !axis) throw new Error("no panel of delays");
    const svg = chartToSvg(drawing.option, 900, figure.height(900));
    const dashed = svg
      .split("<path")
      .find((path) => path.includes(`stroke="${LIGHT.bad}"`) && path.includes("dasharray"));
    const y = Number(/d="M[\d.]+ ([\d.]+)L/.exec(dashed ?? "")?.[1]);
    const wanted = grid.top + grid.height * (1 - (bound - axis.min) / (axis.max - axis.min));
    expect(Math.abs(y - wanted)).toBeLessThan(1);
  });
});
