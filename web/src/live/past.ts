/** The last hour of a port's queues, in intervals of 5 s: what was before the samples that the page has. */
import type { Feed } from "./feed";

type Column = (number | null)[];

/** Answer of `api/past`: columns with a value for each of `at_s` (`hour.rs`). */
export interface PastColumns {
  at_s: number[];
  queues: {
    queue: string;
    sent_bps: Column;
    offered_bps: Column;
    delay_s: Column;
    median_s: Column;
    packets: Column;
    peak_packets: Column;
    dropped_packets: Column;
    marked_packets: Column;
  }[];
}

/** Time after which the past is asked for again: the page has the samples since. */
const RENEWED_MS = 60_000;

/** Columns of each strip, from the top (`columns.ts`): the thick curve, and the thin one. */
const OF_STRIPS = [
  ["delay_s", "median_s"],
  ["sent_bps", "offered_bps"],
  ["packets", "peak_packets"],
  ["dropped_packets", "marked_packets"],
] as const;

/** Returns columns with the past before them: its intervals that end after `from`, and before the first sample. */
export function withPast(
  columns: Column[],
  past: PastColumns | null,
  queues: readonly string[],
  strip: number,
  from: number,
): Column[] {
  const first = columns[0]?.[0] ?? Number.POSITIVE_INFINITY;
  const kept = past?.at_s.flatMap((at, index) => (at > from && at < first ? [index] : [])) ?? [];
  if (!past || kept.length === 0) return columns;
  const [thick, thin] = OF_STRIPS[strip] ?? OF_STRIPS[0];
  const earlier = [
    past.at_s,
    ...queues.flatMap((name) => {
      const found = past.queues.find(({ queue }) => queue === name);
      return [found?.[thick] ?? [], found?.[thin] ?? []];
    }),
  ];
  return columns.map((column, at) => [...kept.map((index) => earlier[at]?.[index] ?? null), ...column]);
}

/** Past of the port that the page shows. */
export class Past {
  columns: PastColumns | null = null;
  #asked = { port: -1, at: 0 };

  constructor(
    readonly feed: Feed,
    readonly redraw: () => void,
  ) {}

  /** Asks for the past of a port, unless it is there. */
  want(port: number): void {
    const now = performance.now();
    if (port < 0 || (port === this.#asked.port && now - this.#asked.at < RENEWED_MS)) return;
    if (port !== this.#asked.port) this.columns = null;
    this.#asked = { port, at: now };
    void this.feed.past(port).then((columns) => {
      if (port !== this.#asked.port) return;
      this.columns = columns ?? this.columns;
      this.redraw();
    });
  }
}
