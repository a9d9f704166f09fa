/** Selection of a report's flows, runs and port. Everything drawn is drawn from a `View`. */
import type { FlowData, QueueData, QueueSeriesData, QueueSummary, Run } from "./generated/lockgate";
import { COLOURS } from "./palette";
import type { Report } from "./report";

/** A shown run, with its index in the report. */
export interface ShownRun {
  run: Run;
  index: number;
}

/** Data of all figures: plain values without subscriptions. */
export interface View {
  report: Report;
  runs: ShownRun[];
  flows: string[];
  /** Number of flows that have curves and are not shown. */
  hiddenFlows: number;
  port: string;
  /** Whether runs of several modes are shown, so that modes need their strokes. */
  mixed: boolean;
  slotOf(flow: string): number;
}

/**
 * Returns whether a flow is the return direction of another or its control connection. Such flows are folded
 * by default.
 */
export function isFolded(flow: string): boolean {
  return /\/(return|control)$/.test(flow);
}

/**
 * Returns the flows that expectations name: `flow.voice.owd.p99`, and all flows of a group:
 * `group.calls.owd.p99.worst`.
 */
function expectedFlows(report: Report, names: readonly string[]): Set<string> {
  const subjects = report.runs.flatMap((run) => run.summary.expect.map((expect) => expect.that));
  return new Set(names.filter((name) => subjects.some((that) => isOfFlow(that, name))));
}

/** Returns whether an address is of this flow, of its group, or of a pattern that it matches. */
export function isOfFlow(that: string, name: string): boolean {
  const isOf = (kind: string, subject: string): boolean =>
    [subject, `"${subject}"`, `'${subject}'`].some((written) => that.startsWith(`${kind}.${written}.`));
  const group = name.replace(/\/\d+$/, "");
  return isOf("flow", name) || (group !== name && (isOf("group", group) || isOf("flow", `${group}/*`)));
}

/** Kind of a panel over time on which an expectation is judged. */
type Judged = "rate" | "delay" | "loss";

/** Returns the panel on which an expectation with this address is judged. */
export function panelOf(that: string): Judged {
  const metric = /^\w+\.(?:"[^"]*"|'[^']*'|[^.]*)\.(\w+)/.exec(that)?.[1] ?? "";
  if (metric === "throughput" || metric === "goodput") return "rate";
  return metric === "loss" || metric === "lost_packets" || metric === "rtt_loss" ? "loss" : "delay";
}

/**
 * Returns the flows with curves: those of expectations first, folded ones last, otherwise by bytes received
 * in descending order.
 */
function rankFlows(report: Report): string[] {
  const bytes = new Map<string, number>();
  const order: string[] = [];
  for (const run of report.runs) {
    for (const flow of run.flows) {
      const counted = run.summary.flows[flow.name]?.received_bytes ?? 0;
      if (!bytes.has(flow.name)) order.push(flow.name);
      bytes.set(flow.name, Math.max(bytes.get(flow.name) ?? 0, counted));
    }
  }
  const own = order.filter((name) => !isFolded(name));
  // Few enough to show all: they keep the order of the scenario.
  if (own.length <= COLOURS) return [...own, ...order.filter(isFolded)];
  const expected = expectedFlows(report, order);
  return order
    .map((name, index) => ({ name, index, bytes: bytes.get(name) ?? 0 }))
    .sort(
      (a, b) =>
        Number(expected.has(b.name)) - Number(expected.has(a.name)) ||
        Number(isFolded(a.name)) - Number(isFolded(b.name)) ||
        b.bytes - a.bytes ||
        a.index - b.index,
    )
    .map((entry) => entry.name);
}

/**
 * Returns the names of all ports, the most relevant first: that of the queue with the longest wait, which the verdict
 * names; of equal ones by drops, then by largest backlog.
 */
function rankPorts(report: Report): string[] {
  const weight = new Map<string, [wait: number, drops: number, peak: number]>();
  for (const run of report.runs) {
    for (const port of run.ports) {
      const queues = Object.values(run.summary.ports[port.name]?.queues ?? {});
      const [wait, drops, peak] = weight.get(port.name) ?? [0, 0, 0];
      weight.set(port.name, [
        Math.max(wait, ...queues.map(({ sojourn_s }) => sojourn_s.p99 ?? sojourn_s.max ?? 0)),
        drops + queues.reduce((sum, queue) => sum + queue.dropped_packets, 0),
        Math.max(peak, ...queues.map((queue) => queue.peak_backlog_packets)),
      ]);
    }
  }
  return [...weight].sort(([, a], [, b]) => b[0] - a[0] || b[1] - a[1] || b[2] - a[2]).map(([name]) => name);
}

/**
 * Returns the queues of a port in the order of its tree, each with its depth. Cycles and missing parents are
 * tolerated.
 */
export function treeOf<T extends { name: string; parent: string | null }>(
  queues: readonly T[],
): { queue: T; depth: number }[] {
  const names = new Set(queues.map((queue) => queue.name));
  const children = new Map<string | null, T[]>();
  for (const queue of queues) {
    const parent =
      queue.parent !== null && names.has(queue.parent) && queue.parent !== queue.name ? queue.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), queue]);
  }
  const rows: { queue: T; depth: number }[] = [];
  const seen = new Set<T>();
  const visit = (queue: T, depth: number): void => {
    if (seen.has(queue)) return;
    seen.add(queue);
    rows.push({ queue, depth });
    for (const child of children.get(queue.name) ?? []) visit(child, depth + 1);
  };
  for (const queue of children.get(null) ?? []) visit(queue, 0);
  for (const queue of queues) visit(queue, 0);
  return rows;
}

/** Returns the leaves, which hold the packets, in the order of the tree. */
export function leavesOf<T extends { name: string; parent: string | null }>(queues: readonly T[]): T[] {
  const rows = treeOf(queues);
  return rows.filter((row, index) => (rows[index + 1]?.depth ?? 0) <= row.depth).map((row) => row.queue);
}

export class Selection {
  ranked: string[] = [];
  ports: string[] = [];
  #shown = new Set<string>();
  #runs = new Set<number>();
  #port = "";
  #before: Set<string> | null = null;
  /** Flows of expectations, which are shown by default even if they are of a folded kind. */
  #expected: ReadonlySet<string> = new Set();
  readonly #slots = new Map<string, number>();
  readonly #listeners: (() => void)[] = [];
  readonly #lightings: ((flows: readonly string[] | null) => void)[] = [];

  constructor(public report: Report) {
    this.#begin(report);
  }

  /** Shows another report. What was chosen stays, if it has the same flows and ports. */
  replace(report: Report): void {
    const [flows, port] = [this.chosen, this.chosenPort];
    const same = (before: readonly string[], after: readonly string[]): boolean =>
      before.length === after.length && before.every((name) => after.includes(name));
    const before = { ranked: this.ranked, ports: this.ports };
    const slots = new Map(this.#slots);
    this.#begin(report);
    if (same(before.ranked, this.ranked)) {
      // The order of the first report stays too, and with it the colours: another result may rank otherwise.
      this.ranked = before.ranked;
      if (flows !== null) this.#shown = new Set(flows);
      else this.#shown = new Set(this.#first());
      for (const [flow, slot] of slots) if (this.#shown.has(flow)) this.#slots.set(flow, slot);
    }
    if (same(before.ports, this.ports) && before.ports.length > 0) {
      this.ports = before.ports;
      this.#port = port ?? before.ports[0] ?? "";
    }
    this.#changed();
  }

  #begin(report: Report): void {
    this.report = report;
    this.#before = null;
    this.#slots.clear();
    this.ranked = rankFlows(report);
    this.#expected = expectedFlows(report, this.ranked);
    this.ports = rankPorts(report);
    this.#shown = new Set(this.#first());
    this.#runs = new Set(report.runs.map((_, index) => index));
    this.#port = this.ports[0] ?? "";
    this.#paint();
  }

  /** Returns the flows shown by default. */
  #first(): string[] {
    const { variants } = this.report;
    // With many variants one flow is shown: that of the first metric of a flow.
    if (variants) {
      const named = (path: string): string | undefined =>
        this.ranked.find((name) =>
          [`flow.${name}.`, `flow."${name}".`].some((start) => path.startsWith(start)),
        );
      const found = variants.metrics.map(({ path }) => named(path)).find((name) => name !== undefined);
      return [found ?? this.ranked[0] ?? []].flat();
    }
    const own = this.ranked.filter((name) => !isFolded(name) || this.#expected.has(name));
    return (own.length > 0 ? own : this.ranked).slice(0, COLOURS);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  onLight(listener: (flows: readonly string[] | null) => void): void {
    this.#lightings.push(listener);
  }

  /** Makes the curves of shown flows that are not among these faint for a while; null ends it. */
  light(flows: readonly string[] | null): void {
    const isSeen = flows === null || flows.some((flow) => this.#shown.has(flow));
    for (const listener of this.#lightings) listener(isSeen ? flows : null);
  }

  isShown(flow: string): boolean {
    return this.#shown.has(flow);
  }

  runShown(index: number): boolean {
    return this.#runs.has(index);
  }

  get full(): boolean {
    return this.#shown.size >= COLOURS;
  }

  /** Shows exactly these flows, up to the number of colours. */
  showFlows(flows: readonly string[]): void {
    this.#before = null;
    this.#set(new Set(flows.slice(0, COLOURS)));
  }

  toggleFlow(flow: string): void {
    const next = new Set(this.#shown);
    if (!next.delete(flow) && next.size < COLOURS) next.add(flow);
    this.#before = null;
    this.#set(next);
  }

  /** Shows one flow alone; at the second call, the flows that were shown before. */
  solo(flow: string): void {
    const alone = this.#shown.size === 1 && this.#shown.has(flow);
    const next = alone ? (this.#before ?? new Set(this.#first())) : new Set([flow]);
    this.#before = alone ? null : this.#shown;
    this.#set(next);
  }

  /** Returns the flows with curves that an address is of. */
  flowsOf(that: string): string[] {
    return this.ranked.filter((name) => isOfFlow(that, name));
  }

  /** Shows these flows alone, up to the number of colours; at the second call, those that were shown before. */
  only(flows: readonly string[]): void {
    const wanted = flows.slice(0, COLOURS);
    const alone = wanted.length === this.#shown.size && wanted.every((flow) => this.#shown.has(flow));
    const next = alone ? (this.#before ?? new Set(this.#first())) : new Set(wanted);
    this.#before = alone ? null : this.#shown;
    this.#set(next);
  }

  /** Names of the shown flows if they are not those shown by default; else null. */
  get chosen(): string[] | null {
    const first = this.#first();
    const same = first.length === this.#shown.size && first.every((flow) => this.#shown.has(flow));
    return same ? null : this.ranked.filter((flow) => this.#shown.has(flow));
  }

  /** The chosen port, if it is not the one shown by default; else null. */
  get chosenPort(): string | null {
    return this.#port === (this.ports[0] ?? "") ? null : this.#port;
  }

  /** Shows or hides a run; at least one stays visible. */
  toggleRun(index: number): void {
    if (!this.#runs.delete(index)) this.#runs.add(index);
    else if (this.#runs.size === 0) this.#runs.add(index);
    this.#changed();
  }

  /** Shows these runs alone. */
  showRuns(indices: readonly number[]): void {
    const known = indices.filter((index) => index in this.report.runs);
    if (known.length === 0) return;
    this.#runs = new Set(known);
    this.#changed();
  }

  showPort(name: string): void {
    this.#port = name;
    this.#changed();
  }

  view(): View {
    const flows = this.ranked.filter((flow) => this.#shown.has(flow));
    const runs = this.report.runs
      .map((run, index) => ({ run, index }))
      .filter(({ index }) => this.#runs.has(index));
    return {
      report: this.report,
      runs,
      flows,
      hiddenFlows: this.ranked.length - flows.length,
      port: this.#port,
      mixed: new Set(runs.map(({ run }) => run.mode)).size > 1,
      slotOf: (flow) => this.#slots.get(flow) ?? 0,
    };
  }

  #set(next: Set<string>): void {
    this.#shown = next;
    this.#paint();
    this.#changed();
  }

  /** Assigns colours: a flow keeps its colour while it is shown; new ones take the first free colour. */
  #paint(): void {
    for (const flow of [...this.#slots.keys()])
      if (!this.#shown.has(flow) && this.ranked.length > COLOURS) this.#slots.delete(flow);
    const used = new Set(this.#slots.values());
    for (const flow of this.ranked) {
      if (!this.#shown.has(flow) || this.#slots.has(flow)) continue;
      let slot = 0;
      while (used.has(slot)) slot += 1;
      used.add(slot);
      this.#slots.set(flow, slot);
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Returns the flow of this name in a run, if it has curves. */
export function flowOf(run: Run, name: string): FlowData | undefined {
  return run.flows.find((flow) => flow.name === name);
}

/** Queue that has curves, with its results. */
export type Queue = QueueData & QueueSummary;

/** Returns the queues of a port that have curves, parents before children. */
export function queuesOfPort(run: Run, port: string): Queue[] {
  const results = run.summary.ports[port]?.queues ?? {};
  const drawn = run.ports.find(({ name }) => name === port)?.queues ?? [];
  return drawn.flatMap((queue) => {
    const found = results[queue.name];
    return found ? [{ ...found, ...queue }] : [];
  });
}

/** Returns the series of a queue of a port, if it has curves. */
export function queueSeriesOf(run: Run, port: string, name: string): QueueSeriesData | undefined {
  const queues = run.ports.find((one) => one.name === port)?.queues;
  return queues?.find((queue) => queue.name === name)?.series;
}
