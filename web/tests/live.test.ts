/** The pieces of the page of a running run that need no browser. */
import { describe, expect, it } from "vitest";
import type { EventSample, PortSample, QueueSample, Sample } from "../src/generated/lockgate";
import { Choice } from "../src/live/choice";
import { columns } from "../src/live/columns";
import { Effects } from "../src/live/effects";
import { keep } from "../src/live/feed";
import { History } from "../src/live/history";
import { insideOf } from "../src/live/inside";
import { readable } from "../src/live/knobs";
import { canBeSaved, fidelityOf, keysOf } from "../src/live/offers";
import { portAt } from "../src/live/parts";
import { withPast } from "../src/live/past";
import { Progress } from "../src/live/progress";
import { ticks } from "../src/live/strips";
import { sample as played, queue } from "./live-sample";

const sample = (number: number, packets = number, name = "q"): Sample => {
  const whole = played(number);
  const [port] = whole.ports;
  return {
    ...whole,
    ports: [{ ...(port as Sample["ports"][number]), queues: [queue(name, 3, null, packets)] }],
  };
};

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
    const [time, now, most] = columns([sample(0), sample(1), sample(4)], [{ port: 0, queue: "q" }], 2);
    expect(time).toEqual([0, 0.1, 0.25, 0.4]);
    expect(now).toEqual([0, 1, null, 4]);
    expect(most).toEqual([3, 4, null, 7]);
  });

  it("show nothing of a queue that is not there", () => {
    expect(columns([sample(0)], [{ port: 0, queue: "x" }], 0).slice(1)).toEqual([[null], [null]]);
  });
});

describe("a tree that is swapped", () => {
  const samples = [sample(0), sample(1), sample(2, 5, "fair"), sample(3, 2, "fair")];

  it("leaves the queues of before in the picture until their end, in their colours", () => {
    const history = new History();
    history.take(samples.slice(0, 2));
    history.take(samples);
    const drawn = history.within(0, "q", 0, 1);
    expect(drawn.map(({ queue, slot, last }) => [queue, slot, last])).toEqual([
      ["q", 0, 0.1],
      ["fair", 1, 0.3],
    ]);
    const [, before, , after] = columns(samples, drawn, 2);
    expect(before).toEqual([0, 1, null, null]);
    expect(after).toEqual([null, null, 5, 2]);
    expect(history.within(0, "q", 0.2, 1).map(({ queue, slot }) => [queue, slot])).toEqual([["fair", 1]]);
    expect(history.slotOf(0, "fair")).toBe(1);
  });
});

describe("what is selected", () => {
  const port = (index: number, name: string, wait: number): Sample["ports"][number] => {
    const [one] = sample(0, 1, name).ports;
    const queues = [{ ...queue(name, 3, null, 1), sojourn_p99_s: wait / 1000 }];
    return { ...(one as Sample["ports"][number]), index, queues };
  };
  const having = (...ports: Sample["ports"]): Sample => ({ ...sample(0), ports });

  it("goes to the port with the longest wait until the reader chooses, and then stays, idle or swapped", () => {
    const choice = new Choice();
    choice.follow(having(port(0, "q", 0), port(1, "q", 0)));
    choice.follow(having(port(0, "q", 0), port(1, "q", 9)));
    expect([choice.port, choice.queue]).toEqual([1, "q"]);
    // No more than twice as much: it does not go to and fro.
    choice.follow(having(port(0, "q", 12), port(1, "q", 0)));
    expect(choice.port).toBe(1);
    // A port that has become idle is left, although it had the longer wait once.
    for (let time = 0; time < 20; time += 1) choice.follow(having(port(0, "q", 12), port(1, "q", 0)));
    expect(choice.port).toBe(0);
    choice.choose(0, "q");
    choice.follow(having(port(0, "q", 0), port(1, "q", 500)));
    expect([choice.port, choice.queue]).toEqual([0, "q"]);
    choice.follow(having(port(0, "fair", 0), port(1, "q", 500)));
    expect([choice.port, choice.queue]).toEqual([0, "fair"]);
  });

  it("stays where a sample of a large network leaves it out", () => {
    const choice = new Choice();
    choice.choose(7, "plan/77");
    const left_out = { ports: 9, queues: 900, flows: 0 };
    choice.follow({ ...having(port(3, "q", 5)), left_out });
    expect([choice.port, choice.queue]).toEqual([7, "plan/77"]);
    expect(portAt(having(port(3, "q", 5)), 3)?.index).toBe(3);
    expect(portAt(having(port(3, "q", 5)), 0)).toBeUndefined();
  });
});

describe("units on the page", () => {
  it("has ticks of an axis in one prefix, with their unit", () => {
    expect(ticks([0, 0.25, 0.5], "s").map((text) => text.replace("\u202f", " "))).toEqual([
      "0",
      "250 ms",
      "500 ms",
    ]);
    expect(ticks([0, 0.5, 1, 1.5], "s").map((text) => text.replace("\u202f", " "))).toEqual([
      "0",
      "0.5 s",
      "1 s",
      "1.5 s",
    ]);
    expect(ticks([0, 50, 100], "")).toEqual(["0", "50", "100"]);
  });

  it("reads sizes as they were meant", () => {
    expect(["33554.432kB", "1.514kB", "65.536kB", "1250kB", "100p", null].map(readable)).toEqual([
      "32MiB",
      "1514B",
      "64KiB",
      "1250kB",
      "100p",
      "",
    ]);
  });
});

describe("progress against real time", () => {
  const taken = (pace: number, speed: number): Progress => {
    const progress = new Progress();
    for (let now = 0; now <= 10_000; now += 100) progress.take((speed * now) / 1_000, now, pace);
    return progress;
  };

  it("is said where a run is slower than its pace, or has none", () => {
    expect(taken(1, 0.02).words).toBe("0.02× real time");
    expect(taken(0, 37.2).words).toBe("37× real time");
    expect(taken(1, 0.99).words).toBe("");
  });

  it("is that of the last seconds, and of nothing before a change of pace", () => {
    const progress = taken(1, 0.02);
    for (let now = 0; now <= 10_000; now += 100) progress.take(1 + (0.5 * now) / 1_000, 20_000 + now, 1);
    expect(progress.rate).toBeCloseTo(0.5);
    progress.take(7, 31_000, 10);
    expect(progress.words).toBe("");
  });
});

describe("what is inside of a queue", () => {
  it("is said in words: CAKE's tins by their names, sizes with units", () => {
    const [port] = sample(0).ports;
    const queue = { ...(port?.queues[0] as QueueSample) };
    const tins: [string, number][] = [0, 1, 2].map((tin) => [`tin_${tin}_bytes`, tin * 1500]);
    queue.gauges = [...tins, ["new_flows", 3], ["average_bytes", 2e6]];
    expect(insideOf(queue)).toEqual([
      // In CAKE's own order, best effort is before bulk.
      ["tin best effort", "0.0 kB"],
      ["tin bulk", "1.5 kB"],
      ["tin voice", "3.0 kB"],
      ["new flows", "3"],
      ["average", "2.00 MB"],
    ]);
    queue.gauges = [["tin_0_bytes", 10]];
    expect(insideOf(queue)).toEqual([["tin all traffic", "0.0 kB"]]);
  });
});

describe("the past of a port", () => {
  const past = {
    at_s: [5, 10, 15, 20],
    queues: [
      {
        queue: "one",
        sent_bps: [1, 2, 3, 4],
        offered_bps: [5, 6, 7, 8],
        delay_s: [0.1, null, 0.3, 0.4],
        median_s: [null, null, 0.2, 0.2],
        packets: [1, 1, 1, 1],
        peak_packets: [9, 9, 9, 9],
        dropped_packets: [0, 1, 2, 3],
        marked_packets: [0, 0, 0, 0],
      },
    ],
  };

  it("stands before the samples that the page has, in the window alone", () => {
    const columns = [
      [19, 19.1],
      [0.5, 0.6],
      [0.25, 0.3],
    ];
    expect(withPast(columns, past, ["one"], 0, 5)).toEqual([
      [10, 15, 19, 19.1],
      [null, 0.3, 0.5, 0.6],
      [null, 0.2, 0.25, 0.3],
    ]);
    expect(withPast(columns, past, ["one"], 3, 14)[1]).toEqual([2, 0.5, 0.6]);
    expect(withPast(columns, past, ["gone"], 1, 14)[1]).toEqual([null, 0.5, 0.6]);
    expect(withPast(columns, null, ["one"], 0, 0)).toBe(columns);
    expect(withPast([[], [], []], past, ["one"], 1, 0)[1]).toEqual([1, 2, 3, 4]);
  });
});

describe("the delay before and after a change", () => {
  const change: EventSample = {
    at_s: 10,
    kind: "change",
    path: "port.a->b.root",
    value: "fair",
    moved_packets: null,
    forced_out_packets: 0,
    text: "",
  };
  /** Samples of 30 s: 40 ms before the change, and 20 ms as `sample` has it after it. */
  const samples = Array.from({ length: 300 }, (_, number): Sample => {
    const one = played(number);
    const [forth, back] = one.ports as [PortSample, PortSample];
    const delay = one.at_s <= 10 ? 0.94 : 0.021;
    return {
      ...one,
      ports: [{ ...forth, queues: forth.queues.map((each) => ({ ...each, sojourn_p99_s: delay })) }, back],
    };
  });

  it("is of the port that was changed, and stands once ten seconds have passed", () => {
    const effects = new Effects();
    const until = (at: number): Sample[] => samples.filter(({ at_s }) => at_s <= at);
    expect(effects.of(change, [change], until(10.5))).toBe("");
    expect(effects.of(change, [change], until(12))).toBe("delay p99 at a->b: 940.0 ms → 21.0 ms");
    expect(effects.of(change, [change], samples)).toBe("delay p99 at a->b: 940.0 ms → 21.0 ms");
    expect(effects.of(change, [change], [])).toBe("delay p99 at a->b: 940.0 ms → 21.0 ms");
  });

  it("ends at the next change, and is not told if nothing was seen before", () => {
    const next = { ...change, at_s: 10.6 };
    expect(new Effects().of(change, [change, next], samples)).toBe("");
    const early = { ...change, at_s: 0 };
    expect(new Effects().of(early, [early], samples.slice(50))).toBe("");
    expect(new Effects().of({ ...change, kind: "note" }, [], samples)).toBe("");
  });

  it("is of the worst port if no port was changed", () => {
    const link = { ...change, path: "link.l.rate" };
    expect(new Effects().of(link, [link], samples)).toMatch(/^delay p99 at a->b: 940/);
    // The queue moves to another port: it is told where packets wait now.
    const moved = samples.map((one): Sample => {
      const [forth, back] = one.ports as [PortSample, PortSample];
      const waits = (port: PortSample, delay: number): PortSample => ({
        ...port,
        queues: port.queues.map((each) => ({ ...each, sojourn_p99_s: delay })),
      });
      const [there, here] = one.at_s <= 10 ? [0.015, 0.001] : [0.0001, 0.3];
      return { ...one, ports: [waits(forth, there), waits(back, here)] };
    });
    expect(new Effects().of(link, [link], moved)).toBe("delay p99 at b->a: 1.0 ms → 300.0 ms");
  });
});

describe("what is offered", () => {
  it("has an effect", () => {
    expect(keysOf({ mode: "sim" }, false)).toMatch(/a click on a flow.*m mark.*Enter sets a knob/);
    const reading = keysOf({ mode: "live" }, true);
    expect(reading).toContain("a click on a flow");
    for (const mode of ["route", "kernel"]) {
      for (const absent of ["flow", "mark", "knob"]) expect(keysOf({ mode }, true)).not.toContain(absent);
      expect(canBeSaved({ mode })).toBe(false);
    }
    expect(reading).not.toMatch(/mark|knob/);
    expect(canBeSaved({ mode: "live" })).toBe(true);
  });

  it("says why a router is in doubt once, and nothing of frames that did not leave", () => {
    const fidelity = { late_p99_s: null, host_losses: 0, stood_still_s: 0, unfaithful: [] as string[] };
    const router = {
      mode: "egress",
      interfaces: [],
      policy: 1,
      is_on_trial: false,
      lost_by: [],
      bypassed_frames: 3,
      bypass: "`lg3` is down",
    } as unknown as NonNullable<Sample["router"]>;
    expect(fidelityOf(fidelity, router).text).toBe("");
    const open = fidelityOf({ ...fidelity, unfaithful: ["`lg3` is down", "filtered"] }, router);
    expect(open).toMatchObject({ text: "⚠ alarm", ok: false, reasons: "filtered" });
    const late = fidelityOf({ ...fidelity, late_p99_s: 66e-6 }, undefined);
    expect(late.text).toMatch(/^frames leave 66.*s late \(p99\) ✓$/);
    expect(fidelityOf({ ...fidelity, late_p99_s: 66e-6 }, router).title).toContain("last interval");
    expect(fidelityOf({ ...fidelity, unfaithful: ["late"] }, null).text).toBe("⚠ not faithful");
  });
});
