/**
 * The worker of the simulator: answers the messages of a `Client` (`engine.ts`, which describes both ends).
 *
 * A classic worker: the page starts it from one bundled file without imports, or from a blob. Between two steps of a job
 * it reads its messages, so that a new generation cancels the job within some 20 ms.
 */
import { Engine, type FromWorker, Overtaken, type ToWorker, Trap, writtenError } from "./engine";

/** The part of a worker's scope that is used. */
export interface Scope {
  postMessage(message: FromWorker): void;
  addEventListener(type: "message", listener: (event: MessageEvent<ToWorker>) => void): void;
}

/** Time of a step, in milliseconds: short for a page that cancels, long beside the cost of a message. */
const STEP_MS = 20;
/** Events of the first step; the next are chosen by the time that it took. */
const FIRST_EVENTS = 20_000;
const [LEAST_EVENTS, MOST_EVENTS] = [4096, 10_000_000];

/** Answers messages in this scope. */
export function serve(scope: Scope): void {
  let module: WebAssembly.Module | undefined;
  let engine: Engine | undefined;
  let generation = 0;

  /** Returns the engine: a new one after a trap. */
  async function current(): Promise<Engine> {
    if (module === undefined) throw new Error("the module is not loaded");
    engine ??= await Engine.start(module);
    return engine;
  }

  /** Rejects what is about an older text. */
  function stay(of: number): void {
    generation = Math.max(generation, of);
    if (of < generation) throw new Overtaken("a newer text has been passed");
  }

  async function job(message: ToWorker & { kind: "job" }): Promise<void> {
    const one = await current();
    stay(message.generation);
    const { value: begun } = one.call("begin", message.request, message.files);
    let events = FIRST_EVENTS;
    let isEarly = true;
    for (;;) {
      const start = performance.now();
      const { value: progress } = one.call("step", { job: begun.job, events });
      const took = performance.now() - start;
      scope.postMessage({ kind: "progress", id: message.id, progress });
      if (progress.ended) break;
      if (progress.has_result && isEarly) {
        isEarly = false;
        scope.postMessage({ kind: "early", id: message.id, answer: one.call("result", { job: begun.job }) });
      }
      events = Math.round(
        Math.min(Math.max((events * STEP_MS) / Math.max(took, 1), LEAST_EVENTS), MOST_EVENTS),
      );
      await new Promise((resolve) => setTimeout(resolve));
      // Another request may have ended the instance meanwhile.
      if (engine !== one) throw new Trap("the instance has ended");
      if (message.generation < generation) {
        one.call("cancel", { job: begun.job });
        stay(message.generation);
      }
    }
    scope.postMessage({ kind: "answer", id: message.id, answer: one.call("finish", { job: begun.job }) });
  }

  async function receive(message: ToWorker): Promise<void> {
    switch (message.kind) {
      case "load":
        module = await WebAssembly.compile(message.bytes);
        engine = undefined;
        scope.postMessage({ kind: "answer", id: message.id, answer: { value: null, parts: {} } });
        return;
      case "generation":
        generation = Math.max(generation, message.generation);
        return;
      case "call": {
        const one = await current();
        stay(message.generation);
        const answer = one.call(message.name, message.request as never, message.files);
        scope.postMessage({ kind: "answer", id: message.id, answer });
        return;
      }
      case "job":
        return job(message);
    }
  }

  scope.addEventListener("message", ({ data }) => {
    receive(data).catch((error) => {
      if (error instanceof Trap) engine = undefined;
      if ("id" in data) scope.postMessage({ kind: "failed", id: data.id, error: writtenError(error) });
    });
  });
}

// In a worker; a test passes a scope of its own.
if (typeof window === "undefined" && typeof postMessage === "function") serve(globalThis as unknown as Scope);
