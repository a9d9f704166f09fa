/** Names at the ends of curves: pushed apart within their panel, each with a leader to its curve. */
import { FONT } from "../chart";
import type { Point } from "../decimate";
import { type Ink, mixed } from "../palette";

/** Name of a curve and the vertical pixel at which the curve ends. */
export interface EndName {
  text: string;
  y: number;
  colour: string;
  /** The names with the smallest weights are left out if there is no room for all. */
  weight: number;
}

/** A name with the vertical pixel at which it is written. */
interface Laid extends EndName {
  at: number;
}

/** Distance in pixels between two names, one above the other. */
export const LINE = 13;
/** Part of a window before its end in which a curve must have a value to be named there. */
const RECENT = 0.25;
/** Lengths in pixels: from the plot to the leader, of the leader, and from there to the name. */
const LEADER = [3, 12, 3] as const;

/**
 * Returns the names at the least distance from the ends of their curves at which none covers another and all are
 * between `top` and `bottom`, and the number of those without room, which are the ones of least weight.
 */
export function layNames(
  names: readonly EndName[],
  top: number,
  bottom: number,
): { laid: Laid[]; more: number } {
  const room = Math.max(1, Math.floor((bottom - top) / LINE) + 1);
  // A line of the room says how many are left out.
  const kept = names.length <= room ? names.length : room - 1;
  const chosen = names
    .map((name, index) => ({ name, index }))
    .sort((a, b) => b.name.weight - a.name.weight || a.index - b.index)
    .slice(0, kept)
    .sort((a, b) => a.name.y - b.name.y || a.index - b.index)
    .map(({ name }) => name);
  const more = names.length - kept;
  const last = Math.max(top, bottom - (more > 0 ? LINE : 0) - (kept - 1) * LINE);
  // Without the distances that they must keep, positions must not decrease: adjacent ones that do are pooled at
  // their mean, which is the least sum of squares.
  const pools: { sum: number; count: number }[] = [];
  chosen.forEach(({ y }, index) => {
    pools.push({ sum: y - index * LINE, count: 1 });
    for (let pool = pools.at(-1), before = pools.at(-2); pool && before; before = pools.at(-2)) {
      if (before.sum / before.count <= pool.sum / pool.count) break;
      before.sum += pool.sum;
      before.count += pool.count;
      pools.pop();
      pool = before;
    }
  });
  const starts = pools.flatMap(({ sum, count }) =>
    Array.from({ length: count }, () => Math.min(last, Math.max(top, sum / count))),
  );
  return {
    laid: chosen.map((name, index) => ({ ...name, at: (starts[index] ?? top) + index * LINE })),
    more,
  };
}

/** Returns the value of a curve at the end of a window; null if it has none shortly before. */
export function levelAt(points: readonly Point[], window: readonly [number, number]): number | null {
  const [from, to] = window;
  const last = points.findLast(([x, y]) => x <= to && y !== null);
  const next = points.find(([x]) => x > to);
  if (!last || last[1] === null) return null;
  if (!next || next[1] === null) return last[0] < to - RECENT * (to - from) ? null : last[1];
  return last[1] + ((next[1] - last[1]) * (to - last[0])) / (next[0] - last[0]);
}

/** Panel whose curves are named: its extent in pixels, and the names with the values at which the curves end. */
export interface NamedPanel {
  index: number;
  top: number;
  bottom: number;
  end: number;
  names: readonly (Omit<EndName, "y"> & { value: number })[];
  ink: Ink;
}

/** Returns the colour of a name: that of its curve, darker on white and lighter on black, so that it can be read. */
export const nameColour = (colour: string, ink: Ink): string => mixed(colour, ink.text, 0.5);

interface Api {
  coord(point: [number, number]): [number, number];
}

/** Returns the series that writes the names of a panel; without names, an empty one, so that none stay. */
export function endNames({ index, top, bottom, end, names, ink }: NamedPanel): object {
  const draw = (api: Api): object => {
    const x = api.coord([end, 0])[0] + LEADER[0];
    const placed = names.map(({ value, ...name }): EndName => {
      const y = api.coord([end, value])[1];
      return { ...name, y: Math.min(bottom, Math.max(top, y)) };
    });
    const { laid, more } = layNames(placed, top, bottom);
    const word = (text: string, y: number, fill: string, bold: boolean): object => ({
      type: "text",
      silent: true,
      x: x + LEADER[1] + LEADER[2],
      y,
      style: {
        text,
        fill,
        stroke: ink.panel,
        lineWidth: 2,
        fontFamily: FONT,
        fontSize: 11.5,
        fontWeight: bold ? 700 : 400,
        verticalAlign: "middle",
      },
    });
    const leader = ({ y, at, colour }: Laid): object => ({
      type: "polyline",
      silent: true,
      shape: {
        points: [
          [x, y],
          [x + LEADER[1] / 3, y],
          [x + LEADER[1] - 2, at],
          [x + LEADER[1], at],
        ],
      },
      style: { stroke: colour, fill: "none", lineWidth: 1, opacity: 0.7 },
    });
    return {
      type: "group",
      children: [
        ...laid.map(leader),
        ...laid.map((name) => word(name.text, name.at, nameColour(name.colour, ink), name.weight > 0)),
        ...(more > 0 ? [word(`+${more} more`, bottom, ink.soft, false)] : []),
      ],
    };
  };
  return {
    id: `names-${index}`,
    type: "custom",
    xAxisIndex: index,
    yAxisIndex: index,
    silent: true,
    tooltip: { show: false },
    data: names.length > 0 ? [[end, names[0]?.value ?? 0]] : [],
    renderItem: (_: unknown, api: Api) => draw(api),
  };
}
