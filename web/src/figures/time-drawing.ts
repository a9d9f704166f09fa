/** Figures over time: panels over one time axis, with every change as a rule, and bounds as lines. */
import type { EChartsOption } from "echarts";
import { type Extent, extent, pointed, timeAxis, yAxis } from "../axis";
import { base, tooltip } from "../chart";
import { isolated, nearest, nearestValue, type Point, reduced } from "../decimate";
import { eventLabel, eventText, type Placed, placeLabels } from "../events";
import type { Silhouette } from "../figure";
import { quantity, shortened, significant } from "../format";
import type { Run } from "../generated/lockgate";
import type { Ink } from "../palette";
import { flowOf, queueSeriesOf, type View } from "../selection";
import { runName, styleOf } from "../style";
import { placeOf, type TipRow, tip } from "../tooltip";
import { boundLook, capacityLook, carrier } from "./carrier";
import { endNames, levelAt, type NamedPanel } from "./end-names";
import { queueStyles } from "./queues";
import { LABELLED, type Rule, rulesOf } from "./rules";
import { type BoundLine, boundsOf, reaching } from "./time-bounds";
import {
  type Backlog,
  type Curve,
  DELAY,
  delayOf,
  hasGaps,
  type Panel,
  RATE,
  recordedCurves,
} from "./time-curves";

const LEFT = 58;
const RIGHT = 22;
/** Width to the right of the plots in which the curves are named, if there is room. */
const NAMES = 112;
/** Least width of a figure whose curves are named at their ends. */
const NAMED_FROM = 640;
/** Part of its opacity that a curve keeps while another flow is lit. */
const FAINT = 0.18;
/** Curves wider than this are of flows that an expectation judges. */
const JUDGED = 2;
/** Largest number of buckets of a curve; each keeps its extremes, so that no spike is lost. */
const BUCKETS = 640;
/** The same while the window moves, and of the silhouette of the whole run. */
const MOVING = 160;
/** Curves at most so opaque accompany another one: the rate offered, the 99th percentile, the greatest queue. */
const THIN = 0.5;
/**
 * Least distance in pixels between two points of a rate: means over several intervals are readable, single
 * ones are all spikes.
 */
const MEAN = 14;
/** The rate of a link up to so many times the largest rate is drawn: beyond, the curves would lie on the axis. */
const NEAR = 2;
/** Distance in pixels around the pointer within which the tooltip reads a dot. */
const REACH = 4;
/**
 * Least and largest surplus of a dot's diameter over the width of its curve's line, in pixels. A single dot is
 * easy to see; dense dots are about as thin as a line.
 */
const DOT = [0.4, 2.2] as const;

/** Series of a curve: its points, and its unchanging look. */
interface Drawn extends Record<string, unknown> {
  id: string;
  data: Point[];
  symbolSize?: number;
}

/** Returns the sum of columns of points at the same places. */
const sumOf = (columns: readonly Point[][]): Point[] =>
  (columns[0] ?? []).map(
    ([x], at): Point => [x, columns.reduce((sum, column) => sum + (column[at]?.[1] ?? 0), 0)],
  );

/** Returns the series of counts, a tick for each that is not zero. */
function tick(curve: Curve, data: readonly Point[], place: object): Drawn {
  return {
    ...place,
    id: curve.id,
    type: "bar",
    barWidth: 1.5,
    barGap: "-100%",
    barMinHeight: 4,
    itemStyle: { color: curve.colour, opacity: 0.75 * curve.opacity },
    data: data.filter(([, y]) => y !== null && y > 0),
  };
}

export class TimeDrawing {
  readonly height: number;
  readonly rules: Rule[];
  /** Bounds of expectations on the shown flows, by panel. */
  readonly #bounds: BoundLine[];
  readonly #tops: number[] = [];
  #width = 900;
  #cached: { ink: Ink; curves: (Curve & { gaps: boolean })[] } | null = null;
  #isNear: boolean | null = null;
  /** Seconds a pixel in the window drawn last. */
  #pixel = 0;

  constructor(
    readonly view: View,
    readonly panels: readonly Panel[],
    readonly queues: readonly string[],
    readonly backlog: Backlog,
    readonly range: readonly [number, number],
    /** True for a picture that is soon replaced: with few points, and without thin curves. */
    readonly isCoarse = false,
  ) {
    this.rules = this.events();
    this.#bounds = this.bounds();
    // A line above the first axis is reserved for the labels of rules.
    let top = this.rules.length > 0 ? 44 : 24;
    for (const panel of panels) {
      this.#tops.push(top);
      top += panel.height + 27;
    }
    this.height = top + 14;
  }

  /** Returns the events that are rules. */
  protected events(): Rule[] {
    return rulesOf(this.view);
  }

  /** Returns the drawing of a window, by default of the whole range. */
  option(ink: Ink, width: number, window = this.range): EChartsOption {
    this.#width = width;
    return {
      ...base(ink),
      ...this.cut(ink, window),
      grid: this.panels.map((panel, index) => ({
        left: LEFT,
        right: this.#right,
        top: this.#tops[index] as number,
        height: panel.height,
        outerBoundsMode: "none",
      })),
      axisPointer: {
        link: [{ xAxisIndex: "all" }],
        lineStyle: { color: ink.soft, width: 1 },
        triggerTooltip: true,
      },
      tooltip: {
        ...tooltip(ink),
        trigger: "axis",
        formatter: (parameters: unknown) => this.#tip(ink, parameters),
      } as object,
    } as EChartsOption;
  }

  /** Width to the right of the plots. */
  get #right(): number {
    const names = this.#width >= NAMED_FROM && this.view.runs.length === 1 && this.view.flows.length > 1;
    return names ? NAMES : RIGHT;
  }

  /** Returns the delays of the whole run, or else its rates, with its changes, in the margins of the plots. */
  silhouette(ink: Ink, width: number): Silhouette {
    this.#width = width;
    const curves = this.#all(ink);
    const drawn = [DELAY, RATE]
      .map((panel) => curves.filter((curve) => curve.panel === panel && curve.width >= 1))
      .find((found) => found.length > 0);
    return {
      curves: (drawn ?? []).map(({ x, y, colour }) => ({
        colour,
        points: reduced(x, y).extremes(MOVING, this.range),
      })),
      from: this.#warmup,
      rules: this.rules.map((rule) => rule.at_s),
      left: LEFT,
      right: this.#right,
    };
  }

  /**
   * Rate of the shown port's link, in bits per second; null for several runs, of figures without rates, and of a line
   * whose rate moves: a rule would be beside it.
   */
  protected get capacity(): number | null {
    const { runs, port } = this.view;
    const [shown] = runs;
    if (!shown || runs.length > 1) return null;
    // Both are empty if the rate never changed.
    const { rate_bps = [], capacity_bps = [] } =
      shown.run.ports.find(({ name }) => name === port)?.rates ?? {};
    const moves = rate_bps.length + capacity_bps.length > 0;
    return moves ? null : (shown.run.summary.ports[port]?.rate_bps ?? null);
  }

  /** Whether the line at the rate of the link is near enough to the rates to be drawn. */
  get hasCapacity(): boolean {
    this.#isNear ??= this.#hasCapacity(this.capacity);
    return this.#isNear;
  }

  #hasCapacity(capacity: number | null): boolean {
    if (capacity === null) return false;
    const { run } = this.view.runs[0] as { run: Run };
    const flows = this.view.flows.flatMap((flow) => flowOf(run, flow)?.series ?? []);
    const queues = this.queues.flatMap((name) => queueSeriesOf(run, this.view.port, name) ?? []);
    // As they are drawn: a burst of one interval is no rate.
    const means = [
      ...flows.map(({ time_s, received_bps }) => reduced(time_s, received_bps)),
      ...queues.map(({ time_s, sent_bps }) => reduced(time_s, sent_bps)),
    ].map((curve) => curve.means(this.#width / MEAN, this.range).map(([, rate]) => rate));
    return NEAR * (extent(means)?.[1] ?? 0) >= capacity;
  }

  get #warmup(): number {
    return this.view.runs[0]?.run.summary.warmup_s ?? 0;
  }

  /** Returns the parts that depend on the window: its points, and vertical axes that fit them. */
  cut(ink: Ink, window: readonly [number, number], moving = false): EChartsOption {
    const curves = this.#all(ink);
    this.#pixel = (window[1] - window[0]) / Math.max(100, this.#width - LEFT - this.#right);
    const points = curves.map((curve) =>
      this.panels[curve.panel]?.mean === true
        ? reduced(curve.x, curve.y).means(this.#width / MEAN, window)
        : reduced(curve.x, curve.y).extremes(moving || this.isCoarse ? MOVING : BUCKETS, window),
    );
    const ranges = this.panels.map((_, index) => {
      const own = points.filter((_, at) => curves[at]?.panel === index);
      const stacked = points.filter(
        (_, at) => curves[at]?.panel === index && curves[at]?.stack !== undefined,
      );
      return this.#range(index, stacked.length > 1 ? [...own, sumOf(stacked)] : own, window);
    });
    const axes = this.panels.map(({ name, unit, log, height }, index) => ({
      ...yAxis({
        name,
        unit,
        range: ranges[index]?.range ?? null,
        log,
        ink,
        whole: unit === "",
        parts: height > 140 ? 5 : height > 100 ? 4 : 2,
      }),
      gridIndex: index,
    }));
    const drawn = curves.flatMap((curve, index) => {
      // The thin ones, which only accompany another, are left out while the window or a value moves.
      if ((moving || this.isCoarse) && curve.opacity <= THIN) return [];
      return this.#series(curve, points[index] ?? [], this.panels[curve.panel]?.log === true);
    });
    const [from, to] = window;
    // The library compares every key that it is given: of a moving window it gets only what moves.
    if (moving)
      return {
        xAxis: this.panels.map(() => ({ min: from, max: to })),
        yAxis: axes.map(({ min, max, interval, name, axisLabel }) => ({
          min,
          max,
          interval,
          name,
          axisLabel: { formatter: axisLabel.formatter },
        })),
        series: [
          ...this.panels.map((_, index) => ({ id: `rules-${index}` })),
          ...drawn.map(({ id, data, symbolSize }) =>
            symbolSize === undefined ? { id, data } : { id, data, symbolSize },
          ),
        ],
      } as EChartsOption;
    const last = this.panels.length - 1;
    return {
      xAxis: this.panels.map((_, panel) =>
        timeAxis({ panel, isLast: panel === last, window, range: this.range, ink }),
      ),
      yAxis: axes,
      series: [
        ...this.panels.map((_, index) => this.#carrier(ink, index, window, ranges[index]?.spike ?? null)),
        ...this.panels.map((_, index) => endNames(this.#named(ink, index, window, curves, points))),
        ...this.#excess(ink, curves, points),
        ...drawn,
      ],
    } as EChartsOption;
  }

  /**
   * Returns the range of a panel's axis, which fits the measured part and the bounds, and the largest value of the
   * warm-up if it is cut: its size is written beside it.
   */
  #range(
    panel: number,
    columns: readonly Point[][],
    window: readonly [number, number],
  ): { range: Extent; spike: number | null } {
    const warmup = this.#warmup;
    const measured = window[1] > warmup ? warmup : window[0];
    const values = columns.map((column) => column.filter(([x]) => x >= measured).map((point) => point[1]));
    const bounds = this.#bounds.filter((bound) => bound.panel === panel).map((bound) => bound.value);
    if (panel === RATE && this.capacity !== null && this.hasCapacity) bounds.push(this.capacity);
    const range = reaching(extent(values, this.panels[panel]?.log === true), bounds);
    const early = extent(columns.map((column) => column.map((point) => point[1])));
    return { range, spike: early && range && early[1] > 1.25 * range[1] ? early[1] : null };
  }

  /** Returns the curves with those of other flows faint; those of queues too, if a shown one is called as a lit flow. */
  light(ink: Ink, flows: readonly string[] | null): EChartsOption {
    const hasQueue = this.queues.some((name) => flows?.includes(name));
    const series = this.#all(ink).flatMap((curve) => {
      const isKept =
        flows === null || flows.includes(curve.of) || (!hasQueue && !this.view.flows.includes(curve.of));
      const opacity = curve.opacity * (isKept ? 1 : FAINT);
      const ids = [
        curve.id,
        ...(curve.gaps ? [`${curve.id} dots`] : []),
        ...(curve.mark === null ? [] : [`${curve.id} marks`]),
      ];
      return ids.map((id) => ({ id, lineStyle: { opacity }, itemStyle: { opacity } }));
    });
    return { series } as EChartsOption;
  }

  /** Returns the names of a panel's curves, if there is room for them beside it. */
  #named(
    ink: Ink,
    panel: number,
    window: readonly [number, number],
    curves: readonly Curve[],
    points: readonly Point[][],
  ): NamedPanel {
    const top = (this.#tops[panel] ?? 0) + 2;
    const bottom = top + (this.panels[panel]?.height ?? 0) - 4;
    const names = curves.flatMap((curve, index) => {
      const value = levelAt(points[index] ?? [], window);
      const isNamed = this.#right === NAMES && curve.panel === panel && (curve.name ?? "") !== "";
      if (!isNamed || value === null) return [];
      const weight = curve.width > JUDGED ? 1 : 0;
      return [{ text: shortened(curve.name ?? "", 13), value, colour: curve.colour, weight }];
    });
    return { index: panel, top, bottom, end: window[1], names, ink };
  }

  /** Returns the rules and bounds of a panel, with the shading of its warm-up. */
  #carrier(ink: Ink, panel: number, window: readonly [number, number], spike: number | null): object {
    const early = spike === null ? "" : `up to ${quantity(spike, this.panels[panel]?.unit ?? "")}`;
    const placed = new Map(panel === 0 ? this.#labels(window).map((label) => [label.index, label]) : []);
    const rules = this.rules.map((rule, index) => {
      const label = placed.get(index);
      const colour = rule.kind === "expect" ? { color: ink.bad } : {};
      return {
        xAxis: rule.at_s,
        name: label?.text ?? "",
        lineStyle: colour,
        label: { ...colour, show: label !== undefined, align: label?.ends === true ? "right" : "left" },
      };
    });
    return carrier({
      ink,
      panel,
      lines: [...this.#boundLines(ink, panel, window), ...rules],
      opacity: this.rules.length > LABELLED ? 0.25 : 0.8,
      warmup: this.#warmup,
      words: panel === 0 ? "warm-up" : early,
    });
  }

  /**
   * Returns the lines of the bounds of a panel, with their numbers; that of a part of the run lies over this part. That
   * of the rates has the link's rate too.
   */
  #boundLines(ink: Ink, panel: number, window: readonly [number, number]): object[] {
    const { capacity } = this;
    const line =
      panel === RATE && capacity !== null && this.hasCapacity
        ? [{ ...capacityLook(ink, `link ${quantity(capacity, "bit/s")}`), yAxis: capacity }]
        : [];
    const bounds = this.#bounds
      .filter((bound) => bound.panel === panel)
      .flatMap((bound): object[] => {
        const look = boundLook(ink, bound.words);
        if (bound.during === null) return [{ ...look, yAxis: bound.value }];
        // Cut to the window: the label of a line whose end is outside would not be drawn.
        const [from, to] = [Math.max(window[0], bound.during[0]), Math.min(window[1], bound.during[1])];
        if (from >= to) return [];
        return [[{ ...look, coord: [from, bound.value] }, { coord: [to, bound.value] }]];
      });
    return [...line, ...bounds];
  }

  /** Returns the areas of delays above their bounds: an invisible line at the bound, and the excess stacked on it. */
  #excess(ink: Ink, curves: readonly Curve[], points: readonly Point[][]): Drawn[] {
    if (this.panels[DELAY]?.log === true || this.panels[DELAY]?.name !== "One-way delay") return [];
    const place = { xAxisIndex: DELAY, yAxisIndex: DELAY, silent: true, type: "line", showSymbol: false };
    return this.#bounds.flatMap((bound, at): Drawn[] => {
      const what = bound.isTail ? "p99" : "p50";
      const [from, to] = bound.during ?? this.range;
      // One area for all of its flows: two over each other would look like twice the pain.
      const most = new Map<number, number | null>();
      for (const flow of bound.below) {
        const of = curves.findIndex(
          (curve) => curve.panel === DELAY && curve.of === flow && curve.id.endsWith(` ${what} ${flow}`),
        );
        for (const [x, y] of points[of] ?? []) {
          if (x < Math.max(from, this.#warmup) || x > to) continue;
          const before = most.get(x) ?? null;
          most.set(x, y === null ? before : Math.max(y, before ?? y));
        }
      }
      const inside = [...most].sort(([a], [b]) => a - b);
      if (!inside.some(([, y]) => y !== null && y > bound.value)) return [];
      const stack = { ...place, stack: `excess ${at}`, lineStyle: { width: 0, opacity: 0 } };
      const excess = inside.map(([x, y]): Point => [x, y === null ? null : Math.max(0, y - bound.value)]);
      return [
        {
          ...stack,
          id: `bound ${at}`,
          data: inside.map(([x, y]): Point => [x, y === null ? null : bound.value]),
        },
        { ...stack, id: `excess ${at}`, data: excess, areaStyle: { color: ink.bad, opacity: 0.28 } },
      ];
    });
  }

  /** True if a delay is beyond its bound, which the figure shades. */
  get exceeds(): boolean {
    if (this.panels[DELAY]?.log === true || this.panels[DELAY]?.name !== "One-way delay") return false;
    return this.#bounds.some(({ below, isTail, value }) =>
      below.some((flow) =>
        this.view.runs.some(({ run }) => {
          const series = flowOf(run, flow)?.series;
          const delays = (isTail ? series?.owd_p99_s : series?.owd_p50_s) ?? [];
          return delays.some((delay, at) => {
            const isCounted = (series?.time_s[at] ?? 0) >= this.#warmup;
            return isCounted && delay !== null && delay > value;
          });
        }),
      ),
    );
  }

  /** Returns the labels above the rules of a window, as far as there is room. */
  #labels(window: readonly [number, number]): Placed[] {
    if (this.rules.length > LABELLED) return [];
    const width = Math.max(100, this.#width - LEFT - this.#right);
    return placeLabels(
      this.rules.map(eventLabel),
      this.rules.map((rule) => ((rule.at_s - window[0]) / (window[1] - window[0])) * width),
      width,
    );
  }

  /** Returns the bounds of expectations that the panels show. */
  protected bounds(): BoundLine[] {
    return boundsOf(this.view);
  }

  /** Returns the curves of all panels. */
  protected curves(ink: Ink): Curve[] {
    const lost = this.panels.length > 3;
    return recordedCurves({ view: this.view, queues: this.queues, backlog: this.backlog, lost }, ink);
  }

  /** Returns the curves with what does not depend on the window, computed once for an ink. */
  #all(ink: Ink): (Curve & { gaps: boolean })[] {
    if (this.#cached?.ink !== ink) {
      const curves = this.curves(ink).map((curve) => ({
        ...curve,
        gaps: hasGaps(curve, this.panels[curve.panel]?.log === true),
      }));
      this.#cached = { ink, curves };
    }
    return this.#cached.curves;
  }

  #series(curve: Curve & { gaps: boolean }, points: Point[], log: boolean): Drawn[] {
    const data = log ? points.map(([x, y]): Point => [x, y !== null && y > 0 ? y : null]) : points;
    const place = { xAxisIndex: curve.panel, yAxisIndex: curve.panel, silent: true };
    if (this.panels[curve.panel]?.ticks === true) return [tick(curve, data, place)];
    const line = {
      ...place,
      id: curve.id,
      name: curve.id,
      type: "line",
      data,
      showSymbol: false,
      lineStyle: {
        color: curve.colour,
        width: curve.width,
        opacity: curve.opacity,
        type: curve.dash ?? "solid",
        join: "round",
      },
      itemStyle: { color: curve.colour },
      ...(curve.area ? { areaStyle: { color: curve.colour, opacity: 0.16 } } : {}),
      ...(curve.stack === undefined ? {} : { stack: curve.stack }),
    };
    const lines = curve.gaps ? [line, this.#dots(curve, data, place)] : [line];
    if (curve.mark === null) return lines;
    const marked = data.filter((point) => point[1] !== null);
    const step = Math.max(1, Math.floor(marked.length / 12));
    return [
      ...lines,
      {
        ...place,
        id: `${curve.id} marks`,
        type: "scatter",
        symbol: curve.mark,
        symbolSize: 7,
        itemStyle: { color: curve.colour, opacity: curve.opacity },
        data: marked.filter((_, index) => index % step === Math.floor(step * curve.phase)),
      },
    ];
  }

  /** Returns the dots of points between gaps, hollow if a dashed line stands for a mode. */
  #dots(curve: Curve, points: readonly Point[], place: object): Drawn {
    const data = isolated(points.map(([, y]) => y)).map((index) => points[index] as Point);
    const spacing = data.reduce(
      (least, [x], index) => Math.min(least, x - (data[index - 1]?.[0] ?? -Infinity)),
      Infinity,
    );
    const surplus = (0.75 * spacing) / this.#pixel - curve.width;
    const size = curve.width + Math.min(DOT[1], Math.max(DOT[0], surplus));
    const { colour, opacity } = curve;
    const isHollow = curve.dash !== null && this.view.mixed;
    return {
      ...place,
      id: `${curve.id} dots`,
      type: "scatter",
      symbol: "circle",
      symbolSize: isHollow ? size - 1 : size,
      // One path for all dots instead of an element each. The library fails to make such a path of no dots.
      large: true,
      largeThreshold: 1,
      itemStyle: isHollow
        ? { color: "transparent", borderColor: colour, borderWidth: 1, opacity }
        : { color: colour, opacity },
      data,
    };
  }

  #tip(ink: Ink, parameters: unknown): HTMLElement | string {
    const at = placeOf(parameters);
    if (!Number.isFinite(at)) return "";
    const near = this.rules.filter(
      (rule) => Math.abs(rule.at_s - at) <= (this.range[1] - this.range[0]) / 100,
    );
    const note = near.slice(0, 3).map(eventText).join("; ");
    return tip(`${significant(at, 6)} s`, this.heads(), this.rows(ink, at).slice(0, 24), note);
  }

  /** Returns the headings of the tooltip's columns. */
  protected heads(): string[] {
    return ["", "offered", "received", "p50", "p99", "lost"];
  }

  /** Returns the tooltip's rows for a time. */
  protected rows(ink: Ink, at: number): TipRow[] {
    const rows: TipRow[] = [];
    const styles = queueStyles(this.view, this.queues, ink);
    for (const shown of this.view.runs) {
      if (this.view.runs.length > 1) rows.push({ cells: [runName(shown.run)] });
      for (const name of this.view.flows) {
        const series = flowOf(shown.run, name)?.series;
        const index = series ? nearest(series.time_s, at) : -1;
        if (!series || index < 0) continue;
        const delays = delayOf(series);
        const delay = nearestValue(series.time_s, delays, at, REACH * this.#pixel);
        rows.push({
          colour: styleOf(this.view, ink, shown, name).colour,
          cells: [
            name,
            pointed(series.offered_bps[index], "bit/s"),
            pointed(series.received_bps[index], "bit/s"),
            pointed(delays[delay], "s"),
            pointed(series.owd_p99_s[delay], "s"),
            pointed(series.lost_packets[index], ""),
          ],
        });
      }
      for (const name of this.queues) {
        const series = queueSeriesOf(shown.run, this.view.port, name);
        const index = series ? nearest(series.time_s, at) : -1;
        if (!series || index < 0) continue;
        const peak = series.peak_packets[index];
        rows.push({
          colour: styles(shown, name).colour,
          cells: [
            `queue ${name}`,
            `${pointed(series.backlog_packets[index], "")} p`,
            peak === null || peak === undefined ? "" : `max ${peak} p`,
          ],
        });
      }
    }
    return rows;
  }
}
