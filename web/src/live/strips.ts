/**
 * Four strips over one time axis, of the queues of a port or of a flow: rate, delay, backlog or window, drops; changes
 * are vertical rules through all of them.
 */
import uPlot from "uplot";
import { columnExtremes, isolated } from "../decimate";
import { h, widthOf } from "../dom";
import { placeLabels } from "../events";
import { quantity, scaleFor, significant, THIN } from "../format";
import type { Sample } from "../generated/lockgate";
import { drawSample } from "../key";
import { type Ink, strokeOf } from "../palette";
import { columns, DELAY, flowColumns, RATE } from "./columns";
import type { QueueLifetime } from "./history";
import { portAt } from "./parts";
import { type PastColumns, withPast } from "./past";

interface Strip {
  name: string;
  unit: string;
  /** Index of its columns in `columns.ts`. */
  of: number;
}

const OF_QUEUES: readonly Strip[] = [
  { name: "Delay p99 (thin: median)", unit: "s", of: DELAY },
  { name: "Rate (thin: offered)", unit: "bit/s", of: RATE },
  { name: "Backlog, packets (thin: maximum)", unit: "", of: 2 },
  { name: "Drops and marks (thin), packets an interval", unit: "", of: 3 },
];

/** Of queues whose packets are not timed, as in the kernel. */
const OF_UNTIMED_QUEUES: readonly Strip[] = [
  { name: "Delay, mean", unit: "s", of: DELAY },
  ...OF_QUEUES.slice(1),
];

/** Columns of a congestion window, which a flow without TCP has not. */
const WINDOW = 2;

const OF_A_FLOW: readonly Strip[] = [
  { name: "One-way delay p99 (thin: median)", unit: "s", of: DELAY },
  { name: "Rate received (thin: offered)", unit: "bit/s", of: RATE },
  { name: "Congestion window", unit: "B", of: WINDOW },
  { name: "Lost, packets an interval", unit: "", of: 3 },
];

/** A change: its time, and a short label. */
export interface Rule {
  at: number;
  label: string;
}

/** A level up to so many times the largest value is drawn. */
const NEAR = 4;

/** Heights in pixels: of a strip, and of the time axis. */
const PLOT = 104;
const AXIS = 32;

/** Dots only for points between gaps, which a line does not show: two at most in a column of pixels. */
const DOTS: uPlot.Series.Points = {
  show: false,
  filter: (plot, series) => {
    const [at, values] = [plot.data[0], plot.data[series] ?? []];
    const { min, max } = plot.scales.x ?? {};
    const width = ((max ?? 0) - (min ?? 0)) / plot.bbox.width;
    const found = isolated(values);
    if (found.length === 0) return null;
    return width > 0 ? columnExtremes(found, at, values, width) : found;
  },
};

/** Formats the ticks of an axis, all with one prefix of their unit: `0`, `250 ms`, `500 ms`. */
export function ticks(values: readonly number[], unit: string): string[] {
  const { factor, label } = scaleFor(Math.max(0, ...values.map(Math.abs)), unit);
  return values.map((value) =>
    value === 0 || label === ""
      ? significant(value / factor, 3)
      : `${significant(value / factor, 3)}${THIN}${label}`,
  );
}

/** Returns the series of a queue in a strip: the thick curve, and the thin one that accompanies it. */
function seriesOf(seen: QueueLifetime, ink: Ink, isFilled: boolean): uPlot.Series[] {
  const stroke = colourOf(seen, ink);
  const dash = strokeOf(seen.slot);
  return [
    {
      label: seen.queue,
      stroke,
      width: 2,
      spanGaps: false,
      ...(dash === null ? {} : { dash: [...dash] }),
      points: { ...DOTS, size: 4, width: 0, fill: stroke },
    },
    {
      stroke,
      width: 1,
      spanGaps: false,
      points: { ...DOTS, size: 4, width: 1, fill: isFilled ? stroke : "transparent" },
    },
  ];
}

export class Strips {
  readonly #key = h("p", { class: "key" });
  readonly #figures = h("div");
  readonly element = h("div", { class: "strips" }, this.#key, this.#figures);
  #plots: uPlot[] = [];
  #built = "";
  #rules: readonly Rule[] = [];
  /** Bound of the delay, and rate of the link, by strip; null if it is not known. */
  #levels: readonly (number | null)[] = [];

  /**
   * Draws samples of these queues, or of a flow if one is named; the curve of a queue that is gone stops at its last
   * sample. Of queues, `past` is what was before the samples, from a time in seconds on.
   */
  draw(
    samples: readonly Sample[],
    queues: readonly QueueLifetime[],
    flow: string,
    rules: readonly Rule[],
    ink: Ink,
    past: { columns: PastColumns | null; from: number } = { columns: null, from: 0 },
  ): void {
    const chosen: readonly QueueLifetime[] =
      flow === "" ? queues : [{ port: -1, queue: flow, slot: 0, first: 0, last: Number.POSITIVE_INFINITY }];
    const width = Math.max(280, widthOf(this.element));
    const end = samples.at(-1)?.at_s ?? 0;
    const gone = (seen: QueueLifetime): string =>
      seen.last < end ? ` until ${significant(seen.last, 4)}${THIN}s` : "";
    const strips = stripsOf(samples, flow);
    const key = JSON.stringify([
      strips,
      flow,
      chosen.map((seen) => [seen.port, seen.queue, gone(seen)]),
      ink.name,
    ]);
    this.#rules = rules;
    this.#levels = levelsOf(samples.at(-1), chosen, flow);
    if (key !== this.#built) {
      this.#built = key;
      this.#key.replaceChildren(
        ...chosen.map((seen) =>
          h(
            "span",
            { class: "entry" },
            drawSample({
              label: "",
              colour: colourOf(seen, ink),
              kind: "line",
              dash: strokeOf(seen.slot),
            }),
            flow === "" ? seen.queue : `flow ${flow}`,
            h("small", {}, gone(seen)),
          ),
        ),
      );
      this.#build(strips, chosen, ink, width);
    }
    this.#plots.forEach((plot, index) => {
      const strip = strips[index]?.of ?? index;
      if (plot.width !== width) plot.setSize({ width, height: plot.height });
      const queues = chosen.map(({ queue }) => queue);
      const data =
        flow === ""
          ? withPast(columns(samples, chosen, strip), past.columns, queues, strip, past.from)
          : flowColumns(samples, flow, strip);
      plot.root.parentElement?.setAttribute("data-points", String(data[0]?.length ?? 0));
      // Drawn at once, so that the picture knows the time that it takes.
      plot.batch(() => plot.setData(data as uPlot.AlignedData));
    });
  }

  #build(strips: readonly Strip[], chosen: readonly QueueLifetime[], ink: Ink, width: number): void {
    for (const plot of this.#plots) plot.destroy();
    this.#figures.replaceChildren();
    this.#plots = strips.map(({ name, unit }, strip) => {
      const box = h(
        "figure",
        {
          class: "strip",
          role: "img",
          "aria-label": `${name}, over the last minutes; the same numbers are in the table of queues`,
        },
        h("figcaption", {}, name, h("span", { class: "values", "aria-hidden": "true" })),
      );
      this.#figures.append(box);
      const last = strip === strips.length - 1;
      const axis = {
        stroke: ink.soft,
        grid: { stroke: ink.grid, width: 1 },
        ticks: { stroke: ink.grid, width: 1 },
      };
      return new uPlot(
        {
          width,
          height: last ? PLOT + AXIS : PLOT,
          series: [{}, ...chosen.flatMap((seen) => seriesOf(seen, ink, strip === RATE))],
          legend: { show: false },
          cursor: { sync: { key: "lockgate" }, drag: { x: false, y: false } },
          scales: {
            x: { time: false },
            y: {
              range: (plot, low, high) => [
                Math.min(0, low ?? 0),
                Math.max(
                  strip === RATE ? rateLimit(plot, high ?? 0) : (high ?? 0),
                  strip === DELAY ? 1e-4 : 1,
                  this.#levelNear(strip, high ?? 0) ?? 0,
                ) * 1.05,
              ],
            },
          },
          axes: [
            // One time axis, below all strips.
            {
              ...axis,
              size: last ? AXIS : 8,
              values: (_, splits) => splits.map((split) => (last ? `${Number(split.toFixed(2))} s` : "")),
            },
            { ...axis, size: 78, space: 24, values: (_, splits) => ticks(splits, unit) },
          ],
          hooks: {
            draw: [
              (plot) => this.#drawRules(plot, ink, strip === 0),
              (plot) => this.#drawLevel(plot, ink, strip, unit),
            ],
            setCursor: [(plot) => this.#sayValues(plot, box, unit, strip === 0)],
          },
        },
        [[]],
        box,
      );
    });
  }

  /** Writes the values under the cross-hair beside the strip's name; at the first strip the time too. */
  #sayValues(plot: uPlot, box: HTMLElement, unit: string, timed: boolean): void {
    const values = box.querySelector(".values");
    if (!values) return;
    const index = plot.cursor.idx ?? null;
    if (index === null || plot.cursor.left === undefined || plot.cursor.left < 0) {
      values.textContent = "";
      return;
    }
    const at = plot.data[0][index];
    const parts: string[] = timed && at !== undefined ? [`${at.toFixed(2)}${THIN}s`] : [];
    for (let series = 1; series < plot.series.length; series += 2) {
      const [main, other] = [plot.data[series]?.[index] ?? null, plot.data[series + 1]?.[index] ?? null];
      if (main === null && other === null) continue;
      const words =
        other === null ? quantity(main, unit) : `${quantity(main, unit)} (${quantity(other, unit)})`;
      parts.push(`${String(plot.series[series]?.label ?? "")} ${words}`);
    }
    values.textContent = parts.join("   ");
  }

  /** Returns the level of a strip, if it is not far beyond the curves. */
  #levelNear(strip: number, high: number): number | null {
    const level = this.#levels[strip] ?? null;
    return level !== null && level <= NEAR * high ? level : null;
  }

  /** Draws the bound of the delay, or the rate of the link, as a line with its number. */
  #drawLevel(plot: uPlot, ink: Ink, strip: number, unit: string): void {
    const level = this.#levels[strip] ?? null;
    if (level === null || level > (plot.scales["y"]?.max ?? 0)) return;
    const { ctx, bbox } = plot;
    const y = plot.valToPos(level, "y", true);
    const words = strip === DELAY ? `bound ${quantity(level, unit)}` : `rate ${quantity(level, unit)}`;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = strip === DELAY ? ink.bad : ink.soft;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = y > bbox.top + 16 * devicePixelRatio ? "bottom" : "top";
    ctx.fillText(words, bbox.left + bbox.width - 4 * devicePixelRatio, y);
    ctx.restore();
  }

  #drawRules(plot: uPlot, ink: Ink, labelled: boolean): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ink.warn;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { at } of this.#rules) {
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (labelled) this.#drawLabels(plot, ink);
    ctx.restore();
  }

  /** Draws labels beside the rules, on the page's background colour because curves pass below them. */
  #drawLabels(plot: uPlot, ink: Ink): void {
    const { ctx, bbox } = plot;
    const xs = this.#rules.map(({ at }) => plot.valToPos(at, "x"));
    ctx.setLineDash([]);
    ctx.font = `600 ${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.strokeStyle = ink.page;
    ctx.fillStyle = ink.text;
    for (const { index, text, ends } of placeLabels(
      this.#rules.map(({ label }) => label),
      xs,
      bbox.width / devicePixelRatio,
    )) {
      ctx.textAlign = ends ? "right" : "left";
      const x = bbox.left + ((xs[index] as number) + (ends ? -4 : 4)) * devicePixelRatio;
      ctx.strokeText(text, x, bbox.top + 2 * devicePixelRatio);
      ctx.fillText(text, x, bbox.top + 2 * devicePixelRatio);
    }
  }
}

/** Returns the strips of the queues, or of a flow if one is named. */
function stripsOf(samples: readonly Sample[], flow: string): readonly Strip[] {
  if (flow === "") return isUntimed(samples.at(-1)) ? OF_UNTIMED_QUEUES : OF_QUEUES;
  const isWindowed = samples.some(({ flows }) => flows.find(({ name }) => name === flow)?.cwnd_bytes);
  return isWindowed ? OF_A_FLOW : OF_A_FLOW.filter(({ of }) => of !== WINDOW);
}

/** True if delays of queues are known as means alone. */
function isUntimed(sample: Sample | undefined): boolean {
  const queues = (sample?.ports ?? []).flatMap((port) => port.queues);
  return (
    queues.every((queue) => queue.sojourn_p99_s === null) &&
    queues.some((queue) => queue.sojourn_mean_s !== null)
  );
}

/** Returns the bound of the delay and the rate of the link of what is shown, by strip. */
function levelsOf(
  sample: Sample | undefined,
  chosen: readonly QueueLifetime[],
  flow: string,
): (number | null)[] {
  if (flow !== "") return [sample?.flows.find(({ name }) => name === flow)?.bound_s ?? null, null];
  const port = portAt(sample, chosen[0]?.port ?? -1);
  const bounds = (port?.queues ?? []).flatMap(({ bound_s }) => bound_s ?? []);
  return [bounds.length > 0 ? Math.min(...bounds) : null, port?.rate_bps ?? null];
}

/**
 * Returns the upper limit of the rate: at most twice the largest sent rate. The packets moved by a swap are
 * offered to the new tree at one instant, and would flatten all other curves.
 */
function rateLimit(plot: uPlot, high: number): number {
  const sent = plot.data.slice(1).filter((_, index) => index % 2 === 0);
  const most = sent.reduce(
    (most, column) =>
      (column as (number | null)[]).reduce<number>((max, value) => Math.max(max, value ?? 0), most),
    0,
  );
  return most > 0 ? Math.min(high, 2 * most) : high;
}

const colourOf = (seen: QueueLifetime, ink: Ink): string =>
  ink.series[seen.slot % ink.series.length] as string;
