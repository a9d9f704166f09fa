/** The pieces of the page of a running run that need no browser. */
import { describe, expect, it } from "vitest";
import { keep, type Sample } from "../src/live/feed";
import { step } from "../src/live/step";
import { columns } from "../src/live/columns";

const sample = (number: number, packets = number): Sample => ({
  number,
  at_s: number / 10,
  interval_s: 0.1,
  dropped_samples: 0,
  ports: [
    {
      name: "a->b",
      sent_bps: 0,
      ring_packets: 0,
      queues: [{ name: "q", kind: "fifo", place: 3, parent: null, packets, bytes: 0, mean_packets: packets, peak_packets: packets + 1, offered_bps: 2, sent_bps: 1, sent_packets: 0, dropped_packets: 0, dropped_by: [], marked_packets: 0, sojourn_mean_s: null, sojourn_p50_s: null, sojourn_p99_s: 0.01, waited_mean_s: null, gauges: [], total: { offered_packets: 1, waited_count: 0 } }],
    },
  ],
  flows: [],
  events: [],
  fidelity: null,
});

describe("what is kept of the stream", () => {
  it("takes each sample once and counts what is missing", () => {
    const kept: Sample[] = [];
    expect(keep(kept, [sample(0), sample(1)])).toBe(0);
    expect(keep(kept, [sample(1), sample(4)])).toBe(2);
    expect(kept.map((one) => one.number)).toEqual([0, 1, 4]);
  });

  it("does not grow", () => {
    const kept: Sample[] = [];
    for (let number = 0; number < 30_000; number += 1) keep(kept, [sample(number)]);
    expect(kept.length).toBeLessThan(9_300);
    expect((kept.at(-1) as Sample).at_s - (kept[0] as Sample).at_s).toBeGreaterThanOrEqual(900);
  });
});

describe("the strips", () => {
  it("break where samples are missing", () => {
    const [time, now, most] = columns([sample(0), sample(1), sample(4)], [{ port: 0, place: 3, label: "q" }], 2);
    expect(time).toEqual([0, 0.1, 0.25, 0.4]);
    expect(now).toEqual([0, 1, null, 4]);
    expect(most).toEqual([1, 2, null, 5]);
  });

  it("show nothing of a queue that is not there", () => {
    expect(columns([sample(0)], [{ port: 0, place: 9, label: "x" }], 0).slice(1)).toEqual([[null], [null]]);
  });
});

describe("a step of a knob", () => {
  it("keeps the unit", () => {
    expect(step("100p", true)).toBe("125p");
    expect(step("100p", false)).toBe("80p");
    expect(step("1.5mbit", true)).toBe("1.875mbit");
    expect(step("1p", false)).toBeNull();
    expect(step("fifo", true)).toBeNull();
  });
});
