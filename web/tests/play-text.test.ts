/** Texts of the playground: values set in place, links, what is pasted, and a worker that is deaf. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProblemData } from "../src/generated/lockgate";
import { requestOf } from "../src/play/compared";
import { replacements } from "../src/play/editor";
import type { FromWorker, ToWorker } from "../src/play/engine";
import { BASES, EXAMPLES, EXPERIMENTS, exampleOf, FIRST } from "../src/play/examples";
import { commandOf, reportPage } from "../src/play/leaving";
import { checksum, hunks, linkOf, readLink } from "../src/play/link";
import { Scale, STEPS, written } from "../src/play/number";
import { recognised } from "../src/play/recognise";
import { type Ending, Supervised } from "../src/play/supervised";
import { differences, placeOf, places, set } from "../src/play/toml";
import { damaged, LINKS } from "./links";
import { sampleReport } from "./sample";

const textOf = (name: string): string => exampleOf(name)?.text ?? "";
const HOME = textOf("home");

/** Returns the lines that only one of two texts has. */
const changed = (before: string, after: string): string[] => {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  return [...old.filter((line) => !fresh.includes(line)), ...fresh.filter((line) => !old.includes(line))];
};

describe("a value", () => {
  it.each([
    [
      "port.router:modem.queue.fq_codel.rate",
      "9mbit",
      'fq_codel = { kind = "tbf", rate = "9mbit", burst = "5kB", children = ["fq_codel-queue"] }',
    ],
    ["port.router->modem.root", "cake", 'root = "cake"'],
    [
      "link.line.rate.up",
      "5mbit",
      'line = { between = ["modem", "isp"], rate = { up = "5mbit", down = "100mbit" }, delay = "8ms" }',
    ],
    ["port.router:modem.queue.first.prio", "3", null],
    ["expect.1.below", "40ms", 'below = "40ms"'],
    // Not written yet: in a table in braces, below a header, and in a table of its own.
    [
      "link.line.loss",
      "1%",
      'line = { between = ["modem", "isp"], rate = { up = "10mbit", down = "100mbit" }, delay = "8ms", loss = "1%" }',
    ],
    ["port.modem:isp.queue.buffer.overflow", "head", 'overflow = "head"'],
    ["port.isp:modem.limit", "5", '[port."isp:modem"]'],
  ])("of %s is set in its place", (path, value, line) => {
    const text = set(HOME, path, value);
    const place = placeOf(text, path);
    expect(text.slice(place?.from, place?.to).replace(/"/g, "")).toBe(value);
    const lines = changed(HOME, text);
    if (line !== null) expect(lines).toContain(line);
    expect(lines.length).toBeLessThanOrEqual(2);
    // A value that is written stays on its line; another has a line, or a table with a header.
    const added = { "port.modem:isp.queue.buffer.overflow": 1, "port.isp:modem.limit": 2 }[path] ?? 0;
    expect(text.split("\n").length - HOME.split("\n").length).toBe(added);
    // Comments stay.
    expect(text.match(/#.*/g)).toEqual(HOME.match(/#.*/g));
    expect(set(text, path, value)).toBe(text);
  });

  it("is found behind texts of many lines, escapes and comments, up to the first mistake", () => {
    const text =
      'a = """x\n[no]\nb = 1"""\nc = "q\\"#" # d = 2\n[[e]]\nf = [1, # g\n { h = \'i\' }]\n[[e]]\nf = 2\n[e.j]\nk = true\nl =\nm = 3\n';
    expect(places(text).map(({ path }) => path.join("."))).toEqual([
      "a",
      "c",
      "e.0.f",
      "e.0.f.0",
      "e.0.f.1",
      "e.0.f.1.h",
      "e.1.f",
      "e.1.j.k",
    ]);
    for (const { text } of EXAMPLES) expect(places(text).length).toBeGreaterThan(10);
  });

  it("that differs is compared, and other differences are named", () => {
    const other = set(set(HOME, "port.router:modem.root", "cake"), "link.line.delay", "20ms");
    expect(requestOf(HOME, `# said otherwise\n${other}`)).toMatchObject({
      vary_together: ["link.line.delay=8ms,20ms", "port.router:modem.root=fq_codel,cake"],
      base: 0,
    });
    expect(requestOf(HOME, HOME)).toMatch(/change a value/);
    expect(differences(HOME, set(HOME, "link.line.loss", "1%"))).toBe(
      "`link.line.loss` is only in one of them",
    );
  });

  it("of a slider is written with its unit, and read back", () => {
    expect([9.5e6, 1e9, 950].map((rate) => written(rate, "bit"))).toEqual(["9.5mbit", "1gbit", "950bit"]);
    expect([0.02, 1, 0, 1.5e-5].map((time) => written(time, "s"))).toEqual(["20ms", "1s", "0s", "15us"]);
    expect([written(250_000, "B"), written(400, "p"), written(0.5, "%")]).toEqual(["250kB", "400p", "0.5%"]);
    for (const scale of [
      new Scale(9.5e5, 9.5e7, true),
      new Scale(0, 1, false),
      new Scale(0.0008, 0.08, false),
    ]) {
      expect([scale.numberOf(0), scale.numberOf(STEPS)]).toEqual([scale.least, scale.most]);
      const numbers = Array.from({ length: STEPS + 1 }, (_, step) => scale.numberOf(step));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      for (const step of [0, 1, 77, 200, STEPS])
        expect(Math.abs(scale.stepOf(scale.numberOf(step)) - step)).toBeLessThanOrEqual(1);
    }
  });
});

describe("a link", () => {
  it("of the first format opens for ever", async () => {
    expect(LINKS).toHaveLength(30);
    for (const { hash, base, text } of LINKS) {
      const read = await readLink(hash, BASES).catch((error) => {
        throw new Error(
          `${hash}: ${error.message}; a changed example keeps its former text in src/play/former`,
        );
      });
      expect(checksum(read.text)).toBe(text);
      if (base !== null) expect([base, null]).toContain(read.base);
    }
  });

  it("that is damaged is refused with a sentence", async () => {
    const all = damaged();
    expect(all).toHaveLength(30);
    for (const hash of all)
      await expect(readLink(hash, BASES), hash).rejects.toThrow(/^(it is damaged|its (format|example))/);
  });

  it("is short for an example, and carries any text", async () => {
    const example = exampleOf("home");
    const one = await linkOf(set(HOME, "port.router:modem.root", "cake"), example);
    expect(one.length).toBeLessThan(160);
    for (const text of [
      "",
      "\n",
      "a\r\nb",
      HOME.repeat(3),
      `${HOME}😀`,
      HOME.split("\n").toReversed().join("\n"),
    ])
      for (const base of [null, example])
        expect((await readLink(await linkOf(text, base), BASES)).text).toBe(text);
    // What a page would not open again is no link.
    await expect(linkOf("a".repeat(1_000_000), example)).rejects.toThrow("too long for a link");
    // A changed example is another one.
    const other = BASES.map(({ name, text }) => ({ name, text: `${text}#` }));
    await expect(readLink(one, other)).rejects.toThrow("its example `home` is unknown");
    expect(hunks("a\nb\nc", "a\nx\nc")).toEqual([[1, 1, ["x"]]]);
  });

  /** Returns a link with this content. */
  async function packed(content: string): Promise<string> {
    const stream = new Blob([content]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    return `#v1.${Buffer.from(await new Response(stream).arrayBuffer()).toString("base64url")}`;
  }

  it("is refused if another text comes out of it", async () => {
    const link = (text: string): Promise<string> =>
      packed(JSON.stringify({ t: checksum("a"), d: [[0, 0, [text]]] }));
    expect((await readLink(await link("a"), BASES)).text).toBe("a");
    await expect(readLink(await link("b"), BASES)).rejects.toThrow("its checksum differs");
    const malformed = ["[[0,1,[]]]", "[[0,0,[1]]]", "[[-1,0,[]]]", "1"].map((d) => `{"t":"","d":${d}}`);
    for (const content of [...malformed, '{"d":[]}', "null"])
      await expect(readLink(await packed(content), BASES), content).rejects.toThrow("it is damaged");
  });

  it("cannot fill the memory", async () => {
    await expect(readLink(await packed("[".padEnd(20_000_000, " ")), BASES)).rejects.toThrow("damaged");
  });
});

describe("a text", () => {
  it("of tc or SQM is recognised, a scenario is not", () => {
    const script = readFileSync(
      resolve(import.meta.dirname, "../../crates/tc/tests/scripts/sqm-three-tiers.sh"),
      "utf8",
    );
    expect(recognised(script)).toBe("commands of tc");
    expect(recognised("sudo tc qdisc add dev eth0 root fq_codel")).toBe("commands of tc");
    expect(recognised("qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p")).toBe("what tc prints");
    expect(recognised("config queue 'eth1'\n\toption download '85000'\n")).toBe("a configuration of SQM");
    for (const { text } of [...EXAMPLES, ...EXPERIMENTS]) expect(recognised(text)).toBeNull();
    expect(recognised("see man 8 tc for what a class is")).toBeNull();
  });

  it("is an example with a sentence and its files", () => {
    expect(exampleOf(FIRST)).not.toBeNull();
    for (const { name, shows } of [...EXAMPLES, ...EXPERIMENTS]) expect(shows, name).not.toMatch(/^$|[[`]/);
    expect(Object.keys(exampleOf("backup")?.files ?? {})).toEqual(["backup-files.txt"]);
    expect(EXPERIMENTS.map(({ name }) => name)).toContain("borrow");
  });

  it("leaves as commands, whatever its lines are", () => {
    const files = { "a.txt": new TextEncoder().encode("1") };
    expect(commandOf("x", "LOCKGATE\n", files)).toBe(
      "cat > a.txt <<'LOCKGATE_'\n1\nLOCKGATE_\ncat > x.toml <<'LOCKGATE_'\nLOCKGATE\nLOCKGATE_\nlockgate run x.toml\n",
    );
    const marker = '<script type="application/json" id="lockgate-data">{}</script>';
    const page = reportPage(`<p>${marker}</p>`, { ...sampleReport(), title: "</script>$&" });
    expect(page.match(/<\/script>/g)).toHaveLength(1);
    expect(page).toContain("$&");
  });

  it("has fixes where the help has a replacement", () => {
    const text = 'a = "flow.cal.owd.p99"\nb = ruoter\nc = "x"\n';
    const problem = (from: number, to: number, help: string): ProblemData => ({
      is_error: true,
      message: "",
      help,
      line: 1,
      column: 1,
      span: [from, to],
      related: [],
    });
    expect(replacements(problem(4, 22, "there is no flow `cal`; did you mean `call`?"), text)).toEqual([
      '"flow.call.owd.p99"',
    ]);
    expect(replacements(problem(27, 33, "did you mean `router`?"), text)).toEqual(["router"]);
    expect(replacements(problem(27, 33, 'write `"ruoter"`'), text)).toEqual(['"ruoter"']);
    expect(replacements(problem(27, 33, "it is one of `phone`, `router`"), text)).toEqual([
      "phone",
      "router",
    ]);
    expect(replacements(problem(27, 33, "it is `udp` or `tcp`"), text)).toEqual(["udp", "tcp"]);
    for (const help of [
      "end it",
      "it needs a unit, such as `20ms`",
      "it is `EF`, `AF11` to `AF43`, or 0 to 63",
    ])
      expect(replacements(problem(27, 33, help), text)).toEqual([]);
  });
});

/** Returns a worker that answers `load` only; `ended` counts those that were terminated. */
function deaf(count: { ended: number; started: number }): Ending {
  const listeners: ((event: MessageEvent<FromWorker>) => void)[] = [];
  count.started += 1;
  return {
    postMessage: (message: ToWorker) => {
      if (message.kind !== "load") return;
      const data: FromWorker = { kind: "answer", id: message.id, answer: { value: null, parts: {} } };
      setTimeout(() => {
        for (const listener of listeners) listener({ data } as MessageEvent<FromWorker>);
      });
    },
    addEventListener: (_, listener) => listeners.push(listener),
    terminate: () => {
      count.ended += 1;
    },
  };
}

it("a worker that is deaf is replaced, and its requests fail", async () => {
  const count = { ended: 0, started: 0 };
  const worker = new Supervised(() => deaf(count), new ArrayBuffer(8), 30);
  const asked = [worker.call("check", { text: "" }), worker.call("knobs", { text: "" })];
  for (const one of await Promise.allSettled(asked))
    expect(String((one as PromiseRejectedResult).reason)).toMatch(/no answer for/);
  expect(count).toEqual({ ended: 1, started: 2 });
  await expect(worker.call("check", { text: "" })).rejects.toThrow(/started anew/);
  expect(count).toEqual({ ended: 2, started: 3 });
});
