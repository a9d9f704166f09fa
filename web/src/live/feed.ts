/**
 * Data of the running run from the server: samples in a ring, status and events; and requests to the server.
 */

import type {
  Done,
  EventSample,
  LinkStatus,
  PortStatus,
  Refused,
  Sample,
  Status,
} from "../generated/lockgate";
import type { PastColumns } from "./past";

/** The answer of `api/state`: the status, the server's permissions, and the events so far. */
interface State extends Status {
  changes_need_token: boolean;
  read_only: boolean;
  events: EventSample[];
}

/** Returns the samples after the one of this number; all are in the order of their numbers. */
export function samplesAfter(samples: readonly Sample[], number: number): readonly Sample[] {
  let from = samples.length;
  while (from > 0 && (samples[from - 1] as Sample).number > number) from -= 1;
  return samples.slice(from);
}

/** Length of the kept history, in seconds of the run. */
const KEPT_S = 900;

/** Largest number of samples kept, so that a page that stays open for a day does not grow. */
const KEPT = 18_000;

/** Silence after which the page shows that the stream is interrupted. */
const SILENCE_MS = 5_000;

const TOKEN = "lockgate-token";

/**
 * Appends samples to `kept` and removes the oldest. Returns how many intervals are missing before the new
 * ones.
 */
export function keep(kept: Sample[], fresh: readonly Sample[]): number {
  let missing = 0;
  for (const sample of fresh) {
    const last = kept.at(-1);
    if (last && sample.number <= last.number) continue;
    if (last) missing += sample.number - last.number - 1;
    kept.push(sample);
  }
  const oldest = (kept.at(-1)?.at_s ?? 0) - KEPT_S;
  let surplus = Math.max(0, kept.length - KEPT);
  while (surplus < kept.length && (kept[surplus] as Sample).at_s < oldest) surplus += 1;
  // In blocks, because removing one element moves all others.
  if (surplus > 256) kept.splice(0, surplus);
  return missing;
}

export class Feed {
  status: Status | null = null;
  readonly samples: Sample[] = [];
  readonly events: EventSample[] = [];
  needsToken = false;
  readOnly = false;
  missed = 0;
  /** Whether the server has sent anything lately. */
  connected = false;
  #heard = 0;
  readonly #listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  async start(): Promise<void> {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token !== null) {
      sessionStorage.setItem(TOKEN, token);
      history.replaceState(null, "", location.pathname);
    }
    const state = (await (await fetch("api/state")).json()) as State;
    this.status = state;
    this.needsToken = state.changes_need_token;
    this.readOnly = state.read_only;
    this.events.push(...state.events);
    keep(this.samples, (await (await fetch("api/samples?most=6000")).json()) as Sample[]);
    this.#listen();
    window.setInterval(() => {
      const connected = performance.now() - this.#heard < SILENCE_MS;
      if (connected !== this.connected) {
        this.connected = connected;
        this.#tell();
      }
    }, 500);
    this.#tell();
  }

  #listen(): void {
    void this.#read()
      .catch(() => undefined)
      .finally(() => {
        if (this.status?.ended !== true) window.setTimeout(() => this.#listen(), 1_000);
      });
  }

  /**
   * Reads the stream to its end. Without `EventSource`, which does not report comments: a stream without
   * samples sends comments to show that it is alive.
   */
  async #read(): Promise<void> {
    const response = await fetch("api/stream");
    // Fetches the samples from before the stream began, and from the time without a stream.
    const last = this.samples.at(-1)?.at_s;
    if (last !== undefined)
      this.#accept((await (await fetch(`api/samples?after=${last}`)).json()) as Sample[]);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) return;
      this.#heard = performance.now();
      this.connected = true;
      text += part.value;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
      this.#tell();
    }
  }

  #take(block: string): void {
    const name = /^event: (.*)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1] ?? "";
    if (name === "missed") this.missed += Number(data);
    else if (name === "status") this.status = JSON.parse(data) as Status;
    else if (name === "samples") {
      this.#accept(JSON.parse(data) as Sample[]);
    }
  }

  #accept(fresh: readonly Sample[]): void {
    const last = this.samples.at(-1)?.number ?? -1;
    keep(this.samples, fresh);
    for (const event of fresh.filter((sample) => sample.number > last).flatMap((sample) => sample.events)) {
      // The first events may have been in the state already.
      const same = (known: EventSample): boolean =>
        known.at_s === event.at_s && known.path === event.path && known.text === event.text;
      if (!this.events.slice(-100).some(same)) this.events.push(event);
    }
    if (this.events.length > 2_000) this.events.splice(0, 1_000);
  }

  /**
   * Searches for queues with this text in their name; of a large network, samples then contain them for a
   * minute.
   */
  async search(text: string): Promise<void> {
    await fetch(`api/queues?most=0&match=${encodeURIComponent(text)}`).catch(() => undefined);
  }

  /** Fetches the last hour of a port's queues. */
  async past(port: number): Promise<PastColumns | null> {
    const response = await fetch(`api/past?port=${port}`).catch(() => null);
    return response?.ok ? ((await response.json()) as PastColumns) : null;
  }

  /** Fetches the knobs of a queue, for a network too large for a status with all knobs. */
  async knobs(port: string, queue: string): Promise<{ port: PortStatus; link: LinkStatus } | null> {
    const query = new URLSearchParams({ port, queue });
    const response = await fetch(`api/knobs?${query}`).catch(() => null);
    return response?.ok ? ((await response.json()) as { port: PortStatus; link: LinkStatus }) : null;
  }

  /** Sets values. The answer is a sentence. */
  async set(settings: string[], lasting = ""): Promise<{ ok: boolean; text: string }> {
    return this.#post("api/set", lasting === "" ? { set: settings } : { set: settings, for: lasting });
  }

  async control(what: {
    every?: string;
    pace?: number;
    held?: boolean;
  }): Promise<{ ok: boolean; text: string }> {
    return this.#post("api/control", what);
  }

  async mark(text: string): Promise<{ ok: boolean; text: string }> {
    return this.#post("api/mark", { text });
  }

  async #post(path: string, body: unknown): Promise<{ ok: boolean; text: string }> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    const token = sessionStorage.getItem(TOKEN);
    if (token !== null) headers["Authorization"] = `Bearer ${token}`;
    try {
      const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      const answer = (await response.json()) as Partial<Done & Refused>;
      const before = answer.before?.join(", ") || "not set";
      if (response.ok)
        return {
          ok: true,
          text: answer.at_s === undefined ? "done" : `set at ${answer.at_s.toFixed(3)} s (was ${before})`,
        };
      return {
        ok: false,
        text:
          (answer.problems ?? []).map((problem) => `${problem.message}; ${problem.help}`).join(" ") ||
          `refused (${response.status})`,
      };
    } catch {
      return { ok: false, text: "the server does not answer" };
    }
  }
}
