/** Bounds on figures over time: each line is drawn at its value. */
import { describe, expect, it } from "vitest";
import { chartToSvg } from "../src/chart";
import { timeFigure } from "../src/figures/time";
import { LIGHT } from "../src/palette";
import { Selection } from "../src/selection";
import { expectation, singleReport } from "./sample";

describe("the line of a bound", () => {
  it.each([0.015, 0.012, 0.0123])("is at its value, not at hundredths: %d s", (bound) => {
    const report = singleReport();
    const [run] = report.runs;
    const [flow] = run?.flows ?? [];
    if (!run || !flow) throw new Error("no flow");
    flow.series.owd_p50_s.fill(0.01);
    flow.series.owd_p99_s.fill(0.02);
    run.summary.expect = [expectation({ that: `flow.${flow.name}.owd.p99`, below: bound, value: 0.02 })];
    const selection = new Selection(report);
    selection.showFlows([flow.name]);
    const figure = timeFigure(selection.view(), {});
    const drawing = figure.draw(LIGHT, 900);
    if (!("option" in drawing)) throw new Error("no chart");
    const grid = (drawing.option.grid as { top: number; height: number }[])[0];
    const axis = (drawing.option.yAxis as { min: number; max: number }[])[0];
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
