/** The client of the simulator's module: the module itself where `make play` has built it, and made-up instances. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
  byteOfIndex,
  Client,
  Engine,
  type FromWorker,
  indexOfByte,
  json,
  Overtaken,
  type Port,
  Problems,
  type ToWorker,
  Trap,
} from "../src/play/engine";
import { type Scope, serve } from "../src/play/worker";
import { skipped } from "./browser";

const path = resolve(import.meta.dirname, "../../target/play/lockgate.wasm");
const isBuilt = existsSync(path);
if (!isBuilt) skipped("engine", "no module; `make play` builds it");

const TEXT = `duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], trace = "line.txt" }
flow.f = { from = "a", to = "b", size = "500B", gap = "10ms" }
`;
const files = { "line.txt": new TextEncoder().encode("1\n2\n3\n") };
const LONG = TEXT.replace("1s", "100000s");

/** Returns the bytes of the module, in a buffer of their own. */
const bytes = (): ArrayBuffer => new Uint8Array(readFileSync(path)).buffer;

/** Joins a client and a worker in one thread: messages are copied and arrive later, as between threads. */
function joined(): Client {
  const toWorker: ((event: MessageEvent<ToWorker>) => void)[] = [];
  const toPage: ((event: MessageEvent<FromWorker>) => void)[] = [];
  const pass = <T>(to: ((event: MessageEvent<T>) => void)[], message: T) => {
    const data = structuredClone(message);
    setTimeout(() => {
      for (const listener of to) listener({ data } as MessageEvent<T>);
    });
  };
  const port: Port = {
    postMessage: (message) => pass(toWorker, message),
    addEventListener: (_, listener) => toPage.push(listener),
  };
  const scope: Scope = {
    postMessage: (message) => pass(toPage, message),
    addEventListener: (_, listener) => toWorker.push(listener),
  };
  serve(scope);
  return new Client(port);
}

describe.skipIf(!isBuilt)("the module", () => {
  it("answers with values and documents, or with the problems of the text", async () => {
    const engine = await Engine.load(bytes());
    const { value, parts } = engine.call("run", { scenario: { text: TEXT } }, files);
    expect(value.packet_hops).toBeGreaterThan(90);
    expect(json<{ flows: Record<string, unknown> }>(parts["summary"]).flows["f"]).toMatchObject({
      sent_packets: 99,
    });
    const wrong = TEXT.replace('"500B"', '"500X"');
    const { problems } = engine.call("check", { text: wrong }, files).value;
    expect(problems).toMatchObject([{ is_error: true, line: 4 }]);
    expect(wrong.slice(...(problems[0]?.span ?? []))).toBe('"500X"');
    expect(() => engine.call("run", { scenario: { text: wrong } }, files)).toThrow(Problems);
    expect(() => engine.call("run", { scenario: { text: TEXT } })).toThrow(Problems);
  });

  it("makes a job in steps, which a newer text overtakes", async () => {
    const client = joined();
    await client.load(bytes());
    let steps = 0;
    let long: Promise<unknown> = Promise.resolve();
    const told = new Promise<void>((resolve) => {
      long = client.job(
        { run: { scenario: { text: LONG } } },
        {
          progress: () => {
            steps += 1;
            if (steps === 3) resolve();
          },
        },
        files,
      );
      long.catch(() => {});
    });
    await told;
    client.next();
    await expect(long).rejects.toThrow(Overtaken);
    const { value } = await client.job({ run: { scenario: { text: TEXT } } }, undefined, files);
    expect(value).toMatchObject({ stopped_early: false });
    await expect(client.call("knobs", { text: "x" })).rejects.toThrow(Problems);
    expect(steps).toBeLessThan(50);
  });
});

describe("an instance", () => {
  it("that traps says why", () => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const text = new TextEncoder().encode("panicked at engine.rs");
    new Uint8Array(memory.buffer).set(text, 16);
    const fails = () => {
      throw new WebAssembly.RuntimeError("unreachable");
    };
    let length = BigInt(text.length);
    const engine = new Engine({
      memory,
      alloc: () => 1024,
      free: () => {},
      check: fails,
      panic_text: () => (16n << 32n) | length,
    } as unknown as WebAssembly.Exports);
    expect(() => engine.call("check", { text: "" })).toThrow(new Trap("panicked at engine.rs"));
    length = 0n;
    expect(() => engine.call("check", { text: "" })).toThrow(/unreachable, with 0 MB/);
  });

  it("without memory is no crash", () => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const exports = { memory, alloc: () => 0 } as unknown as WebAssembly.Exports;
    expect(() => new Engine(exports).call("check", { text: "" })).toThrow(Trap);
  });
});

it("bytes and indices of a text are converted", () => {
  expect(indexOfByte("aµ😀b", 7)).toBe(4);
  expect(byteOfIndex("aµ😀b", 4)).toBe(7);
});
