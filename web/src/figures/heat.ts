/**
 * A heat map of a metric over two numeric variables. The best cell is framed, and every cell shows its value.
 */
import { svg } from "../dom";
import type { Figure } from "../figure";
import { columnScale, quantity, shortened, significant, slug } from "../format";
import type { VariantMetric, Variants } from "../generated/lockgate";
import { type Ink, mixed } from "../palette";
import { metricName, varying } from "../variants";

const ROW = 30;
const FOOT = 44;
const LETTER = 6.6;

interface Cell {
  column: number;
  row: number;
  at: number;
  mean: number;
}

interface Grid {
  /** Names of the variables, and their values in ascending order. */
  x: { name: string; values: string[] };
  y: { name: string; values: string[] };
  cells: Cell[];
  range: readonly [number, number];
}

/** Returns the grid of two variables whose values are all numbers; null if there are fewer. */
export function gridOf(data: Variants, metric: VariantMetric): Grid | null {
  const [x, y] = varying(data).filter(({ variable }) => variable.numbers.length > 1);
  if (!x || !y) return null;
  const order = (numbers: readonly number[]): number[] =>
    numbers.map((_, index) => index).sort((a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0));
  const [columns, rows] = [order(x.variable.numbers), order(y.variable.numbers)];
  const around = data.variants[metric.best ?? 0];
  const cells = data.variants.flatMap((variant, at): Cell[] => {
    const mean = metric.variants[at]?.mean ?? null;
    const apart = variant.values.some(
      (value, index) => index !== x.index && index !== y.index && value !== around?.values[index],
    );
    if (mean === null || apart) return [];
    return [
      {
        column: columns.indexOf(variant.values[x.index] ?? 0),
        row: rows.indexOf(variant.values[y.index] ?? 0),
        at,
        mean,
      },
    ];
  });
  if (cells.length === 0) return null;
  const means = cells.map((cell) => cell.mean);
  const names = (values: readonly string[], order: readonly number[]): string[] =>
    order.map((index) => values[index] ?? "");
  return {
    x: { name: x.variable.name, values: names(x.variable.values, columns) },
    y: { name: y.variable.name, values: names(y.variable.values, rows) },
    cells,
    range: [Math.min(...means), Math.max(...means)],
  };
}

export function heatFigure(data: Variants, metric: VariantMetric, grid: Grid): Figure {
  const rest = varying(data).length > 2 ? " The other variables have the values of the best variant." : "";
  const direction =
    metric.better === null ? "" : ` ${metric.better === "lower" ? "Less" : "More"} is better.`;
  const { factor, label } = columnScale(grid.range, metric.unit);
  return {
    id: `heat-${slug(metric.path)}`,
    title: `${metricName(metric, 60)} by ${grid.x.name} and ${grid.y.name}`,
    caption: `Means over the seeds${label === "" ? "" : `, in ${label}`}; the best is framed.${direction}${rest}`,
    empty: null,
    choices: [],
    key: (ink) => [
      {
        label: metricName(metric),
        entries: [0, 0.5, 1].map((part) => ({
          label: quantity(grid.range[0] + part * (grid.range[1] - grid.range[0]), metric.unit),
          colour: shade(ink, part),
          kind: "swatch" as const,
        })),
      },
    ],
    height: () => bottomOf(grid) + FOOT,
    draw: (ink, width) => ({ element: draw(metric, grid, { ink, width, factor }) }),
    table: () => ({
      columns: [grid.x.name, grid.y.name, "mean"],
      rows: grid.cells.map((cell) => [
        grid.x.values[cell.column] ?? null,
        grid.y.values[cell.row] ?? null,
        cell.mean,
      ]),
    }),
  };
}

/** Returns a colour between the background and the accent. */
const shade = (ink: Ink, part: number): string =>
  mixed(ink.sunk, ink.series[0] as string, 0.05 + 0.95 * part);

interface Look {
  ink: Ink;
  width: number;
  factor: number;
}

/** Returns the vertical pixel below the last row. */
const bottomOf = (grid: Grid): number => 6 + ROW * grid.y.values.length;

function draw(metric: VariantMetric, grid: Grid, { ink, width, factor }: Look): SVGSVGElement {
  const names = grid.y.values.map((value) => shortened(value, 12));
  const left = 26 + LETTER * Math.max(3, ...names.map((name) => name.length));
  const size = (width - left - 8) / Math.max(1, grid.x.values.length);
  const bottom = bottomOf(grid);
  const height = bottom + FOOT;
  const [low, high] = grid.range;
  const text = (
    x: number,
    y: number,
    words: string,
    more: Record<string, string | number> = {},
  ): SVGElement =>
    svg("text", { x, y, "text-anchor": "middle", "font-size": 11, fill: ink.text, ...more }, words);
  // The smallest value of the vertical variable is at the bottom, as on an axis.
  const top = (row: number): number => 6 + ROW * (grid.y.values.length - 1 - row);
  const fits = size >= LETTER * 4;
  const cells = grid.cells.map((cell) => {
    const part = high > low ? (cell.mean - low) / (high - low) : 0;
    const said = `${grid.x.values[cell.column]}, ${grid.y.values[cell.row]}: ${quantity(cell.mean, metric.unit)}`;
    const x = left + cell.column * size;
    const best = cell.at === metric.best;
    return svg(
      "g",
      {},
      svg(
        "rect",
        {
          x: (x + (best ? 2 : 0.5)).toFixed(1),
          y: top(cell.row) + (best ? 2 : 0.5),
          width: Math.max(1, size - (best ? 4 : 1)).toFixed(1),
          height: ROW - (best ? 4 : 1),
          fill: shade(ink, part),
          ...(best ? { stroke: ink.text, "stroke-width": 2.5 } : {}),
        },
        svg("title", {}, said),
      ),
      fits
        ? text(x + size / 2, top(cell.row) + ROW / 2 + 4, significant(cell.mean / factor, 3), {
            fill: part > 0.75 ? "#ffffff" : ink.text,
            "font-weight": best ? 700 : 400,
            "pointer-events": "none",
          })
        : null,
    );
  });
  const every = Math.max(1, Math.ceil((LETTER * 7) / size));
  const labels = [
    ...grid.x.values.flatMap((value, column) =>
      column % every === 0 ? [text(left + (column + 0.5) * size, bottom + 15, shortened(value, 9))] : [],
    ),
    ...names.map((name, row) => text(left - 6, top(row) + ROW / 2 + 4, name, { "text-anchor": "end" })),
    text(left + (width - left - 8) / 2, bottom + 34, grid.x.name, { fill: ink.soft }),
    text(0, 0, grid.y.name, {
      fill: ink.soft,
      transform: `translate(12 ${6 + (bottom - 6) / 2}) rotate(-90)`,
    }),
  ];
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...cells, ...labels);
}
