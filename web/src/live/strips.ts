/** The four strips over one axis of time: rate, delay, backlog, drops; changes as vertical rules through all of them. */
import uPlot from "uplot";
import { h } from "../dom";
import type { Ink } from "../palette";
import { type Chosen, columns } from "./columns";
import type { Sample } from "./feed";

const NAMES = ["Rate, bit/s (thin: offered)", "Delay p99, s (dashed: median)", "Backlog, packets (dashed: maximum)", "Drops and marks (dashed), packets an interval"];

/** Heights in pixels: of a strip, and of the axis of time. */
const PLOT = 104;
const AXIS = 32;

const short = (value: number): string => {
  for (const [scale, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]] as const) {
    if (Math.abs(value) >= scale) return `${Number((value / scale).toPrecision(3))}${prefix}`;
  }
  return "0";
};

export class Strips {
  readonly element = h("div", { class: "strips" });
  #plots: uPlot[] = [];
  #key = "";
  #rules: readonly number[] = [];

  constructor(readonly onCursor: (time: number | null) => void) {}

  /** Draws these samples of these queues. */
  draw(samples: readonly Sample[], chosen: readonly Chosen[], rules: readonly number[], ink: Ink): void {
    const width = Math.max(280, this.element.clientWidth);
    const key = JSON.stringify([chosen.map((one) => one.label), ink.name]);
    this.#rules = rules;
    if (key !== this.#key) {
      this.#key = key;
      this.#build(chosen, ink, width);
    }
    this.#plots.forEach((plot, strip) => {
      if (plot.width !== width) plot.setSize({ width, height: plot.height });
      plot.setData(columns(samples, chosen, strip) as uPlot.AlignedData);
    });
  }

  #build(chosen: readonly Chosen[], ink: Ink, width: number): void {
    for (const plot of this.#plots) plot.destroy();
    this.element.replaceChildren();
    this.#plots = NAMES.map((name, strip) => {
      const box = h("figure", { class: "strip", role: "img", "aria-label": `${name}, over the last minutes; the same numbers are in the table of queues` }, h("figcaption", {}, name));
      this.element.append(box);
      const series: uPlot.Series[] = [{}];
      chosen.forEach((one, index) => {
        const stroke = ink.series[index % ink.series.length] as string;
        series.push({ label: one.label, stroke, width: 2, spanGaps: false, points: { show: false } });
        series.push({ stroke, width: 1, spanGaps: false, points: { show: false }, ...(strip === 0 ? {} : { dash: [4, 3] }) });
      });
      const last = strip === NAMES.length - 1;
      const axis = { stroke: ink.soft, grid: { stroke: ink.grid, width: 1 }, ticks: { stroke: ink.grid, width: 1 } };
      return new uPlot(
        {
          width,
          height: last ? PLOT + AXIS : PLOT,
          series,
          legend: { show: false },
          cursor: { sync: { key: "lockgate" }, drag: { x: false, y: false } },
          scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, strip === 1 ? 1e-4 : 1) * 1.05] } },
          axes: [
            // One axis of time, below them all.
            { ...axis, size: last ? AXIS : 8, values: (_, splits) => splits.map((split) => (last ? `${Number(split.toFixed(2))} s` : "")) },
            { ...axis, size: 52, space: 24, values: (_, splits) => splits.map((split) => short(split)) },
          ],
          hooks: {
            draw: [(plot) => this.#drawRules(plot, ink)],
            setCursor: [(plot) => this.onCursor(typeof plot.cursor.idx === "number" ? (plot.data[0][plot.cursor.idx] ?? null) : null)],
          },
        },
        [[]],
        box,
      );
    });
  }

  #drawRules(plot: uPlot, ink: Ink): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ink.warn;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const at of this.#rules) {
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }
}
