/** Stacked bars, one for each row: the parts of a flow's delay, and the reasons of a queue's drops. */
import type { EChartsOption } from "echarts";
import { extent, pointed, xAxis } from "../axis";
import { base, tooltip } from "../chart";
import { type Figure, hiddenNote } from "../figure";
import type { Ink } from "../palette";
import { flowOf, leavesOf, queuesOfPort, type View } from "../selection";
import { runShort } from "../style";
import { tip } from "../tooltip";
import { labelWidth, partWords, type RowLabel, rowAxis } from "./rows";

interface Row extends RowLabel {
  run: string;
  parts: (number | null)[];
}

/** Order of colours within a bar: neighbours differ much in lightness and in hue. */
const SLOTS = [0, 4, 2, 1, 3, 5, 6];

function stackOption(
  ink: Ink,
  width: number,
  rows: readonly Row[],
  parts: readonly string[],
  name: string,
  unit: string,
): EChartsOption {
  const room = labelWidth(width, rows);
  const totals = rows.map((row) => row.parts.reduce<number>((sum, part) => sum + (part ?? 0), 0));
  return {
    ...base(ink),
    grid: { left: room, right: 28, top: 10, bottom: 46, outerBoundsMode: "none" },
    xAxis: xAxis({ name, unit, range: extent([[0], totals]), ink, whole: unit === "" }),
    yAxis: rowAxis(ink, rows, room),
    tooltip: {
      ...tooltip(ink),
      trigger: "axis",
      axisPointer: { type: "none" },
      formatter: (parameters: unknown) => {
        const index = (parameters as { dataIndex: number }[])[0]?.dataIndex ?? -1;
        const row = rows[index];
        if (!row) return "";
        const lines = parts.map((part, at) => ({
          colour: partColour(ink, at),
          cells: [part, pointed(row.parts[at], unit)],
        }));
        return tip(
          [row.first, row.second].filter((text) => text !== "").join(", "),
          [],
          [...lines, { cells: ["sum", pointed(totals[index], unit)] }],
        );
      },
    },
    series: parts.map((part, at) => ({
      type: "bar",
      name: part,
      stack: "all",
      barWidth: 15,
      data: rows.map((row) => row.parts[at] ?? 0),
      itemStyle: { color: partColour(ink, at), borderColor: ink.panel, borderWidth: 0.5 },
    })),
  } as EChartsOption;
}

const partColour = (ink: Ink, at: number): string =>
  ink.series[(SLOTS[at % SLOTS.length] ?? 0) % ink.series.length] as string;

/** Name of what is left of a delay beside the waiting, in a part of a run. */
const REST = "sending and travelling";

export function splitFigure(view: View): Figure {
  const parts = ["queueing", "serialisation", "propagation", REST] as const;
  const rows: Row[] = view.flows.flatMap((flow) =>
    view.runs.flatMap((shown): Row[] => {
      const data = flowOf(shown.run, flow);
      if (!data) return [];
      const row = { first: flow, second: runShort(view, shown), run: shown.run.label };
      const split = data.split_s;
      const phases = (data.phases ?? []).filter(({ queueing_s }) => queueing_s !== null);
      if (phases.length < 2)
        return [{ ...row, parts: [split.queueing, split.serialisation, split.propagation, null] }];
      // Of a part of the run the waiting is known, and the mean of all of the delay.
      return phases.map((phase): Row => {
        const second = [row.second, partWords(phase)].filter((word) => word !== "").join(", ");
        const rest = phase.owd_box.mean === null ? null : phase.owd_box.mean - (phase.queueing_s ?? 0);
        return { ...row, second, parts: [phase.queueing_s, null, null, rest] };
      });
    }),
  );
  const shown = parts.filter((_, at) => rows.some((row) => (row.parts[at] ?? 0) > 0));
  for (const row of rows) row.parts = shown.map((part) => row.parts[parts.indexOf(part)] ?? null);
  return {
    id: "owd-split",
    title: "Where the delay comes from",
    caption: `The mean one-way delay in its parts: waiting in queues, being sent bit by bit, travelling.${hiddenNote(view)}`,
    empty: rows.length === 0 ? "The delay was not split." : null,
    choices: [],
    key: (ink) => [
      {
        label: "Part",
        entries: shown.map((label, at) => ({ label, colour: partColour(ink, at), kind: "swatch" })),
      },
    ],
    height: () => rows.length * 30 + 64,
    draw: (ink, width) => ({
      option: stackOption(ink, width, rows, shown, "Mean one-way delay", "s"),
    }),
    table: () => ({
      columns: ["flow", "run", ...shown.map((part) => `${part}_mean_s`)],
      rows: rows.map((row) => [row.first, row.second === "" ? row.run : row.second, ...row.parts]),
    }),
  };
}

/** Largest number of rows drawn; the table has all of them. */
const MOST = 24;

export function dropsFigure(view: View): Figure {
  const reasons: string[] = [];
  const drops: { row: Row; by: Record<string, number> }[] = [];
  for (const shown of view.runs) {
    for (const port of shown.run.ports) {
      const several = shown.run.ports.length > 1;
      for (const queue of leavesOf(queuesOfPort(shown.run, port.name))) {
        if (queue.dropped_packets === 0) continue;
        for (const reason of Object.keys(queue.drops_by)) if (!reasons.includes(reason)) reasons.push(reason);
        const row = {
          first: several ? `${port.name} ${queue.name}` : queue.name,
          second: runShort(view, shown),
          run: shown.run.label,
          parts: [],
        };
        drops.push({ row, by: queue.drops_by });
      }
    }
  }
  const all: Row[] = drops.map(({ row, by }) => ({
    ...row,
    parts: reasons.map((reason) => by[reason] ?? 0),
  }));
  const size = (row: Row): number => row.parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  const most = all.length > MOST ? [...all].sort((a, b) => size(b) - size(a)).slice(0, MOST) : all;
  const rows = most.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  return {
    id: "drops",
    title: "Drops by reason",
    caption:
      "Packets dropped by each queue that dropped any, by reason." +
      (all.length > MOST ? ` The ${MOST} largest of ${all.length}; all are in the table.` : ""),
    empty: rows.length === 0 ? "No queue dropped a packet." : null,
    choices: [],
    key: (ink) => [
      {
        label: "Reason",
        entries: reasons.map((reason, at) => ({
          label: reason,
          colour: partColour(ink, at),
          kind: "swatch",
        })),
      },
    ],
    height: () => rows.length * 30 + 64,
    draw: (ink, width) => ({
      option: stackOption(ink, width, rows, reasons, "Packets dropped", ""),
    }),
    table: () => ({
      columns: ["queue", "run", ...reasons],
      rows: all.map((row) => [row.first, row.run, ...row.parts]),
    }),
  };
}
