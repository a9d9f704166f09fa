/** Delays before and after a change: a curve a flow and phase, in the colour of the flow. */
import { describe, expect, it } from "vitest";
import { boxFigure } from "../src/figures/box";
import { ccdfFigure, cdfFigure, gapFigure } from "../src/figures/distribution";
import { splitFigure } from "../src/figures/stack";
import { LIGHT } from "../src/palette";
import { Selection, type View } from "../src/selection";
import { sampleReport } from "./sample";

type Line = { type: string; name: string; lineStyle: { color: string; width: number; type: unknown } };

/** Returns the sample, of which each flow has two phases: 20 ms before 30 s, 10 ms after. */
function swapped(runs: number): View {
  const report = sampleReport();
  report.runs = report.runs.slice(0, runs);
  for (const flow of report.runs.flatMap((run) => run.flows))
    flow.phases = [
      {
        from_s: 5,
        to_s: 30,
        packets: 1250,
        owd_cdf: { value_s: [0.019, 0.02], fraction: [0.5, 1] },
        owd_box: { p5: 0.018, p25: 0.019, p50: 0.02, p75: 0.021, p95: 0.022, mean: 0.02 },
        owd_p99_s: 0.023,
        queueing_s: 0.015,
      },
      {
        from_s: 30,
        to_s: 60,
        packets: 1500,
        owd_cdf: { value_s: [0.009, 0.01], fraction: [0.25, 1] },
        owd_box: { p5: 0.008, p25: 0.009, p50: 0.01, p75: 0.011, p95: 0.012, mean: 0.01 },
        owd_p99_s: 0.013,
        queueing_s: 0.005,
      },
    ];
  return new Selection(report).view();
}

const linesOf = (view: View): Line[] => {
  const drawing = cdfFigure(view, {}).draw(LIGHT, 900) as { option: { series: Line[] } };
  return drawing.option.series.filter(({ type }) => type === "line");
};

describe("delays before and after a change", () => {
  it("are two curves of a flow, the first thin, with the packets of each", () => {
    const view = swapped(1);
    const lines = linesOf(view);
    expect(lines).toHaveLength(2 * view.flows.length);
    const [before, after] = lines as [Line, Line];
    const flow = view.flows[0] as string;
    expect(before.name).toBe(`${flow}, 5 to 30 s (1250 packets)`);
    expect(after.name).toBe(`${flow}, 30 to 60 s (1500 packets)`);
    expect(before.lineStyle.color).toBe(after.lineStyle.color);
    expect(before.lineStyle.width).toBeLessThan(after.lineStyle.width);
    expect(before.lineStyle.type).toEqual(after.lineStyle.type);
    const figure = cdfFigure(view, {});
    const rows = figure.table().rows.filter(([name]) => name === after.name);
    expect(rows).toEqual([
      [after.name, 0.009, 0.25],
      [after.name, 0.01, 1],
    ]);
    const tail = ccdfFigure(view, {})
      .table()
      .rows.filter(([name]) => name === before.name);
    expect(tail).toEqual([
      [before.name, 0.019, 0.5],
      [before.name, 0.02, null],
    ]);
    expect(figure.caption).toContain("a curve for each part");
    const parts = figure.key(LIGHT).find(({ label }) => label === "Part of the run");
    const packets = 1250 * view.flows.length;
    expect(parts?.entries.map(({ label }) => label)[0]).toBe(`${packets} packets, 5 to 30 s`);
    const widths = parts?.entries.map(({ width }) => width ?? 0) ?? [];
    expect(widths).toHaveLength(2);
    expect(widths[0]).toBeLessThan(widths[1] as number);
  });

  it("are wider the later they are, whatever the stroke", () => {
    const widths = (runs: number): number[] => linesOf(swapped(runs)).map(({ lineStyle }) => lineStyle.width);
    expect(new Set(widths(1))).toEqual(new Set([0.9, 2.4]));
    expect(new Set(widths(2))).toEqual(new Set([0.9, 2.4]));
  });

  it("are one curve if nothing changed, as gaps always are", () => {
    const view = new Selection(sampleReport()).view();
    const figure = cdfFigure(view, {});
    expect(figure.key(LIGHT).some(({ label }) => label === "Part of the run")).toBe(false);
    expect(figure.caption).not.toContain("part");
    expect(
      gapFigure(swapped(1), {})
        .key(LIGHT)
        .map(({ label }) => label),
    ).toEqual(["Flow"]);
  });

  it("have a box and a bar each, and none of both together", () => {
    const view = swapped(1);
    const flow = view.flows[0] as string;
    const boxes = boxFigure(view, {})
      .table()
      .rows.filter(([name]) => name === flow);
    expect(boxes.map(([, part, , , p50]) => [part, p50])).toEqual([
      ["5 to 30 s", 0.02],
      ["30 to 60 s", 0.01],
    ]);
    const { columns, rows } = splitFigure(view).table();
    expect(columns.slice(2)).toEqual(["queueing_mean_s", "sending and travelling_mean_s"]);
    expect(rows[0]?.slice(1, 3)).toEqual(["5 to 30 s", 0.015]);
    expect(rows[0]?.[3]).toBeCloseTo(0.005, 9);
    // Without a change the parts of the delay are those of the whole run.
    expect(splitFigure(new Selection(sampleReport()).view()).table().columns.slice(2)).toContain(
      "propagation_mean_s",
    );
  });
});
