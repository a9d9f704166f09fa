/**
 * Delay as a box for each flow and run: quartiles, whiskers to the 5th and 95th percentile, and the mean as a
 * diamond.
 */
import type { EChartsOption } from "echarts";
import { BoxplotChart } from "echarts/charts";
import { use } from "echarts/core";
import { extent, pointed, variantsWantLog, wantsLog, xAxis } from "../axis";
import { base, tooltip } from "../chart";
import { axisChoice, type Figure, hiddenNote, type Settings } from "../figure";
import type { BoxPlot } from "../generated/lockgate";
import type { Ink } from "../palette";
import { flowOf, type ShownRun, type View } from "../selection";
import { curveName, runShort } from "../style";
import { tip } from "../tooltip";
import { labelWidth, partWords, type RowLabel, rowAxis } from "./rows";

use([BoxplotChart]);

interface Row extends RowLabel {
  shown: ShownRun;
  flow: string;
  box: BoxPlot;
}

export function boxFigure(view: View, settings: Settings): Figure {
  const rows: Row[] = view.flows.flatMap((flow) =>
    view.runs.flatMap((shown) => {
      const data = flowOf(shown.run, flow);
      if (!data) return [];
      // Of a run with changes a box for each part: one of both would be of no packet's delay.
      const parts = data.phases ?? [];
      const boxes =
        parts.length > 1
          ? parts.map((part) => ({ box: part.owd_box, part: partWords(part) }))
          : [{ box: data.owd_box, part: "" }];
      return boxes
        .filter(({ box }) => box.p50 !== null)
        .map(({ box, part }) => ({
          shown,
          flow,
          box,
          first: flow,
          second: [runShort(view, shown), part].filter((word) => word !== "").join(", "),
        }));
    }),
  );
  const values = rows.map(({ box }) => [box.p5, box.p25, box.p50, box.p75, box.p95, box.mean]);
  const wide = (view.report.variants ? variantsWantLog : wantsLog)(extent(values, true));
  const log = (settings["delay"] ?? (wide ? "log" : "linear")) === "log";
  return {
    id: "owd-box",
    title: "One-way delay by flow and run",
    caption: `Boxes: the middle half of the packets, with the median; whiskers: 5th and 95th percentile; diamond: mean.${hiddenNote(view)}`,
    empty: rows.length === 0 ? "No delay percentiles were recorded." : null,
    choices: [axisChoice("delay", log)],
    key: () => [],
    height: () => rows.length * 30 + 64,
    draw: (ink, width) => ({ option: option(view, ink, rows, log, width) }),
    table: () => ({
      columns: ["flow", "run", "p5_s", "p25_s", "p50_s", "p75_s", "p95_s", "mean_s"],
      rows: rows.map(({ flow, shown, box, second }) => [
        flow,
        second === "" ? shown.run.label : second,
        box.p5,
        box.p25,
        box.p50,
        box.p75,
        box.p95,
        box.mean,
      ]),
    }),
  };
}

function option(view: View, ink: Ink, rows: readonly Row[], log: boolean, width: number): EChartsOption {
  const room = labelWidth(width, rows);
  const range = extent(
    rows.map(({ box }) => [box.p5, box.p95, box.mean, box.p50]),
    log,
  );
  const colour = (row: Row): string => ink.series[view.slotOf(row.flow) % ink.series.length] as string;
  return {
    ...base(ink),
    grid: { left: room, right: 28, top: 10, bottom: 46, outerBoundsMode: "none" },
    xAxis: xAxis({ name: "One-way delay", unit: "s", range, log, ink }),
    yAxis: rowAxis(ink, rows, room),
    tooltip: {
      ...tooltip(ink),
      trigger: "item",
      formatter: (parameters: { dataIndex: number }) => {
        const row = rows[parameters.dataIndex];
        if (!row) return "";
        const lines = (["p5", "p25", "p50", "p75", "p95", "mean"] as const).map((name) => ({
          cells: [name, pointed(row.box[name], "s")],
        }));
        return tip(curveName(view, row.shown, row.flow), [], lines);
      },
    },
    series: [
      {
        type: "boxplot",
        layout: "horizontal",
        boxWidth: [8, 16],
        data: rows.map((row) => ({
          value: [row.box.p5, row.box.p25, row.box.p50, row.box.p75, row.box.p95].map(
            (value) => value ?? row.box.p50 ?? 0,
          ),
          itemStyle: { color: `${colour(row)}33`, borderColor: colour(row), borderWidth: 1.6 },
        })),
      },
      {
        type: "scatter",
        symbol: "diamond",
        symbolSize: 9,
        z: 5,
        data: rows.map((row, index) => ({
          value: [row.box.mean, index],
          itemStyle: { color: ink.panel, borderColor: colour(row), borderWidth: 1.6 },
        })),
      },
    ],
  } as EChartsOption;
}
