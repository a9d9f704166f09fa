/** A server that plays a run to the live page, and the page in a real browser. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { builtPage, executable, FLAGS } from "./browser";
import { sample, status } from "./live-sample";

/** Plays a run: a sample a tenth of a second, and whatever is set is taken. */
export class Player {
  /** How a sample of this number looks, and what the network is. */
  sample: (number: number) => object = sample;
  status: object = status;
  /** The answer to a request of a large network's page, by its path and query. */
  answer: ((path: string) => unknown) | null = null;
  readonly streams = new Set<ServerResponse>();
  readonly asked: { path: string; body: string }[] = [];
  number = 120;
  playing = true;
  readonly server: Server;
  readonly #timer: NodeJS.Timeout;

  /** True if nothing can be changed, and nothing was. */
  readOnly = false;

  constructor(page: string) {
    this.server = createServer((request, response) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      const json = (value: unknown): void =>
        void response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
      if (request.method === "POST") {
        let body = "";
        request.on("data", (part: Buffer) => (body += part.toString()));
        request.on("end", () => {
          this.asked.push({ path, body });
          json({ at_s: this.number / 10, before: ["port.a->b.queue.one.limit=50p"] });
        });
      } else if (path === "/") response.setHeader("Content-Type", "text/html").end(page);
      else if (path === "/api/state")
        json({
          ...this.status,
          changes_need_token: false,
          read_only: this.readOnly,
          events: this.readOnly ? [] : [sample(100).events[0]],
          sample: null,
        });
      else if (path === "/api/samples")
        json(Array.from({ length: this.number }, (_, number) => this.sample(number)));
      else if (path === "/api/stream" && this.playing) {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        this.streams.add(response);
      } else if (this.answer !== null) json(this.answer(request.url ?? ""));
      else response.writeHead(404).end();
    });
    this.#timer = setInterval(() => {
      this.number += 1;
      for (const stream of this.streams)
        stream.write(`event: samples\ndata: [${JSON.stringify(this.sample(this.number))}]\n\n`);
    }, 100);
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Says that the run has ended, and waits until the page shows it. */
  async end(page: Page): Promise<void> {
    const verdict = {
      outcome: "held",
      headline: "All hold.",
      findings: ["Longest wait: 40 ms (p99) at a:b.", "The upload was limited by its window."],
      rows: [],
    };
    this.status = { ...this.status, ended: true, verdict };
    for (const stream of this.streams)
      stream.write(`event: status\ndata: ${JSON.stringify(this.status)}\n\n`);
    await page.waitForSelector(".ending .headline");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }

  cut(): void {
    this.playing = false;
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  close(): void {
    clearInterval(this.#timer);
    this.cut();
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** A browser with the live page, for all tests of a file. */
export class LivePages {
  browser!: Browser;
  html = "";

  constructor() {
    beforeAll(async () => {
      this.html = builtPage()
        .replace('id="lockgate-data">{}<', 'id="lockgate-data">{"live":true}<')
        .replace("default-src 'none';", "default-src 'none'; connect-src 'self';");
      this.browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
    });
    afterAll(() => this.browser?.close());
  }

  /** Opens the page of a player, and gathers whatever it complains of. */
  async open(
    player: Player,
    width: number,
    colorScheme: "light" | "dark",
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await (
      await this.browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    ).newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(await player.listen());
    await page.waitForSelector(".live .state[data-state=ok]");
    await page.waitForSelector("tr.selected");
    return { page, complaints };
  }
}
