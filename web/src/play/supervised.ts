/** A worker with the simulator that is replaced when it is deaf: it computes without an answer for too long. */
import type { ComparedVariants, JobRequest, Ran } from "../generated/lockgate";
import { type Answer, type Call, type Calls, Client, type Files, type Port, type Told, Trap } from "./engine";

/** A worker that can be ended. */
export interface Ending extends Port {
  terminate(): void;
}

/** Time without a message after which a worker is deaf, in milliseconds. */
const DEAF_MS = 15_000;

export class Supervised {
  #worker!: Ending;
  #client!: Client;
  #loaded!: Promise<void>;
  #isLoaded = false;
  /** Requests without an answer: each is rejected when the worker is replaced. */
  readonly #open = new Set<(error: Error) => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly start: () => Ending,
    readonly module: ArrayBuffer,
    readonly deafMs = DEAF_MS,
  ) {
    this.#begin();
  }

  /** Begins a new generation: requests so far are rejected with `Overtaken`. */
  next(): void {
    this.#client.next();
  }

  call<Name extends Call>(
    name: Name,
    request: Calls[Name][0],
    files: Files = {},
  ): Promise<Answer<Calls[Name][1]>> {
    return this.#watched((client) => client.call(name, request, files));
  }

  job(request: JobRequest, tell?: Told, files: Files = {}): Promise<Answer<Ran | ComparedVariants>> {
    return this.#watched((client) => client.job(request, tell, files));
  }

  #begin(): void {
    this.#worker = this.start();
    this.#worker.addEventListener("message", () => this.#heard());
    this.#client = new Client(this.#worker);
    this.#isLoaded = false;
    this.#loaded = this.#client.load(this.module.slice(0)).then(() => {
      this.#isLoaded = true;
    });
    this.#loaded.catch(() => {});
  }

  #watched<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#open.add(reject);
      if (this.#open.size === 1) this.#heard();
      const end = (): void => {
        this.#open.delete(reject);
        if (this.#open.size === 0) clearTimeout(this.#timer);
      };
      const client = this.#client;
      // Only a request at the start waits, for the module to be compiled.
      const answer = this.#isLoaded ? ask(client) : this.#loaded.then(() => ask(client));
      answer.then(
        (answer) => {
          end();
          resolve(answer);
        },
        (error) => {
          end();
          reject(error);
        },
      );
    });
  }

  #heard(): void {
    clearTimeout(this.#timer);
    if (this.#open.size > 0) this.#timer = setTimeout(() => this.#replace(), this.deafMs);
  }

  #replace(): void {
    this.#worker.terminate();
    const open = [...this.#open];
    this.#open.clear();
    this.#begin();
    const error = new Trap(
      `the simulator gave no answer for ${Math.round(this.deafMs / 1000)} s: it was started anew`,
    );
    for (const reject of open) reject(error);
  }
}
