/** Lessons: questions with guesses, each judged by runs of the simulator. The content only; `lesson.ts` shows it. */
import type { Report } from "../report";
import { exampleOf } from "./examples";
import { set } from "./toml";

/** Returns the report of a run of a text. */
export type Run = (text: string, seed: number) => Promise<Report>;

/** What a run, or several, say to a question. */
export interface Finding {
  /** Index of the right option. */
  right: number;
  /** The measured numbers, in a sentence. */
  measured: string;
}

export interface Question {
  kind: "guess";
  ask: string;
  options: readonly string[];
  /** The text that the page shows with the answer. */
  text: string;
  find(run: Run): Promise<Finding>;
  because: string;
}

/** A round in which the reader chooses for the scheduler. */
export interface ByHand {
  kind: "by hand";
  ask: string;
  text: string;
  port: string;
  /** Time in seconds at which the round begins. */
  from: number;
  /** Number of decisions. */
  rounds: number;
  /** Columns of the state that the reader computes: hidden until the choice. */
  hides: readonly string[];
  because: string;
}

export interface Lesson {
  title: string;
  about: string;
  parts: readonly (Question | ByHand)[];
  end: string;
}

const BESIDE = exampleOf("voice-beside-bulk")?.text ?? "";
const PORT = "port.home:server";
const queueOf = (name: string): string => set(BESIDE, `${PORT}.root`, name);

const flowOf = (report: Report, name: string) => {
  const flow = report.runs[0]?.summary.flows[name];
  if (!flow) throw new Error(`the run has no flow ${name}`);
  return flow;
};
const p99 = (report: Report, name: string): number => flowOf(report, name).owd_s.p99 ?? 0;
const loss = (report: Report, name: string): number => flowOf(report, name).loss_ratio ?? 0;
const rate = (report: Report, name: string): number => flowOf(report, name).throughput_bps ?? 0;

const ms = (seconds: number): string => `${Number((seconds * 1000).toPrecision(3))} ms`;
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;

/** Returns the index of the first bound above a value. */
const below = (value: number, bounds: readonly number[]): number => {
  const found = bounds.findIndex((bound) => value < bound);
  return found < 0 ? bounds.length : found;
};

const SLOW: Lesson = {
  title: "Why does an upload make a line slow?",
  about: "A call and an upload share a line of 10 Mbit/s. The upload sends 12, more than the line carries.",
  parts: [
    {
      kind: "guess",
      ask: "Both wait in one queue of 400 packets. How late are the slowest 1 % of the call's packets?",
      options: ["Under 50 ms", "50 to 200 ms", "Over 200 ms"],
      text: BESIDE,
      find: async (run) => {
        const late = p99(await run(BESIDE, 1), "voice");
        return { right: below(late, [0.05, 0.2]), measured: `They are ${ms(late)} late.` };
      },
      because:
        "The queue is full all the time, and a packet waits for all 400 before it: 400 packets of 1442 bytes take 461 ms at 10 Mbit/s, and the way itself 10 ms. The call sends 80 kbit/s and does nothing wrong.",
    },
    {
      kind: "guess",
      ask: "A sixth of all packets is lost. Now the buffer is doubled to 800 packets. What becomes of loss and delay?",
      options: ["Half the loss, the same delay", "The same loss, twice the delay", "Half of both"],
      text: set(BESIDE, `${PORT}.queue.one-queue.limit`, "800p"),
      find: async (run) => {
        const [one, two] = [
          await run(BESIDE, 1),
          await run(set(BESIDE, `${PORT}.queue.one-queue.limit`, "800p"), 1),
        ];
        const [losses, delays] = [
          loss(two, "upload") / loss(one, "upload"),
          p99(two, "voice") / p99(one, "voice"),
        ];
        const right = losses < 0.75 ? (delays < 0.75 ? 2 : 0) : 1;
        return {
          right,
          measured: `Loss ${percent(loss(one, "upload"))} became ${percent(loss(two, "upload"))}, delay ${ms(p99(one, "voice"))} became ${ms(p99(two, "voice"))}.`,
        };
      },
      because:
        "2 of 12 Mbit/s do not fit, whatever the buffer: it only delays the loss. This is bufferbloat: a buffer that is always full adds delay and nothing else.",
    },
    {
      kind: "guess",
      ask: "The same line with a queue for each flow, served in turn (fq_codel). How late is the call now?",
      options: ["Under 20 ms", "20 to 200 ms", "As before"],
      text: queueOf("flow-queues"),
      find: async (run) => {
        const late = p99(await run(queueOf("flow-queues"), 1), "voice");
        return { right: below(late, [0.02, 0.2]), measured: `The slowest 1 % are ${ms(late)} late.` };
      },
      because:
        "10 ms of it are the way itself. The call's queue is nearly empty, so its packet is served in the next turn; the upload waits in its own queue, which it fills itself.",
    },
  ],
  end: "Now your own line: set the knob “wan rate” to the rate of your uploads, and “home:server root” to one-queue and to flow-queues.",
};

const EXERCISE = `title = "three queues share a line by deficit round robin"
duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "8mbit" }

[port."a:b".queue]
drr = { kind = "drr", children = ["voice", "web", "bulk"] }
voice = { kind = "fifo", limit = "20p", match = [{ flow = "voice" }], quantum = "300B" }
web = { kind = "fifo", limit = "20p", match = [{ flow = "web" }], quantum = "1500B" }
bulk = { kind = "fifo", limit = "20p", quantum = "3000B" }

[flow]
voice = { from = "a", to = "b", transport = "udp", size = "200B", rate = "400kbit" }
web = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "5mbit", start = "3ms" }
bulk = { from = "a", to = "b", transport = "udp", size = "1500B", rate = "8mbit", start = "5ms" }
`;
const TAGS = EXERCISE.replace("deficit round robin", "weighted fair queueing")
  .replace("drr =", "wfq =")
  .replace('kind = "drr"', 'kind = "wfq"')
  .replace('quantum = "300B"', "weight = 1")
  .replace('quantum = "1500B"', "weight = 2")
  .replace('quantum = "3000B"', "weight = 4");

const BY_HAND: Lesson = {
  title: "Share a link by hand",
  about:
    "You are the scheduler. At each decision choose the queue that sends; then see what the rule chose, and why.",
  parts: [
    {
      kind: "by hand",
      ask: "Deficit round robin: the queue whose turn is 1 sends while its deficit covers its next packet. Then its deficit grows by its quantum, and its turn is the last. A queue that was empty begins anew with its quantum.",
      text: EXERCISE,
      port: "a:b",
      from: 0.02,
      rounds: 6,
      hides: [],
      because: "The turns need no sorting, and no queue waits longer than one round of the others.",
    },
    {
      kind: "by hand",
      ask: "Weighted fair queueing: a packet's finish tag is its start tag plus its length over the weight of its queue. Of the next packets, the one with the smallest finish tag goes first. The start tag is the finish tag of the packet before it in its queue, or the virtual time at its arrival if that is later.",
      text: TAGS,
      port: "a:b",
      from: 0.02,
      rounds: 6,
      hides: ["finish tag"],
      because:
        "A finish tag is the virtual time, in bytes over weight, at which a server that serves all queues at once, by their weights, would finish the packet. The rule follows that server packet by packet.",
    },
  ],
  end: "Every kind can be stepped through so: choose an example, and step through its decisions.",
};

const spread = (values: readonly number[]): number =>
  (Math.max(...values) - Math.min(...values)) /
  (values.reduce((sum, value) => sum + value, 0) / values.length);

const SEEDS = [1, 2, 3, 4, 5];

const TRUST: Lesson = {
  title: "Can you trust a simulation?",
  about: "What a run says depends on its text, on chance, and on the claim that is made of it.",
  parts: [
    {
      kind: "guess",
      ask: "The same text is run twice with the same seed. In what do the results differ?",
      options: ["In most numbers", "In the last digits", "In nothing"],
      text: queueOf("flow-queues"),
      find: async (run) => {
        const text = queueOf("flow-queues");
        const [one, other] = [await run(text, 1), await run(text, 1)].map((report) =>
          JSON.stringify(report.runs[0]?.summary),
        );
        return {
          right: one === other ? 2 : 0,
          measured: `${one === other ? "All" : "Not all"} ${one?.length ?? 0} letters of both summaries are equal.`,
        };
      },
      because:
        "Chance comes from the seed alone, and time is counted in whole picoseconds. So anybody can repeat a result to the last digit, in the page as with the command.",
    },
    {
      kind: "guess",
      ask: "Five runs with five seeds: which number of the call differs between them by more than 5 %?",
      options: ["Its delay", "Its rate", "Neither"],
      text: queueOf("flow-queues"),
      find: async (run) => {
        const reports: Report[] = [];
        for (const seed of SEEDS) reports.push(await run(queueOf("flow-queues"), seed));
        const delays = spread(reports.map((report) => p99(report, "voice")));
        const rates = spread(reports.map((report) => rate(report, "voice")));
        const right = delays > 0.05 ? 0 : rates > 0.05 ? 1 : 2;
        return {
          right,
          measured: `Its delay differs by ${percent(delays)}, its rate by ${percent(rates)}.`,
        };
      },
      because:
        "Talk spurts are drawn, so the rate of one run says little; the delay is that of the rule. One seed is one sample: compare over several, and look at the interval.",
    },
    {
      kind: "guess",
      ask: "One of three claims is false; equal means within a tenth. Which?",
      options: [
        "In one queue the call loses as large a part of its packets as the upload",
        "Flow queues spare the upload most of its losses",
        "Priority and flow queues make the call equally fast",
      ],
      text: BESIDE,
      find: async (run) => {
        const [one, fair, first] = [
          await run(BESIDE, 1),
          await run(queueOf("flow-queues"), 1),
          await run(queueOf("priority"), 1),
        ];
        const claims = [
          Math.abs(loss(one, "voice") / loss(one, "upload") - 1) < 0.1,
          loss(fair, "upload") < loss(one, "upload") / 2,
          Math.abs(p99(fair, "voice") / p99(first, "voice") - 1) < 0.1,
        ];
        const wrong = claims.flatMap((holds, at) => (holds ? [] : [at]));
        if (wrong.length !== 1) throw new Error(`${wrong.length} claims are false`);
        return {
          right: wrong[0] as number,
          measured: `Losses in one queue: call ${percent(loss(one, "voice"))}, upload ${percent(loss(one, "upload"))}; with flow queues the upload loses ${percent(loss(fair, "upload"))}. Delay of the call: ${ms(p99(fair, "voice"))} and ${ms(p99(first, "voice"))}.`,
        };
      },
      because:
        "A queue decides who waits, not how much fits. A claim becomes a test when it names its metric and its bound: write it as [[expect]] in the text, and the page judges it at each change.",
    },
  ],
  end: "Pin a result, change a value, and compare over 10 seeds: the page says whether the difference is real.",
};

/** All lessons; the first is number 1. */
export const LESSONS: readonly Lesson[] = [SLOW, BY_HAND, TRUST];
