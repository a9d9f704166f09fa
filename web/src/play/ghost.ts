/** Figures over time with the result before behind them, grey. */
import type { Drawing, Figure, Make, Settings } from "../figure";
import type { Ink } from "../palette";
import type { Report } from "../report";
import { Selection, type View } from "../selection";

type Loose = Record<string, unknown>;
interface Option {
  series?: Loose[];
  xAxis?: Loose[];
  yAxis?: Loose[];
}

const greys = new WeakMap<Ink, Ink>();

/** Returns the colours for a ghost: all series are grey. The same object for the same colours, which figures cache. */
function grey(ink: Ink): Ink {
  const known = greys.get(ink) ?? {
    ...ink,
    series: ink.series.map(() => ink.soft),
    text: ink.soft,
    accent: ink.soft,
  };
  greys.set(ink, known);
  return known;
}

/** Returns the view of another result with the flows and the port that are shown now. */
export function viewOf(report: Report, view: View): View {
  const selection = new Selection(report);
  const flows = view.flows.filter((flow) => selection.ranked.includes(flow));
  if (flows.length > 0) selection.showFlows(flows);
  if (selection.ports.includes(view.port)) selection.showPort(view.port);
  return { ...selection.view(), slotOf: view.slotOf };
}

/** Makes a figure with that of `before` as a ghost behind it; as it is, if there is none. */
export function haunted(make: Make, before: Report | null): Make {
  return (view, settings) => {
    const figure = make(view, settings);
    if (before === null || figure.empty !== null) return figure;
    const ghost = ghostOf(make, before, view, settings);
    return ghost.empty === null ? merged(figure, ghost) : figure;
  };
}

/** The last ghost: it stays the same while a slider moves. */
let last: { make: Make; before: Report; key: string; figure: Figure } | null = null;
const drawings = new WeakMap<Figure, { key: string; drawing: Drawing }>();

function ghostOf(make: Make, before: Report, view: View, settings: Settings): Figure {
  const key = JSON.stringify([view.flows, view.port, settings]);
  if (last === null || last.make !== make || last.before !== before || last.key !== key)
    last = { make, before, key, figure: make(viewOf(before, view), settings) };
  return last.figure;
}

/** Draws a ghost, or returns its last drawing of this size and part of the time. */
function drawn(
  ghost: Figure,
  ink: Ink,
  width: number,
  window: readonly [number, number] | undefined,
): Drawing {
  const key = JSON.stringify([ink.name, width, window]);
  const known = drawings.get(ghost);
  if (known?.key === key) return known.drawing;
  const drawing = ghost.draw(grey(ink), width, window);
  drawings.set(ghost, { key, drawing });
  return drawing;
}

function merged(figure: Figure, ghost: Figure): Figure {
  const range = figure.range && ghost.range;
  const both = range && ([0, Math.max(range[1], figure.range?.[1] ?? 0)] as const);
  // A preview, whose own axes hold only the beginning.
  const isPart = (figure.range?.[1] ?? 0) < 0.99 * (ghost.range?.[1] ?? 0);
  const drawing: Figure["draw"] = (ink, width, window) => {
    const front = figure.draw(ink, width, window ?? both);
    const behind = drawn(ghost, ink, width, window ?? both);
    if (!("option" in front) || !("option" in behind)) return front;
    return {
      option: behindOf(
        front.option as unknown as Option,
        behind.option as unknown as Option,
        isPart,
      ) as never,
    };
  };
  const { zoom } = figure;
  return {
    ...figure,
    caption: `${figure.caption} Grey: the result before.`,
    ...(both ? { range: both } : {}),
    // The parts of a beginning may be fewer: what is below the figure must not jump at each move of a slider.
    height: (width) => Math.max(figure.height(width), ghost.height(width)),
    draw: drawing,
    ...(zoom && {
      // While the window moves only the curves of now are drawn, which is faster.
      zoom: (ink, window, moving) =>
        moving || !ghost.zoom
          ? zoom(ink, window, moving)
          : (behindOf(
              zoom(ink, window) as unknown as Option,
              ghost.zoom(grey(ink), window) as unknown as Option,
              isPart,
            ) as never),
    }),
  };
}

/** Puts the curves of `behind` behind those of an option, on axes that hold both; on its own axes if `isPart`. */
function behindOf(front: Option, behind: Option, isPart: boolean): Option {
  const axes = front.yAxis?.length ?? 0;
  const series = (behind.series ?? [])
    // Curves are named after the number of their run; rules and names at their ends are not.
    .filter((one) => /^\d/.test(String(one["id"])) && ((one["yAxisIndex"] as number | undefined) ?? 0) < axes)
    .filter((one) => !isThin(one))
    .map((one) => ghostly(one));
  const axis = (one: Loose, other: Loose | undefined): Loose =>
    isPart ? (other ?? one) : holding(one, other);
  // The labels of times are below the last panel, which may be another one.
  const times = front.xAxis?.map((one, at, all) => {
    const other = at === all.length - 1 ? behind.xAxis?.at(-1) : behind.xAxis?.[0];
    return isPart && other ? { ...other, gridIndex: one["gridIndex"] } : one;
  });
  return {
    ...front,
    series: [...series, ...(front.series ?? [])],
    ...(times && { xAxis: times }),
    ...(front.yAxis && { yAxis: front.yAxis.map((one, at) => axis(one, behind.yAxis?.[at])) }),
  };
}

/** Curves that accompany another are not drawn as ghosts. */
const isThin = (one: Loose): boolean =>
  (((one["lineStyle"] as Loose | undefined)?.["opacity"] as number | undefined) ?? 1) <= 0.5;

function ghostly({ markLine: _, markArea: __, endLabel: ___, areaStyle: ____, ...one }: Loose): Loose {
  const style = (one["lineStyle"] ?? {}) as Loose;
  const opacity = Math.min(0.45, (style["opacity"] as number | undefined) ?? 1);
  const dots =
    one["itemStyle"] === undefined ? {} : { itemStyle: { ...(one["itemStyle"] as Loose), opacity } };
  return {
    ...one,
    id: `ghost ${String(one["id"])}`,
    silent: true,
    z: 1,
    lineStyle: { ...style, opacity },
    ...dots,
  };
}

/** Returns the one of two axes that reaches higher. */
function holding(axis: Loose, other: Loose | undefined): Loose {
  const [most, others] = [axis["max"], other?.["max"]];
  return other && typeof most === "number" && typeof others === "number" && others > most ? other : axis;
}
