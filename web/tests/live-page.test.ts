/** The page of a running run in a real browser, against a server that plays one. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executable, FLAGS } from "./browser";

const knob = (key: string, value: string, choices: string[] = []) => ({
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

const status = {
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

function queue(name: string, place: number, parent: number | null, packets: number) {
  return {
    name,
    kind: "fifo",
    place,
    parent,
    packets,
    bytes: 0,
    mean_packets: packets,
    peak_packets: packets + 3,
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
    total: { offered_packets: 9 },
  };
}

const sample = (number: number) => ({
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
      queues: [{ ...queue("fifo", 0, null, 0), total: { offered_packets: 0 } }],
    },
  ],
  flows: [
    {
      name: "f",
      offered_bps: 1.2e7,
      sent_packets: 9,
      received_bps: 1e7,
      lost_packets: 1,
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
});

/** Plays a run: a sample a tenth of a second, and whatever is set is taken. */
class Player {
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
          read_only: false,
          events: [sample(100).events[0]],
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

describe.skipIf(executable === undefined)("the page of a running run", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-live-"));
  let browser: Browser;
  let html = "";
  beforeAll(async () => {
    await build({
      root: fileURLToPath(new URL("..", import.meta.url)),
      logLevel: "silent",
      build: { outDir: folder, emptyOutDir: true },
    });
    html = readFileSync(join(folder, "report.html"), "utf8");
    expect(html).toContain("default-src 'none';");
    html = html
      .replace('id="lockgate-data">{}<', 'id="lockgate-data">{"live":true}<')
      .replace("default-src 'none';", "default-src 'none'; connect-src 'self';");
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(
    player: Player,
    width: number,
    colorScheme: "light" | "dark",
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await (
      await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    ).newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(await player.listen());
    await page.waitForSelector(".live .state[data-state=ok]");
    await page.waitForSelector("tr.selected");
    return { page, complaints };
  }

  it.each([
    [390, "light"],
    [1400, "dark"],
  ] as const)("fits %i pixels, %s", async (width, scheme) => {
    const player = new Player(html);
    const { page, complaints } = await open(player, width, scheme);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(await page.locator(".strip canvas").count()).toBe(4);
    expect(await page.locator(".wide tbody tr").count()).toBe(3);
    expect(await page.locator(".events li").first().textContent()).toContain("link.l.rate = 10mbit");
    if (process.env["SCREENSHOTS"])
      await page.screenshot({
        path: join(process.env["SCREENSHOTS"], `live-${width}-${scheme}.png`),
        fullPage: true,
      });
    expect(complaints).toEqual([]);
    player.close();
  });

  it("shows every direction of a link with its own rate and load", async () => {
    const player = new Player(html);
    player.sample = (number) => {
      const [forth, back] = sample(number).ports;
      return {
        ...sample(number),
        ports: [forth, { ...back, sent_bps: 2.5e7, queues: [queue("fifo", 0, null, 7)] }],
      };
    };
    const { page, complaints } = await open(player, 1400, "light");
    await expect
      .poll(() => page.locator("svg text", { hasText: "bit/s" }).allTextContents())
      .toEqual(["9.00 M/10.00 Mbit/s", "25.00 M/100.00 Mbit/s"]);
    const ends = (name: string): Promise<string[]> =>
      page
        .locator(".queue-mark")
        .evaluateAll((marks, of) => marks.map((mark) => mark.getAttribute(of) ?? ""), name);
    expect(await ends("aria-label")).toEqual([
      expect.stringMatching(/^a->b: \d+ packets wait, 9.00 Mbit\/s of 10.00 Mbit\/s$/),
      "b->a: 7 packets wait, 25.00 Mbit/s of 100.00 Mbit/s",
    ]);
    const loads = await page.locator("svg line.load").evaluateAll((lines) => {
      const length = (line: Element): number =>
        Math.abs(Number(line.getAttribute("x2")) - Number(line.getAttribute("x1")));
      const whole = lines[0]?.parentElement?.querySelector("line:not(.load)");
      return lines.map((line) => length(line) / length(whole as Element));
    });
    expect(loads.map((load) => Number(load.toFixed(2)))).toEqual([0.9, 0.25]);
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 820, 390])("lets no rate cover another, nor the bar the title: %i pixels", async (width) => {
    const player = new Player(html);
    const nodes = [..."abcdef"];
    const chain = nodes.slice(1).map((to, index) => ({ from: nodes[index] as string, to }));
    const ends = chain.flatMap(({ from, to }, link) => [
      { from, to, link: `l${link}` },
      { from: to, to: from, link: `l${link}` },
    ]);
    player.status = {
      ...status,
      nodes,
      links: chain.map((link, index) => ({ ...status.links[0], ...link, name: `l${index}` })),
      ports: ends.map((port) => ({ ...port, name: `${port.from}->${port.to}`, root: null, queues: [] })),
    };
    const ports = ends.map(({ from, to }, index) => ({
      name: `${from}->${to}`,
      index,
      sent_bps: 9.47e6,
      ring_packets: 0,
      queues: [{ ...queue("fifo", 0, null, 3), dropped_packets: 0 }],
    }));
    player.sample = (number) => ({ ...sample(number), ports });
    const { page, complaints } = await open(player, width, "light");
    const rates = page.locator("svg text", { hasText: /^9\.47 M/ });
    await expect.poll(() => rates.count()).toBe(10);
    const covered = await rates.evaluateAll((texts) => {
      const boxes = texts.map((text) => text.getBoundingClientRect());
      return boxes.flatMap((a, at) =>
        boxes
          .slice(at + 1)
          .filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
      ).length;
    });
    expect(covered).toBe(0);
    const bar = await page.locator(".live .bar").boundingBox();
    const controls = await page.locator(".live .bar .end").boundingBox();
    expect((controls?.y ?? 0) + (controls?.height ?? 0)).toBeLessThanOrEqual(
      (bar?.y ?? 0) + (bar?.height ?? 0),
    );
    expect(complaints).toEqual([]);
    player.close();
  });

  it("sets what is typed, by the keyboard alone", async () => {
    const player = new Player(html);
    const { page } = await open(player, 1280, "light");
    await page.keyboard.press("ArrowDown");
    const field = page.getByLabel("port.a->b.queue.one.limit, limit");
    await field.fill("20p");
    await field.press("Enter");
    await page.waitForSelector(".knob[data-state=set]");
    expect(player.asked).toEqual([{ path: "/api/set", body: '{"set":["port.a->b.queue.one.limit=20p"]}' }]);
    await page.getByRole("button", { name: /^raise port\.a->b\.queue\.one\.limit/ }).click();
    await expect.poll(() => player.asked.length).toBe(2);
    expect(player.asked[1]?.body).toContain("limit=62p");
    player.close();
  });

  it("undoes a change and notes a moment", async () => {
    const player = new Player(html);
    const { page, complaints } = await open(player, 1280, "light");
    await page.getByRole("button", { name: "undo: set link.l.rate=5mbit" }).click();
    await expect
      .poll(() => player.asked.at(-1))
      .toEqual({ path: "/api/set", body: '{"set":["link.l.rate=5mbit"]}' });
    await page.locator(".live h1").click();
    await page.keyboard.press("m");
    await expect.poll(() => player.asked.at(-1)).toEqual({ path: "/api/mark", body: '{"text":""}' });
    expect(await page.locator(".flows tbody tr").first().textContent()).toContain("14.5 kB");
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([
    [1280, "light"],
    [1280, "dark"],
    [820, "light"],
    [820, "dark"],
    [360, "light"],
    [360, "dark"],
  ] as const)(
    "has no serious fault for those who see or point otherwise: %i pixels, %s",
    async (width, scheme) => {
      const player = new Player(html);
      const { page } = await open(player, width, scheme);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      // A picture that stands still while it is looked at.
      await page.locator(".live h1").click();
      await page.keyboard.press("Space");
      const found = await new AxeBuilder({ page: page as never }).analyze();
      const serious = found.violations.filter(
        (violation) => violation.impact === "serious" || violation.impact === "critical",
      );
      expect(
        serious.map(
          (violation) =>
            `${violation.id}: ${violation.nodes.map((node) => node.target.join(" ")).join(", ")}`,
        ),
      ).toEqual([]);
      player.close();
    },
  );

  it("is worked by the keyboard alone", async () => {
    const player = new Player(html);
    const { page } = await open(player, 1280, "light");
    const reached = new Set<string>();
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      reached.add(
        await page.evaluate(() => {
          const focus = document.activeElement;
          const outline =
            focus === null ? "" : getComputedStyle(focus).outlineStyle + getComputedStyle(focus).boxShadow;
          return `${focus?.getAttribute("aria-label") ?? focus?.textContent ?? ""}|${outline === "nonenone" ? "unseen" : "seen"}`;
        }),
      );
    }
    for (const name of [
      "Pause",
      "Mark",
      "Save scenario",
      "Interval of samples",
      "Filter events",
      "Scrub over the last minutes",
      "undo: set link.l.rate=5mbit",
      "port.a->b.root, limit",
    ]) {
      expect(
        [...reached].some((one) => one.startsWith(name) && one.endsWith("|seen")),
        `${name} in ${[...reached].join("; ")}`,
      ).toBe(true);
    }
    player.close();
  });

  it("keeps the queues of before a swap in the picture, and says what was swapped", async () => {
    const player = new Player(html);
    const swapped = {
      at_s: 11,
      kind: "change",
      path: "port.a->b.root",
      value: "fair",
      moved_packets: 30,
      forced_out_packets: 0,
      text: "",
      before: ["port.a->b.root=q"],
    };
    player.sample = (number) => {
      const before = sample(number);
      if (number <= 110) return before;
      return {
        ...before,
        ports: [{ ...before.ports[0], queues: [queue("fair", 0, null, 3)] }, before.ports[1]],
        events: number === 111 ? [swapped] : [],
      };
    };
    const { page, complaints } = await open(player, 1280, "light");
    await expect
      .poll(() => page.locator(".strips .key").textContent())
      .toBe("q until 11 sone until 11 sfair".replaceAll("11 s", "11\u202fs"));
    expect(await page.locator("tr.selected th").textContent()).toBe("a->b fair");
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([
    [390, "light"],
    [1400, "dark"],
  ] as const)("shows delays between intervals without a packet: %i pixels, %s", async (width, scheme) => {
    const player = new Player(html);
    player.sample = (number) => {
      const whole = sample(number);
      const silent = number % 2 === 1 || (number >= 30 && number < 60);
      const none = { sojourn_p50_s: null, sojourn_p99_s: null };
      return {
        ...whole,
        ports: whole.ports.map((port) => ({
          ...port,
          queues: port.queues.map((one) => (silent || one.name !== "q" ? { ...one, ...none } : one)),
        })),
      };
    };
    const { page, complaints } = await open(player, width, scheme);
    const blue = (): Promise<number[]> =>
      page.locator(".strip canvas").evaluateAll((canvases) =>
        (canvases as HTMLCanvasElement[]).map((canvas) => {
          const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
          let count = 0;
          for (let at = 0; at < data.length; at += 4)
            if ((data[at + 3] ?? 0) > 99 && (data[at + 2] ?? 0) - (data[at] ?? 0) > 60) count += 1;
          return count;
        }),
      );
    await expect.poll(async () => (await blue())[1]).toBeGreaterThan(100);
    if (process.env["SCREENSHOTS"])
      await page.locator(".strips").screenshot({
        path: join(process.env["SCREENSHOTS"], `live-dots-${width}-${scheme}.png`),
      });
    expect(complaints).toEqual([]);
    player.close();
  });

  it("has its charts near, however many ports there are, and finds each", async () => {
    const player = new Player(html);
    const names = Array.from({ length: 200 }, (_, index) => `hub->s${index + 1}`);
    const [port] = status.ports;
    player.status = {
      ...status,
      nodes: ["hub", ...names],
      ports: names.map((name) => ({ ...port, name, from: "hub", to: name })),
      links: [],
    };
    player.sample = (number) => ({
      ...sample(number),
      ports: names.map((name, index) => ({
        name,
        index,
        sent_bps: 1,
        ring_packets: 0,
        queues: [queue("q", 0, null, index % 50), queue("one", 1, 0, 1), queue("two", 2, 0, 1)],
      })),
    });
    const { page, complaints } = await open(player, 1280, "light");
    expect((await page.locator(".strips").boundingBox())?.y).toBeLessThan(1000);
    expect(await page.locator("#queues tbody tr").count()).toBe(40 + 2);
    expect(await page.locator("#queues").textContent()).toContain("40 of 200 ports");
    await page.getByLabel("Filter queues").fill("s117");
    await expect.poll(() => page.locator("#queues tbody tr", { hasText: "hub->s117" }).count()).toBe(1);
    await page.locator("#queues tbody tr", { hasText: "hub->s117" }).click();
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("hub->s117 q");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("takes a click for one though samples arrive while the button is down", async () => {
    const player = new Player(html);
    const { page, complaints } = await open(player, 1280, "light");
    const slowly = { delay: 350 };
    await page.locator("#queues tbody tr", { hasText: "one" }).click(slowly);
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("one");
    await page.locator(".queue-mark").first().click(slowly);
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("a->b q");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("finds each queue of a network that is too large to show, with its knobs", async () => {
    const player = new Player(html);
    const asked: string[] = [];
    player.answer = (path) => {
      asked.push(path);
      if (!path.startsWith("/api/knobs")) return [];
      const [port] = status.ports;
      return {
        port: { ...port, name: "bng:olt", queues: [["plan/77", [knob("rate", "50mbit")]]] },
        link: status.links[0],
      };
    };
    player.status = { ...status, is_large: true, nodes: [], links: [], ports: [], flows: [] };
    const worst = Array.from({ length: 100 }, (_, index) =>
      queue(`plan/${901 + index}`, 2 + index, 0, 101 + index),
    );
    player.sample = (number) => {
      const isFollowed = asked.some((path) => path.includes("plan%2F77"));
      const found = isFollowed ? [queue("plan/77", 500, 0, 1)] : [];
      return {
        ...sample(number),
        left_out: { ports: 9_000, queues: 19_899 - found.length, flows: 5_000 },
        ports: [
          {
            name: "bng:olt",
            index: 4,
            sent_bps: 9e9,
            ring_packets: 0,
            queues: [queue("shaper", 0, null, 900), ...found, ...worst],
          },
        ],
      };
    };
    const { page, complaints } = await open(player, 1280, "light");
    expect(await page.locator("#queues").textContent()).toContain("101 of 20000 queues, the worst");
    await page.getByLabel("Order of queues").selectOption("backlog");
    await expect.poll(() => page.locator("#queues tbody th").first().textContent()).toBe("bng:olt plan/1000");
    await page.getByLabel("Filter queues").fill("plan/77");
    await page.locator("#queues tbody tr", { hasText: "plan/77" }).click();
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("bng:olt plan/77");
    await expect.poll(() => page.locator(".knobs caption").allTextContents()).toContain("Queue plan/77");
    expect(asked).toContain("/api/knobs?port=bng%3Aolt&queue=plan%2F77");
    expect(complaints).toEqual([]);
    player.close();
  });

  const judged = (value: string, holds: boolean, used: number) => ({
    that: "flow.f.owd.p99",
    subject: "f",
    quantity: "delay p99",
    value,
    wanted: "below 30 ms",
    holds,
    used_ratio: used,
    margin: "",
  });

  it.each([1400, 390])("counts expectations along, and ends with the verdict: %i pixels", async (width) => {
    const player = new Player(html);
    player.status = { ...status, warmup_s: 4, expectations: 2 };
    const now = { holds: true };
    player.sample = (number) => ({
      ...sample(number),
      judged: number < 100 ? [] : [judged(`${number} ms`, now.holds, number / 200)],
    });
    const { page, complaints } = await open(player, width, "light");
    const strip = page.locator(".expected");
    await expect
      .poll(() => strip.locator(".note").textContent())
      .toBe("1 of 1 hold so far; 1 more at the end");
    now.holds = false;
    await expect
      .poll(() => strip.locator("li.bad").textContent())
      .toMatch(/^✗f delay p991\d\d msbelow 30 ms$/);
    await expect
      .poll(() => strip.locator(".note").textContent())
      .toBe("0 of 1 hold so far; 1 more at the end");
    // What the page shows of the past is what was judged then.
    await page.locator(".live h1").click();
    for (let step = 0; step < 9; step += 1) await page.keyboard.press("[");
    await expect.poll(() => strip.locator("li").count()).toBe(0);
    await page.locator("button", { hasText: "Live" }).last().click();
    const verdict = {
      outcome: "missed",
      headline: "1 of 2 missed: f delay p99 40 ms.",
      findings: ["Longest wait: 40 ms (p99) in the <b>fifo</b> at a:b, nothing dropped there."],
      rows: [judged("40 ms", false, 1.33), { ...judged("7 ms", true, 0.2), subject: "g" }],
    };
    const ended = { ...player.status, ended: true, verdict, results: "runs/two" };
    for (const stream of player.streams) stream.write(`event: status\ndata: ${JSON.stringify(ended)}\n\n`);
    await expect
      .poll(() => page.locator(".ending").innerText())
      .toContain("✗ 1 of 2 missed: f delay p99 40 ms.");
    const card = await page.locator(".ending").innerText();
    for (const words of ["the <b>fifo</b> at a:b", "7 ms", "runs/two/report.html"])
      expect(card).toContain(words);
    expect(await page.locator(".ending .chips li").count()).toBe(2);
    for (const gone of ["Pause", "Hold", "Mark"])
      expect(await page.locator(".bar button", { hasText: gone }).isVisible(), gone).toBe(false);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 390])("moves nothing when the first samples come: %i pixels", async (width) => {
    const player = new Player(html);
    player.status = { ...status, warmup_s: 4, expectations: 4 };
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(() => {
      const shifts: number[] = [];
      Object.assign(window, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(await player.listen());
    await page.waitForSelector(".live:not(.waiting) tr.selected");
    await page.waitForFunction(() =>
      /1[3-9]\.\d\d s/.test(document.querySelector(".clock")?.textContent ?? ""),
    );
    const sum = await page.evaluate(() =>
      (window as unknown as { shifts: number[] }).shifts.reduce((all, one) => all + one, 0),
    );
    expect(sum).toBeLessThan(0.02);
    await context.close();
    player.close();
  });

  it("draws a part of the page when it comes near the screen, and not before", async () => {
    const player = new Player(html);
    const { page, complaints } = await open(player, 390, "light");
    const cells = page.locator(".flows td");
    await expect.poll(() => cells.count()).toBeGreaterThan(0);
    const texts = (): Promise<string> => page.locator(".flows tbody").innerText();
    // The first picture has all parts; then the far ones stand still.
    const clock = (): Promise<string> => page.locator(".clock").innerText();
    await page.evaluate(() => {
      const seen: number[] = [];
      Object.assign(window, { seen });
      const body = document.querySelector(".flows tbody");
      if (body)
        new MutationObserver(() => seen.push(1)).observe(body, {
          childList: true,
          characterData: true,
          subtree: true,
        });
    });
    player.sample = (number) => {
      const whole = sample(number);
      return {
        ...whole,
        flows: whole.flows.map((flow) => ({ ...flow, lost_packets: number })),
      };
    };
    const before = await clock();
    await expect.poll(clock).not.toBe(before);
    await page.waitForTimeout(600);
    expect(await page.evaluate(() => (window as unknown as { seen: number[] }).seen.length)).toBe(0);
    const old = await texts();
    await page.locator(".flows").scrollIntoViewIfNeeded();
    await expect.poll(texts).not.toBe(old);
    expect(complaints).toEqual([]);
    player.close();
  });

  it("shows a flow over time at a click, and the queues again", async () => {
    const player = new Player(html);
    const { page, complaints } = await open(player, 1280, "light");
    const first = page.locator(".strip figcaption").first();
    expect(await first.textContent()).toContain("Rate (thin: offered)");
    await page.locator(".flows th button", { hasText: "f" }).click({ delay: 350 });
    await expect.poll(() => first.textContent()).toContain("Rate received");
    expect(await page.locator(".strips .key").textContent()).toBe("flow f");
    await page.locator(".strip").nth(1).hover();
    await expect
      .poll(() => page.locator(".strip").nth(1).locator(".values").textContent())
      .toContain("40\u202fms");
    await page.locator("button", { hasText: "back to the queues" }).click();
    await expect.poll(() => first.textContent()).toContain("Rate (thin: offered)");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("shows bands over the members of a large network, and keeps the worst five", async () => {
    const player = new Player(html);
    player.answer = () => [];
    player.status = { ...status, is_large: true, nodes: [], links: [], ports: [], flows: [] };
    player.sample = (number) => {
      const [flow] = sample(number).flows;
      // Each is the worst for a while; call/0 was it most of all, at the start.
      const names = [0, 1, 2, 3, 4].map((place) => `call/${(number + place) % 9}`);
      const flows = names.map((name) => ({ ...flow, name, owd_p99_s: name === "call/0" ? 0.9 : 0.1 }));
      const group = {
        name: "call",
        members: 1000,
        receiving: 998,
        received_bps: 1e8,
        lost_packets: 3,
        owd_p50_s: 0.01,
        owd_p95_s: 0.03,
        owd_p99_s: 0.07,
        owd_max_s: 0.9,
        worst: names,
      };
      return { ...sample(number), left_out: { ports: 0, queues: 900, flows: 995 }, flows, groups: [group] };
    };
    const { page, complaints } = await open(player, 1280, "light");
    await expect.poll(() => page.locator(".bands canvas").count()).toBe(1);
    expect(await page.locator(".bands figcaption").textContent()).toContain(
      "998 of 1000 receive: p50 10.0 ms, p99 70.0 ms, max 900.0 ms; 3 lost",
    );
    await expect.poll(() => page.locator(".bands .worst button").count()).toBe(5);
    const worst = page.locator(".bands .worst button").first();
    expect(await worst.textContent()).toMatch(/^call\/0 900.0 ms at /);
    await worst.click({ delay: 350 });
    await expect.poll(() => page.locator(".strips .key").textContent()).toBe("flow call/0");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("stands still when paused, and says when its stream is cut", async () => {
    const player = new Player(html);
    const { page } = await open(player, 1280, "light");
    await page.locator(".live h1").click();
    await page.keyboard.press("Space");
    await page.waitForFunction(() =>
      /paused, [1-9]/.test(document.querySelector(".state")?.textContent ?? ""),
    );
    const clock = await page.locator(".clock").textContent();
    expect(await page.locator(".clock").textContent()).toBe(clock);
    await page.keyboard.press("Space");
    await page.waitForFunction((before) => document.querySelector(".clock")?.textContent !== before, clock);
    player.cut();
    await page.waitForSelector(".state[data-state=cut]", { timeout: 15_000 });
    expect(await page.locator(".state").textContent()).toContain("cut");
    player.close();
  });
});
