/** A map of rows over time, the worst row first, which shows at a glance which member suffers and when. */
import { svg } from "../dom";
import type { Figure } from "../figure";
import { quantity, shortened } from "../format";
import type { Ink } from "../palette";
import type { ExtraFigure } from "../report";

const ROW = 11;
const HEAD = 8;
const FOOT = 34;
const LETTER = 6.2;
/** Steps of the colour, from the smallest to the largest value. */
const STEPS = 8;

/** Returns the smallest positive and the largest value of a figure; null if it has no values. */
function extremes(figure: ExtraFigure): readonly [number, number] | null {
  let [low, high] = [Infinity, 0];
  for (const series of figure.series) {
    for (const value of series.y) {
      if (value === null || value <= 0) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return high > 0 ? [low, high] : null;
}

/** Returns the strength of a value's colour, from 0 to 1, on a logarithmic scale. */
function strength(value: number, [low, high]: readonly [number, number]): number {
  if (value <= 0) return 0;
  const span = Math.log(high / low);
  const part = span > 0 ? Math.log(value / low) / span : 1;
  return (1 + Math.round(part * (STEPS - 1))) / STEPS;
}

export function mapFigure(figure: ExtraFigure): Figure {
  const range = extremes(figure);
  return {
    id: `extra-${figure.id}`,
    title: figure.title,
    caption: figure.caption,
    empty: range === null ? "Nothing was received." : null,
    choices: [],
    key: (ink) =>
      range === null
        ? []
        : [
            {
              label: figure.y.label,
              entries: [0, 0.5, 1].map((part) => ({
                label: quantity(range[0] * (range[1] / range[0]) ** part, figure.y.unit),
                colour: mixed(ink, (1 + part * (STEPS - 1)) / STEPS),
                kind: "swatch" as const,
              })),
            },
          ],
    draw: (ink, width) => draw(figure, range ?? [1, 1], ink, width),
    table: () => ({
      columns: ["member", "time_s", figure.y.label],
      rows: figure.series.flatMap((series) =>
        series.x.map((time, at) => [series.name, time, series.y[at] ?? null]),
      ),
    }),
  };
}

/** Returns the colour of a strength: between the background and the colour of bad values. */
function mixed(ink: Ink, part: number): string {
  const parts = (colour: string): number[] =>
    [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const [ground, strong] = [parts(ink.sunk), parts(ink.bad)];
  const channel = (at: number): number =>
    Math.round((ground[at] ?? 0) + ((strong[at] ?? 0) - (ground[at] ?? 0)) * part);
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}

function draw(
  figure: ExtraFigure,
  range: readonly [number, number],
  ink: Ink,
  width: number,
): { height: number; element: SVGSVGElement } {
  const letters = width < 500 ? 14 : 24;
  const names = figure.series.map((series) => shortened(series.name, letters));
  const left = 8 + LETTER * Math.max(4, ...names.map((name) => name.length));
  const ends = (figure.series[0]?.x ?? []).map(Number);
  const last = ends.at(-1) ?? 1;
  const x = (time: number): number => left + (time / last) * (width - left - 10);
  const bottom = HEAD + ROW * figure.series.length;
  const height = bottom + FOOT;
  const text = (at: readonly [number, number], anchor: string, words: string): SVGElement =>
    svg("text", { x: at[0], y: at[1], "text-anchor": anchor, "font-size": 10, fill: ink.soft }, words);
  const rows = figure.series.flatMap((series, row) => {
    const top = HEAD + row * ROW;
    const cells = series.y.flatMap((value, at) => {
      if (value === null || value <= 0) return [];
      const from = x(at === 0 ? 0 : (ends[at - 1] ?? 0));
      const said = `${series.name}, ${quantity(ends[at], "s")}: ${quantity(value, figure.y.unit)}`;
      return [
        svg(
          "rect",
          {
            x: from.toFixed(1),
            y: top,
            width: Math.max(1, x(ends[at] ?? 0) - from).toFixed(1),
            height: ROW - 1,
            fill: mixed(ink, strength(value, range)),
          },
          svg("title", {}, said),
        ),
      ];
    });
    return [text([left - 6, top + ROW - 2], "end", names[row] ?? ""), ...cells];
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) =>
    text([x(last * part), bottom + 14], part === 1 ? "end" : "middle", quantity(last * part, "s", 2)),
  );
  const element = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": figure.title },
    ...rows,
    ...ticks,
  );
  return { height, element };
}
