/**
 * The simulator in a page: a typed client of the WebAssembly module (`crates/wasm`, `make play`).
 *
 *     page                                          worker (worker.ts, a classic script)
 *     const client = new Client(worker);
 *     await client.load(bytes);                     Engine.load(bytes)
 *     await client.call("check", { text });         engine.call("check", { text })
 *     await client.job({ run: { scenario } }, tell) begin, step, step, ..., finish
 *
 * - `call` answers in milliseconds: check, import, complete, knobs, schema; `decisions` as
 *   long as a run takes. `job` makes runs or a comparison in steps
 *   of some 20 ms, tells their progress in between, and can be overtaken. Runs with changes have a result
 *   early: the runs that tell the effects of the changes follow it.
 * - Every request has a *generation*: that of the text it is about. `client.next()` begins a new one, for an edited
 *   text: older jobs are cancelled, and older answers rejected with `Overtaken`. Requests of one generation do not
 *   disturb each other.
 * - Errors: `Problems` is about the request (`problems` have line, column, bytes and fix); `Trap` has ended the
 *   instance, by a panic or for lack of memory: the worker starts a new one for the next request. Anything else
 *   is a fault of the caller.
 * - Files that a scenario names are passed beside it, by the names in its text.
 * - `parts` are documents as bytes: of a run `summary` (summary.json of the command, byte for byte) and `report`
 *   (`ReportData`, as the report's page takes it); of a comparison `report`, `comparison` and `runs`.
 */
import type {
  Begun,
  Checked,
  ComparedVariants,
  CompareRequest,
  CompleteRequest,
  Completions,
  Decisions,
  DecisionsRequest,
  Imported,
  ImportRequest,
  JobNumber,
  JobProgress,
  JobRequest,
  ProblemData,
  Ran,
  RunRequest,
  ScenarioRequest,
  SchemaRequest,
  Sliders,
  StepRequest,
} from "../generated/lockgate";

/** Request and value of each call. */
export interface Calls {
  check: [ScenarioRequest, Checked];
  run: [RunRequest, Ran];
  compare: [CompareRequest, ComparedVariants];
  begin: [JobRequest, Begun];
  step: [StepRequest, JobProgress];
  result: [JobNumber, Ran];
  finish: [JobNumber, Ran | ComparedVariants];
  cancel: [JobNumber, null];
  import: [ImportRequest, Imported];
  complete: [CompleteRequest, Completions];
  knobs: [ScenarioRequest, Sliders];
  schema: [SchemaRequest, null];
  decisions: [DecisionsRequest, Decisions];
}
export type Call = keyof Calls;

/** Contents of files, by the names in the scenario. */
export type Files = Readonly<Record<string, Uint8Array>>;

/** Value of a call, and its documents. */
export interface Answer<Value> {
  value: Value;
  parts: Readonly<Record<string, Uint8Array>>;
}

/** What is wrong with a request: a sentence, or the problems of a text. */
export class Problems extends Error {
  override name = "Problems";
  readonly help: string | null;
  readonly problems: readonly ProblemData[];
  constructor(wrong: { message: string; help: string | null; problems: readonly ProblemData[] }) {
    super(wrong.message);
    this.help = wrong.help;
    this.problems = wrong.problems;
  }
}

/** End of an instance: the text of its panic, or that of the browser. */
export class Trap extends Error {
  override name = "Trap";
}

/** A request of an older generation. */
export class Overtaken extends Error {
  override name = "Overtaken";
}

/** Exports of the module. Pointer and length are one number: the pointer times 2^32, plus the length. */
type Exports = {
  memory: WebAssembly.Memory;
  alloc(length: number): number;
  free(pointer: number, length: number): void;
  panic_text(): bigint;
} & Record<Call, (pointer: number, length: number) => bigint>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns a document of an answer as JSON. */
export function json<T>(part: Uint8Array | undefined): T {
  return JSON.parse(decoder.decode(part)) as T;
}

/** An instance of the module. */
export class Engine {
  private readonly exports: Exports;

  constructor(exports: WebAssembly.Exports) {
    this.exports = exports as unknown as Exports;
  }

  /** Creates an instance of a compiled module. */
  static async start(module: WebAssembly.Module): Promise<Engine> {
    return new Engine((await WebAssembly.instantiate(module, {})).exports);
  }

  /** Creates an instance of a module of these bytes. */
  static async load(bytes: BufferSource): Promise<Engine> {
    return Engine.start(await WebAssembly.compile(bytes));
  }

  /** Answers a request, or throws `Problems` or `Trap`. After a trap the instance is not to be used again. */
  call<Name extends Call>(name: Name, request: Calls[Name][0], files: Files = {}): Answer<Calls[Name][1]> {
    const bytes = this.guarded(() => this.answer(name, written(withLengths(request, files), files)));
    const { head, body } = divided(bytes);
    const answer = JSON.parse(decoder.decode(head));
    if (answer.wrong) throw new Problems(answer.wrong);
    let at = 0;
    const part = ([key, length]: [string, number]): [string, Uint8Array] => {
      at += length;
      return [key, body.slice(at - length, at)];
    };
    return { value: answer.value, parts: Object.fromEntries((answer.parts as [string, number][]).map(part)) };
  }

  private answer(name: Call, request: Uint8Array): Uint8Array {
    const { memory, alloc, free } = this.exports;
    const pointer = alloc(request.length);
    if (pointer === 0) throw new Trap(`there is no memory for a request of ${request.length} bytes`);
    new Uint8Array(memory.buffer).set(request, pointer);
    const [at, length] = unpacked(this.exports[name](pointer, request.length));
    const answer = new Uint8Array(memory.buffer, at, length).slice();
    free(at, length);
    return answer;
  }

  private guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const [at, length] = unpacked(this.exports.panic_text());
      const text = decoder.decode(new Uint8Array(this.exports.memory.buffer, at, length));
      const size = Math.round(this.exports.memory.buffer.byteLength / 1e6);
      // An allocation that fails ends the instance without a panic.
      throw new Trap(text || `${error.message}, with ${size} MB of memory`);
    }
  }
}

const unpacked = (packed: bigint): [number, number] => [
  Number(BigInt.asUintN(64, packed) >> 32n),
  Number(packed & 0xffff_ffffn),
];

/** Returns a request in which its scenario names its files with their lengths. */
function withLengths(request: unknown, files: Files): unknown {
  const names = Object.entries(files).map(([name, content]) => [name, content.length]);
  if (names.length === 0 || typeof request !== "object" || request === null) return request;
  const add = (object: object): object => {
    if ("text" in object) return { ...object, files: names };
    return Object.fromEntries(
      Object.entries(object).map(([key, value]) => {
        const holds =
          ["scenario", "run", "compare"].includes(key) && typeof value === "object" && value !== null;
        return [key, holds ? add(value) : value];
      }),
    );
  };
  return add(request);
}

/** Returns the bytes of a request: length of the head, head, contents of the files. */
function written(head: unknown, files: Files): Uint8Array {
  const text = encoder.encode(JSON.stringify(head));
  const contents = Object.values(files);
  const bytes = new Uint8Array(contents.reduce((sum, one) => sum + one.length, 4 + text.length));
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  let at = 4 + text.length;
  for (const content of contents) {
    bytes.set(content, at);
    at += content.length;
  }
  return bytes;
}

function divided(bytes: Uint8Array): { head: Uint8Array; body: Uint8Array } {
  const end = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return { head: bytes.subarray(4, end), body: bytes.subarray(end) };
}

/** Returns the index in a string of a byte of its UTF-8 text, such as the start of a problem's `span`. */
export function indexOfByte(text: string, byte: number): number {
  return decoder.decode(encoder.encode(text).subarray(0, byte)).length;
}

/** Returns the byte of a string's UTF-8 text at an index, such as a cursor for `complete`. */
export function byteOfIndex(text: string, index: number): number {
  return encoder.encode(text.slice(0, index)).length;
}

/** Message to the worker. */
export type ToWorker =
  | { kind: "load"; id: number; bytes: ArrayBuffer }
  | { kind: "call"; id: number; generation: number; name: Call; request: unknown; files: Files }
  | { kind: "job"; id: number; generation: number; request: JobRequest; files: Files }
  | { kind: "generation"; generation: number };

/** Message from the worker: the end of a request, or the progress of a job. */
export type FromWorker =
  | { kind: "answer"; id: number; answer: Answer<unknown> }
  | { kind: "progress"; id: number; progress: JobProgress }
  | { kind: "early"; id: number; answer: Answer<Ran> }
  | { kind: "failed"; id: number; error: WrittenError };

/** An error, as it passes between threads. */
export type WrittenError =
  | { name: "Problems"; message: string; help: string | null; problems: readonly ProblemData[] }
  | { name: "Trap" | "Overtaken" | "Error"; message: string };

/** Writes an error for the other thread. */
export function writtenError(error: unknown): WrittenError {
  if (error instanceof Problems) {
    const { message, help, problems } = error;
    return { name: "Problems", message, help, problems };
  }
  const message = error instanceof Error ? error.message : String(error);
  const name = error instanceof Trap ? "Trap" : error instanceof Overtaken ? "Overtaken" : "Error";
  return { name, message };
}

function readError(error: WrittenError): Error {
  switch (error.name) {
    case "Problems":
      return new Problems(error);
    case "Trap":
      return new Trap(error.message);
    case "Overtaken":
      return new Overtaken(error.message);
    default:
      return new Error(error.message);
  }
}

/** The part of a `Worker` that a client uses. */
export interface Port {
  postMessage(message: ToWorker, transfer?: Transferable[]): void;
  addEventListener(type: "message", listener: (event: MessageEvent<FromWorker>) => void): void;
}

interface Waiting {
  resolve(answer: Answer<unknown>): void;
  reject(error: Error): void;
  tell: Told | undefined;
}

/** Calls of a job to the page, before its answer. */
export interface Told {
  progress?(progress: JobProgress): void;
  /** Called with the result of runs whose effects of changes are not told yet. */
  early?(answer: Answer<Ran>): void;
}

/** The page's end of a worker with an engine. */
export class Client {
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private generation = 0;

  constructor(private readonly port: Port) {
    port.addEventListener("message", ({ data }) => this.receive(data));
  }

  /** Loads the module from its bytes, which the worker keeps. */
  async load(bytes: ArrayBuffer): Promise<void> {
    await this.post((id) => this.port.postMessage({ kind: "load", id, bytes }, [bytes]));
  }

  /** Begins a new generation: requests so far are rejected with `Overtaken`. */
  next(): void {
    this.generation += 1;
    this.port.postMessage({ kind: "generation", generation: this.generation });
  }

  /** Answers a request. */
  async call<Name extends Call>(
    name: Name,
    request: Calls[Name][0],
    files: Files = {},
  ): Promise<Answer<Calls[Name][1]>> {
    const { generation } = this;
    const post = (id: number) =>
      this.port.postMessage({ kind: "call", id, generation, name, request, files });
    return (await this.post(post)) as Answer<Calls[Name][1]>;
  }

  /** Makes runs or a comparison, and calls `tell` with their progress. */
  async job(request: JobRequest, tell?: Told, files: Files = {}): Promise<Answer<Ran | ComparedVariants>> {
    const { generation } = this;
    const post = (id: number) => this.port.postMessage({ kind: "job", id, generation, request, files });
    return (await this.post(post, tell)) as Answer<Ran | ComparedVariants>;
  }

  private post(post: (id: number) => void, tell?: Told): Promise<Answer<unknown>> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, tell });
      post(id);
    });
  }

  private receive(message: FromWorker): void {
    const waiting = this.waiting.get(message.id);
    if (message.kind === "progress") waiting?.tell?.progress?.(message.progress);
    if (message.kind === "early") waiting?.tell?.early?.(message.answer);
    if (message.kind === "progress" || message.kind === "early") return;
    this.waiting.delete(message.id);
    if (message.kind === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(readError(message.error));
  }
}
