/** Made-up data of a running run: two classes below a tree, one flow, one change. */
import type { Knob, QueueSample, QueueTotal, Sample } from "../src/generated/lockgate";

export const knob = (key: string, value: string, choices: string[] = []): Knob => ({
  path: `port.a->b.queue.one.${key}`,
  key,
  value,
  is_default: false,
  takes: "limit",
  about: "how much may wait",
  choices,
  lower: key === "limit" ? "40p" : null,
  higher: key === "limit" ? "62p" : null,
});

export const status = {
  title: "two classes",
  mode: "sim",
  seed: 1,
  duration_s: 60,
  pace: 1,
  every_s: 0.1,
  held: false,
  ended: false,
  version: 0,
  nodes: ["a", "b"],
  links: [{ name: "l", from: "a", to: "b", rate_bps: [1e7, 1e8], delay_s: [0.005, 0.005], knobs: [] }],
  ports: [
    {
      name: "a->b",
      from: "a",
      to: "b",
      link: "l",
      root: { ...knob("root", "q", ["q", "fair"]), path: "port.a->b.root" },
      queues: [
        ["q", []],
        ["one", [knob("limit", "50p")]],
      ],
    },
    { name: "b->a", from: "b", to: "a", link: "l", root: null, queues: [] },
  ],
  flows: ["f"],
};

const TOTAL: QueueTotal = {
  offered_packets: 9,
  offered_bytes: 0,
  sent_packets: 0,
  sent_bytes: 0,
  dropped_packets: 0,
  marked_packets: 0,
  moved_packets: 0,
  sojourn_classes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  sojourn_count: 0,
  sojourn_sum_s: 0,
  waited_count: 0,
  waited_sum_s: 0,
};

export function queue(name: string, place: number, parent: number | null, packets: number): QueueSample {
  return {
    name,
    kind: "fifo",
    place,
    parent,
    packets,
    bytes: 0,
    mean_packets: packets,
    mean_bytes: 0,
    peak_packets: packets + 3,
    peak_bytes: 0,
    offered_bps: 1.2e7,
    sent_bps: 1e7,
    sent_packets: 9,
    dropped_packets: place,
    dropped_by: [],
    marked_packets: 0,
    sojourn_mean_s: 0.02,
    sojourn_p50_s: 0.02,
    sojourn_p99_s: 0.04,
    waited_mean_s: null,
    gauges: [],
    total: TOTAL,
  };
}

export const sample = (number: number): Sample => ({
  number,
  at_s: number / 10,
  interval_s: 0.1,
  dropped_samples: 0,
  left_out: { ports: 0, queues: 0, flows: 0 },
  ports: [
    {
      name: "a->b",
      index: 0,
      sent_bps: 9e6,
      ring_packets: 0,
      queues: [queue("q", 0, null, 10 + (number % 20)), queue("one", 1, 0, number % 20)],
    },
    {
      name: "b->a",
      index: 1,
      sent_bps: 0,
      ring_packets: 0,
      queues: [{ ...queue("fifo", 0, null, 0), total: { ...TOTAL, offered_packets: 0 } }],
    },
  ],
  flows: [
    {
      name: "f",
      offered_bps: 1.2e7,
      sent_packets: 9,
      received_bps: 1e7,
      received_packets: 8,
      lost_packets: 1,
      lost_packets_total: 1,
      owd_p50_s: 0.02,
      owd_p99_s: 0.04,
      cwnd_bytes: 14480,
      rtt_s: 0.04,
    },
  ],
  events:
    number === 100
      ? [
          {
            at_s: 9.95,
            kind: "change",
            path: "link.l.rate",
            value: "10mbit",
            moved_packets: null,
            forced_out_packets: 0,
            text: "",
            before: ["link.l.rate=5mbit"],
          },
        ]
      : [],
  fidelity: null,
});
