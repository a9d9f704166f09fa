/** Proven bounds in the figures of the delay: a dotted line for each flow that has one. */
import { describe, expect, it } from "vitest";
import { ccdfFigure, cdfFigure, gapFigure } from "../src/figures/distribution";
import { LIGHT } from "../src/palette";
import { Selection, type View } from "../src/selection";
import { sampleReport } from "./sample";

type Line = { type: string; name: string; data: [number, number][]; lineStyle: { type: unknown } };

/** Returns the sample's first run, in which the first flow has a bound of 40 ms. */
function proven(): View {
  const report = sampleReport();
  report.runs = report.runs.slice(0, 1);
  const run = report.runs[0];
  const name = run?.flows[0]?.name ?? "";
  const flow = run?.summary.flows[name];
  if (flow) flow.owd_bound_s = 0.04;
  return new Selection(report).view();
}

const linesOf = (figure: ReturnType<typeof cdfFigure>): Line[] =>
  (figure.draw(LIGHT, 900) as { option: { series: Line[] } }).option.series.filter(({ name }) =>
    name.endsWith(", proven"),
  );

describe("proven bounds", () => {
  it("are dotted lines over the height of the curves, at the bound", () => {
    const view = proven();
    for (const figure of [cdfFigure(view, {}), ccdfFigure(view, {})]) {
      const lines = linesOf(figure);
      expect(lines.map(({ name }) => name)).toEqual([`${view.flows[0]}, proven`]);
      expect(lines[0]?.data.map(([x]) => x)).toEqual([0.04, 0.04]);
      expect(lines[0]?.lineStyle.type).toEqual([1, 4]);
      expect(figure.caption).toContain("proven for all traffic");
      expect(figure.table().rows.some(([name]) => String(name).includes("proven"))).toBe(false);
    }
  });

  it("are not in figures of gaps, and not without a bound", () => {
    expect(linesOf(gapFigure(proven(), {}))).toEqual([]);
    const view = new Selection(sampleReport()).view();
    expect(linesOf(cdfFigure(view, {}))).toEqual([]);
    expect(cdfFigure(view, {}).caption).not.toContain("proven");
  });
});
