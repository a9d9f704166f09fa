/**
 * Delays of all members of the groups of a large network over time: bands from the median to the largest, and the worst
 * members, which stay listed however they are later.
 */
import uPlot from "uplot";
import { h, update, widthOf } from "../dom";
import type { Sample } from "../generated/lockgate";
import type { Ink } from "../palette";
import { groupColumns } from "./columns";
import { samplesAfter } from "./feed";
import { time } from "./quantities";
import { ticks } from "./strips";

/** Height in pixels of a group's picture, without its time axis. */
const PLOT = 104;
const AXIS = 32;
/** Members listed of a group. */
const WORST = 5;
/** Widths of the curves, and the opacity of the band above each, from the median up. */
const CURVES = [
  { label: "p50", width: 2, above: "4d" },
  { label: "p95", width: 1, above: "2b" },
  { label: "p99", width: 1, above: "14" },
  { label: "max", width: 0.7, above: "00" },
];

interface Pinned {
  delay: number;
  at: number;
}

/** The worst delays of members so far. */
class Worst {
  readonly #groups = new Map<string, Map<string, Pinned>>();
  #last = -1;

  /** Adds the samples that are new since the last call. */
  take(samples: readonly Sample[]): void {
    for (const sample of samplesAfter(samples, this.#last)) {
      this.#last = sample.number;
      const delays = new Map(sample.flows.map((flow) => [flow.name, flow.owd_p99_s]));
      for (const group of sample.groups ?? []) {
        const known = this.#groups.get(group.name) ?? new Map<string, Pinned>();
        this.#groups.set(group.name, known);
        for (const name of group.worst) {
          const delay = delays.get(name) ?? null;
          if (delay !== null && delay > (known.get(name)?.delay ?? 0))
            known.set(name, { delay, at: sample.at_s });
        }
        const kept = [...known].sort(([, a], [, b]) => b.delay - a.delay).slice(0, WORST);
        this.#groups.set(group.name, new Map(kept));
      }
    }
  }

  /** Returns the worst members of a group, the worst first. */
  of(group: string): [name: string, pinned: Pinned][] {
    return [...(this.#groups.get(group) ?? [])];
  }
}

export class Bands {
  readonly #figures = h("div");
  readonly element = h("section", { class: "bands", "aria-label": "Delay of all members", hidden: true });
  readonly worst = new Worst();
  #plots: { group: string; plot: uPlot; now: HTMLElement; list: HTMLElement }[] = [];
  #built = "";

  /** `open` shows a flow by its name. */
  constructor(readonly open: (flow: string) => void) {
    this.element.append(h("h2", {}, "Delay of all members (p50, p95, p99, max)"), this.#figures);
    this.#figures.addEventListener("click", (event) => {
      const name = (event.target as HTMLElement).closest("button")?.dataset["flow"];
      if (name !== undefined) this.open(name);
    });
  }

  /** Draws the samples of a window of time. */
  draw(samples: readonly Sample[], ink: Ink): void {
    const groups = samples.at(-1)?.groups ?? [];
    this.element.hidden = groups.length === 0;
    if (groups.length === 0) return;
    const width = Math.max(280, widthOf(this.element));
    const key = JSON.stringify([groups.map(({ name }) => name), ink.name]);
    if (key !== this.#built) {
      this.#built = key;
      this.#build(
        groups.map(({ name }) => name),
        ink,
        width,
      );
    }
    for (const { group, plot, now, list } of this.#plots) {
      if (plot.width !== width) plot.setSize({ width, height: plot.height });
      // Drawn at once, so that the picture knows the time that it takes.
      plot.batch(() => plot.setData(groupColumns(samples, group) as uPlot.AlignedData));
      const state = groups.find(({ name }) => name === group);
      now.textContent = state
        ? ` ${state.receiving} of ${state.members} receive: p50 ${time(state.owd_p50_s)}, p99 ${time(state.owd_p99_s)}, max ${time(state.owd_max_s)}; ${state.lost_packets} lost`
        : "";
      update(
        list,
        this.worst
          .of(group)
          .map(([name, { delay, at }]) =>
            h(
              "button",
              { type: "button", class: "quiet", "data-flow": name, title: `Show ${name} over time` },
              `${name} ${time(delay)} at ${at.toFixed(1)} s`,
            ),
          ),
      );
    }
  }

  #build(groups: readonly string[], ink: Ink, width: number): void {
    for (const { plot } of this.#plots) plot.destroy();
    this.#figures.replaceChildren();
    this.#plots = groups.map((group, place) => {
      const stroke = ink.series[place % ink.series.length] as string;
      const [now, list] = [h("span", { class: "values" }), h("p", { class: "worst" })];
      const box = h(
        "figure",
        {
          class: "strip",
          role: "img",
          "aria-label": `${group}: delay of half, 95 %, 99 % and all of the members over time`,
        },
        h("figcaption", {}, group, now),
      );
      const last = place === groups.length - 1;
      const axis = {
        stroke: ink.soft,
        grid: { stroke: ink.grid, width: 1 },
        ticks: { stroke: ink.grid, width: 1 },
      };
      this.#figures.append(box, list);
      const plot = new uPlot(
        {
          width,
          height: last ? PLOT + AXIS : PLOT,
          series: [
            {},
            ...CURVES.map(({ label, width }) => ({ label, stroke, width, points: { show: false } })),
          ],
          bands: CURVES.slice(0, -1).map(({ above }, at) => ({
            series: [at + 2, at + 1] as uPlot.Band.Bounds,
            fill: `${stroke}${above}`,
          })),
          legend: { show: false },
          cursor: { sync: { key: "lockgate" }, drag: { x: false, y: false } },
          scales: {
            x: { time: false },
            y: { range: (_, __, high) => [0, 1.05 * Math.max(high ?? 0, 1e-4)] },
          },
          axes: [
            {
              ...axis,
              size: last ? AXIS : 8,
              values: (_, splits) => splits.map((split) => (last ? `${Number(split.toFixed(2))} s` : "")),
            },
            { ...axis, size: 78, space: 24, values: (_, splits) => ticks(splits, "s") },
          ],
        },
        [[]],
        box,
      );
      return { group, plot, now, list };
    });
  }
}
