/** The built page in a real browser: opens from a disk, asks for nothing, draws everything, and can be printed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Download, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  PortData,
  PortSummary,
  QueueSummary,
  Run,
  RunVerdict,
  TopologyLink,
} from "../src/generated/lockgate";
import type { Report } from "../src/report";
import { builtPage, executable, FLAGS } from "./browser";
import { compareReport, edgeReport, fill, sampleReport, singleReport, sparseReport } from "./sample";

const FIGURES = ["topology", "time", "owd-cdf", "owd-ccdf", "owd-box", "owd-split", "iat-density", "drops"];

const folder = mkdtempSync(join(tmpdir(), "lockgate-web-"));
const template = builtPage();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Clicks a button and returns the file that it saves. */
async function download(page: Page, button: string): Promise<Download> {
  const begun = page.waitForEvent("download");
  await page.locator(button).click();
  return begun;
}

/** Returns a report of a run with six changes: a column for each in the verdict. */
function changesReport(): Report {
  const report = singleReport();
  const [run] = report.runs;
  if (!run) throw new Error("no run");
  const parts = [0, 10, 20, 30, 40, 50, 60];
  const [that, subject, quantity] = ["flow.voice.owd.p50", "voice", "delay median"];
  const phases = {
    heads: parts.map((from) => `${from} to ${from + 10} s, router:client = fair`),
    rows: [{ that, subject, quantity, judged: false, values: parts.map(() => "20.8 ms") }],
  };
  run.summary.verdict = { outcome: "none", headline: "Nothing is expected.", findings: [], rows: [], phases };
  return report;
}

describe("the built file", () => {
  it("carries the marker once, nothing from outside, and stays small", () => {
    expect(template.split('<script type="application/json" id="lockgate-data">{}</script>')).toHaveLength(2);
    expect(template).not.toMatch(/<script[^>]*\ssrc=|<link[^>]*\shref="(?!data:)/);
    expect(fill(template, sampleReport()).length).toBeLessThan(1.5e6);
  });
});

describe.skipIf(executable === undefined)("the page", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(() => browser?.close());

  /** Opens a report and gathers whatever it complains of or asks for. */
  async function open(
    name: string,
    html: string,
    width = 1280,
  ): Promise<{ page: Page; complaints: string[] }> {
    const path = join(folder, `${name}.html`);
    writeFileSync(path, html);
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: "light",
      acceptDownloads: true,
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      const address = request.url();
      if (address !== `file://${path}` && !/^(data|blob):/.test(address))
        complaints.push(`request: ${address}`);
    });
    await page.goto(`file://${path}`);
    await page.waitForSelector("#page main");
    return { page, complaints };
  }

  /** Brings a figure near the screen, which draws it. */
  const scrollTo = async (page: Page, id: string): Promise<void> => {
    const figure = page.locator(`#figure-${id}`);
    await figure.evaluate((one) => one.scrollIntoView({ block: "center" }));
    await figure.locator(".picture svg, .picture .nothing").first().waitFor();
  };

  const drawn = async (page: Page, id: string): Promise<number> => {
    await scrollTo(page, id);
    return page.locator(`#figure-${id} .picture svg`).locator("path, line, rect, circle, text").count();
  };

  it("draws every figure, in light and dark, without a word or a request", async () => {
    const { page, complaints } = await open("sample", fill(template, sampleReport()));
    for (const id of [...FIGURES, "extra-load", "extra-bars"])
      expect(await drawn(page, id), id).toBeGreaterThan(8);
    expect(await page.locator("#verdict .badge.bad, #expectations .badge.bad").count()).toBe(3);
    // Several runs: the mean with its interval, and how many of them hold by themselves.
    const first = await page.locator("#expectations tbody tr").first().textContent();
    for (const words of ["the call", "±", "3 of 3"]) expect(first).toContain(words);
    expect(await page.title()).toContain("voice beside a bulk upload");
    // A twin's runs are called by their modes alone, in every table.
    expect(await page.textContent("header.title")).toContain("2 runs: simulation, live");
    const tables = (
      await page.locator("#expectations table, #flows table, #queues table").allTextContents()
    ).join();
    expect(tables).toMatch(/simulation.*live/s);
    expect(tables).not.toMatch(/\((simulation|live)\)/);
    const strokes = await page.locator("#figure-owd-cdf .picture path[stroke-dasharray]").count();
    expect(strokes).toBeGreaterThanOrEqual(3);
    const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.click("#theme");
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).not.toBe(before);
    for (const id of FIGURES) expect(await drawn(page, id), `${id} in dark`).toBeGreaterThan(8);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  /** Returns a report of one run with a verdict, as Rust makes it. */
  function answered(): Report {
    const report = singleReport();
    const row = {
      that: "flow.voice.owd.p99",
      wanted: "below 20 ms",
      subject: "voice",
      quantity: "delay p99",
    };
    const verdict: RunVerdict = {
      outcome: "missed",
      headline: "1 of 2 missed: voice delay p99 31.8 ms, 59 % above its bound of 20 ms.",
      findings: [
        "Longest wait: 30 ms (p99) in the <b>fifo</b> at a:b, nothing dropped there.",
        "Take port.router:modem.queue.cake.bandwidth=9.872mbit,port.modem:router.queue.cake.bandwidth=98mbit.",
      ],
      rows: [
        { ...row, value: "31.8 ms", holds: false, used_ratio: 1.59, margin: "59 % above its bound" },
        {
          ...row,
          subject: "",
          quantity: "the line stays responsive under load",
          value: "4.13 ms, grade A+",
          wanted: "grade A or better",
          holds: true,
          margin: "",
        },
      ],
      phases: {
        heads: ["5 to 30 s", "30 to 60 s, a:b = fair"],
        rows: [
          {
            that: "",
            subject: "voice",
            quantity: "delay median",
            values: ["950 ms", "20.7 ms"],
            judged: false,
          },
        ],
      },
    };
    for (const run of report.runs) run.summary.verdict = verdict;
    report.verdict = [verdict.headline, ...verdict.findings];
    return report;
  }

  it.each([1400, 820, 390])("says the answer first, beside the network: %i pixels", async (width) => {
    const { page, complaints } = await open(`answer-${width}`, fill(template, answered()), width);
    const said = await page.locator(".answer").innerText();
    for (const words of ["✗ 1 of 2 missed", "the <b>fifo</b> at a:b", "31.8 ms", "below 20 ms", "950 ms"])
      expect(said).toContain(words);
    const meter = await page.locator(".judged tr.bad .meter i").first().getAttribute("style");
    expect(meter).toBe("width:100.0%");
    expect(await page.locator(".judged tr").nth(1).locator(".meter").count()).toBe(0);
    // An expectation with a name has no subject, and is shown by its name.
    const names = await page.locator(".judged button").allTextContents();
    expect(names).toEqual(["voice", "the line stays responsive under load"]);
    const cells = await page
      .locator(".judged td:visible")
      .evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().right));
    expect(Math.max(...cells)).toBeLessThanOrEqual(width);
    expect(await page.locator(".answer .network svg circle").count()).toBeGreaterThan(0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("makes the curves of other flows faint while a row of the verdict is pointed at", async () => {
    const { page, complaints } = await open("lit", fill(template, answered()), 1400);
    const faint = (): Promise<number> =>
      page
        .locator("#figure-time path")
        .evaluateAll(
          (all) => all.filter((path) => Number(path.getAttribute("stroke-opacity") ?? 1) < 0.2).length,
        );
    await expect.poll(() => page.locator("#figure-time path").count()).toBeGreaterThan(8);
    const before = await faint();
    await page.locator(".judged tr").first().hover();
    await expect.poll(faint).toBeGreaterThan(before);
    await page.locator("h1").hover();
    await expect.poll(faint).toBe(before);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.each([
    ["One-way delay", 90],
    ["Wait in queue", 40],
    ["Rate", 40],
    ["Lost", 28],
  ])(
    "zooms by a drag over the %s, keeps the view in its address, and goes back by a double click",
    async (panel, down) => {
      const report = answered();
      for (const { series } of report.runs[0]?.flows ?? []) series.lost_packets = series.time_s.map(() => 1);
      const { page, complaints } = await open(`drag-${down}`, fill(template, report), 1400);
      const picture = page.locator("#figure-time .picture");
      const head = picture.locator("svg text", { hasText: panel }).first();
      await head.evaluate((text) => text.scrollIntoView({ block: "center" }));
      const [box, title] = await Promise.all([picture.boundingBox(), head.boundingBox()]);
      if (!box || !title) throw new Error(`no panel ${panel}`);
      const y = title.y + down;
      await page.mouse.move(box.x + 300, y);
      await page.mouse.down();
      await page.mouse.move(box.x + 500, y, { steps: 4 });
      expect(await page.locator(".drag").count()).toBe(1);
      await page.mouse.up();
      await page.waitForFunction(() => location.hash.startsWith("#t="));
      const [from = NaN, to = NaN] = (await page.evaluate(() => location.hash.slice(3)))
        .split("..")
        .map(Number);
      expect(to - from).toBeGreaterThan(0);
      // The same address shows the same part in a new page, in every figure over time.
      const again = await page.context().newPage();
      await again.goto(page.url());
      const shown = await again.evaluate(() => location.hash);
      expect(shown).toContain(`t=${from}..${to}`);
      await page.mouse.dblclick(box.x + 400, y);
      await page.waitForFunction(() => !location.hash.includes("t="));
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it("moves every figure over time with the brush below one of them", async () => {
    const report = sampleReport();
    const flow = report.runs[0]?.flows[0];
    const times = flow?.series.time_s ?? [];
    const none = { ssthresh_bytes: [], in_flight_bytes: [], rtt_s: [], rto_s: [], retransmissions: [] };
    const cwnd_bytes = times.map((at) => 1e4 * (1 + at));
    if (flow) flow.tcp = { congestion: "cubic", time_s: times, cwnd_bytes, ...none };
    const { page, complaints } = await open("brush", fill(template, report), 1400);
    const brush = page.locator("#figure-time .brush");
    await page.evaluate(() => {
      location.hash = "#t=5..15";
    });
    const other = page.locator("#figure-senders .brush .shown");
    await page.locator("#figure-senders").scrollIntoViewIfNeeded();
    await other.waitFor();
    await brush.scrollIntoViewIfNeeded();
    const paths = (): Promise<string> =>
      page.locator("#figure-time .picture svg").evaluate((svg) => svg.innerHTML);
    const before = await paths();
    const shown = brush.locator(".shown");
    const box = await shown.boundingBox();
    if (!box) throw new Error("no brush");
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width / 2, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 50, y, { steps: 5 });
    await page.mouse.up();
    const moved = await shown.boundingBox();
    expect(moved?.x).toBeCloseTo(box.x + 50, 0);
    expect(moved?.width).toBeCloseTo(box.width, 0);
    await expect.poll(paths, { timeout: 20_000 }).not.toBe(before);
    const [left, width] = await shown.evaluate((e) => [e.style.left, e.style.width]);
    expect(await other.evaluate((e) => [e.style.left, e.style.width])).toEqual([left, width]);
    // An end alone.
    await page.mouse.move(box.x + 50, y);
    await page.mouse.down();
    await page.mouse.move(box.x + 20, y, { steps: 3 });
    await page.mouse.up();
    const longer = await shown.boundingBox();
    expect(Math.abs((longer?.width ?? 0) - box.width - 30)).toBeLessThan(1.5);
    await page.waitForFunction(() => /t=[\d.]+\.\.[\d.]+/.test(location.hash));
    await brush.dblclick();
    await expect
      .poll(() => shown.boundingBox().then((now) => Math.round(now?.width ?? 0)))
      .toBe(Math.round(box.width));
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("draws a figure when it comes near the screen, and all of them for paper", async () => {
    const { page } = await open("lazy", fill(template, answered()), 1400);
    const far = page.locator("#figure-topology .picture svg");
    expect(await far.count()).toBe(0);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await far.count()).toBeGreaterThan(0);
    await page.context().close();
  });

  it.each([
    [1400, 900],
    [390, 844],
  ] as const)(
    "has verdict and first figure above the fold, then tables, then the set-up: %i by %i",
    async (width, height) => {
      const { page, complaints } = await open(`fold-${width}`, fill(template, sampleReport()), width);
      await page.setViewportSize({ width, height });
      const top = async (selector: string): Promise<number> =>
        (await page.locator(selector).first().boundingBox())?.y ?? NaN;
      const places = [
        await top(".tally"),
        await top("#figure-time .picture"),
        await top("#expectations .table"),
        await top("#flows .table"),
        await top("#queues .table"),
        await top("#setup"),
      ];
      expect([...places].sort((a, b) => a - b)).toEqual(places);
      const bottom =
        ((await page.locator("#figure-time .picture").boundingBox())?.height ?? NaN) + (places[1] ?? NaN);
      if (width > 1000) expect(bottom).toBeLessThanOrEqual(height);
      // Under three sentences of verdict a phone shows the delay.
      expect(places[1]).toBeLessThan(height - 320);
      // The configuration is said once on the screen, and under every figure on paper.
      await scrollTo(page, "owd-cdf");
      const shown = (): Promise<string> =>
        page
          .locator("#figure-owd-cdf .configuration")
          .evaluate((element) => getComputedStyle(element).display);
      expect(await shown()).toBe("none");
      await page.emulateMedia({ media: "print" });
      expect(await shown()).not.toBe("none");
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it("has one unit a group of columns, says that columns are cut off, and fairness by group", async () => {
    const report = sampleReport();
    for (const { summary } of report.runs) {
      for (const queue of Object.values(summary.ports["home->server"]?.queues ?? {}))
        queue.sojourn_s.p50 = 2e-6;
      for (const flow of Object.values(summary.flows))
        Object.assign(flow, { tcp: { retransmissions: 1 }, voice: { mos: 4.1 }, file: { slowdown: 3 } });
    }
    const { page, complaints } = await open("units", fill(template, report), 900);
    const queueHeads = (
      await page.locator("#queues .table").first().locator("th[scope=col]").allTextContents()
    )
      .filter((text) => /^(Sojourn p50|p95|p99|max)/.test(text))
      .map((text) => text.split("\u202f")[1]);
    expect(new Set(queueHeads).size, queueHeads.join()).toBe(1);
    const beyond = page.locator("#flows .beyond").first();
    expect(await beyond.isVisible()).toBe(true);
    expect(await page.locator("#flows .scroll.cut").count()).toBeGreaterThan(0);
    await expect
      .poll(async () => {
        const visible = await beyond.isVisible();
        // It disappears when the end of the table is reached, which may be while it is clicked.
        if (visible) await beyond.click({ timeout: 1000 }).catch(() => undefined);
        return visible;
      })
      .toBe(false);
    // Of a long table, the rows below the edge are counted.
    const queues = page.locator("#queues .table").first();
    await queues.locator(".scroll").evaluate((scroll) => scroll.setAttribute("style", "max-height: 100px"));
    await expect.poll(() => queues.locator(".below").textContent()).toMatch(/^[1-9]\d* more rows ↓$/);
    await queues.locator(".scroll").evaluate((scroll) => scroll.setAttribute("style", "max-height: none"));
    await expect.poll(() => queues.locator(".below").isVisible()).toBe(false);
    expect(await page.locator("#flows").textContent()).toContain(
      "Jain index of throughput within groups: pages 0.981",
    );
    expect(await page.locator("#setup .facts").textContent()).not.toContain("Jain");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("cuts no label and lets none cover another: four hosts, long names of ports", async () => {
    const base = sampleReport();
    const hosts = ["anna", "bela", "carl", "dora"];
    const [run] = base.runs as [Run];
    const [port, results] = [run.ports[0] as PortData, Object.values(run.summary.ports)[0] as PortSummary];
    const ports = ["router->modem", "modem->gateway.company.com"];
    const { bulk } = results.queues;
    const longer = { ...bulk, sojourn_s: { ...bulk?.sojourn_s, p99: 1 } } as QueueSummary;
    const worst = { ...results, queues: { ...results.queues, bulk: longer } };
    const summary = {
      ...run.summary,
      ports: Object.fromEntries(ports.map((name, at) => [name, at === 1 ? worst : results])),
    };
    const runs = [{ ...run, ports: ports.map((name) => ({ ...port, name })), summary }];
    const link = (from: string, to: string, back: number, rate: number, delay: number): TopologyLink => ({
      name: `${from}-${to}`,
      from,
      to,
      rate_bps: [rate, back],
      delay_s: [delay, delay],
    });
    const topology = {
      nodes: [...hosts, "router", "modem", "cmts", "server"].map((name) => ({
        name,
        router: ["router", "modem", "cmts"].includes(name),
      })),
      links: [
        ...hosts.map((name) => link(name, "router", 1e9, 1e9, 0)),
        link("router", "modem", 1e9, 1e9, 0),
        link("modem", "cmts", 1e8, 1e7, 0.008),
        link("cmts", "server", 1e9, 1e9, 0.005),
      ],
    };
    for (const width of [1400, 390]) {
      const { page, complaints } = await open(
        `labels-${width}`,
        fill(template, { ...base, runs, topology, comparisons: [] }),
        width,
      );
      // The port with the longest wait is first.
      expect(await page.locator("#queues .table tbody th").first().textContent()).toBe(ports[1]);
      // Figures are drawn when they are near.
      for (const id of ["drops", "topology"]) {
        await scrollTo(page, id);
        await page.locator(`#figure-${id} .picture svg text`).first().waitFor();
      }
      const clipped = await page
        .locator("#figure-drops .picture svg text")
        .evaluateAll((texts) =>
          texts
            .filter(
              (text) =>
                text.getBoundingClientRect().left <
                (text.closest("svg")?.getBoundingClientRect().left ?? 0) - 0.5,
            )
            .map((text) => text.textContent),
        );
      expect(clipped, `${width}`).toEqual([]);
      const covered = await page.locator("#figure-topology .picture svg text").evaluateAll((texts) => {
        const boxes = texts.map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
        return boxes.flatMap((a, at) =>
          boxes
            .slice(at + 1)
            .filter(
              (b) =>
                a.box.left < b.box.right &&
                b.box.left < a.box.right &&
                a.box.top < b.box.bottom - 2 &&
                b.box.top < a.box.bottom - 2,
            )
            .map((b) => `${a.text} over ${b.text}`),
        );
      });
      expect(covered, `${width}`).toEqual([]);
      // The slowest link says its rates, with a short unit if the link is short.
      const said = await page.locator("#figure-topology .picture svg").innerHTML();
      expect(said).toMatch(width > 1000 ? />→ 10\u202fMbit\/s</ : />→ 10\u202fM</);
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  });

  it.each([
    [1400, "light"],
    [1400, "dark"],
    [390, "light"],
  ] as const)(
    "shows delays between gaps and leaves a silence empty: %i pixels, %s",
    async (width, colorScheme) => {
      const { page, complaints } = await open(
        `sparse-${width}-${colorScheme}`,
        fill(template, sparseReport()),
        width,
      );
      if (colorScheme === "dark") await page.click("#theme");
      const picture = page.locator("#figure-time .picture svg");
      await picture.scrollIntoViewIfNeeded();
      const [svg, above, below] = await Promise.all(
        [
          picture,
          picture.locator("text", { hasText: "One-way delay" }),
          picture.locator("text", { hasText: "Wait in queue" }),
        ].map((part) => part.boundingBox()),
      );
      if (!svg || !above || !below) throw new Error("the picture has no panel of delays");
      const top = above.y + above.height;
      const clip = { x: svg.x + 58, y: top, width: svg.width - 58 - 22, height: below.y - 4 - top };
      const png = (await page.screenshot({ clip })).toString("base64");
      // Which columns of the panel have the blue of the flow.
      const blue = await page.evaluate(async (encoded) => {
        const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        if (!context) throw new Error("no canvas");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, image.width, image.height);
        return Array.from({ length: image.width }, (_, x) =>
          Array.from({ length: image.height }, (_, y) => 4 * (y * image.width + x)).some(
            (at) => (data[at + 2] ?? 0) - (data[at] ?? 0) > 60,
          ),
        );
      }, png);
      const share = (from: number, to: number): number => {
        const columns = blue.slice(Math.ceil((from / 60) * blue.length), Math.floor((to / 60) * blue.length));
        return columns.filter(Boolean).length / columns.length;
      };
      expect(share(1, 19)).toBeGreaterThan(0.4);
      expect(share(21, 39)).toBe(0);
      expect(share(41, 59)).toBeGreaterThan(0.4);
      // The pointer is on an interval without a packet; its neighbours are within reach.
      const delayAt = async (seconds: number): Promise<string | undefined> => {
        await page.mouse.move(clip.x + (seconds / 60) * clip.width, clip.y + clip.height / 2);
        await page.waitForSelector("#figure-time .tip");
        return (
          await page.locator("#figure-time .tip tr", { hasText: "voice" }).first().locator("td").all()
        )[3]?.textContent() as Promise<string | undefined>;
      };
      expect(await delayAt(10.2)).toMatch(/ms$/);
      expect(await delayAt(30)).toBe("–");
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it("names every heading that sorts, also that of marks, and says the address below words", async () => {
    const address = "flow.call.owd.p99";
    const table = {
      title: "points",
      columns: ["#", "call delay p99", ""],
      addresses: ["", address, ""],
      rows: [["1", "14.4 ms", "*"]],
      note: "",
    };
    const { page } = await open("marks", fill(template, { ...sampleReport(), comparisons: [table] }));
    const heads = page.locator("#comparison th[scope=col]").getByRole("button");
    expect(await heads.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).toEqual([
      null,
      null,
      "mark",
    ]);
    const titles = page.locator("#comparison th[scope=col]");
    expect(await titles.evaluateAll((all) => all.map((one) => one.getAttribute("title")))).toEqual([
      null,
      address,
      null,
    ]);
    await page.context().close();
  });

  it("begins an experiment without a run of its own with what was found", async () => {
    const claims = ["✓ holds", "✗ is 3, wanted 2", "- not decidable", "✓ holds, fitted"];
    const table = {
      title: "The paper's claims",
      columns: ["claim", "verdict"],
      rows: claims.map((words, at) => [`claim ${at + 1}`, words]),
      note: "",
    };
    const verdict = ["The paper's claims: 14 of 15 hold", "quick"];
    // A table of conformance has verdicts, and no claims.
    const oracles = {
      title: "oracles",
      columns: ["law", "verdict"],
      rows: [["a bound", "✓ holds"]],
      note: "",
    };
    const report = { ...sampleReport(), runs: [], verdict, comparisons: [table, oracles] };
    const { page } = await open("claims", fill(template, report));
    const order = await page.locator("#comparison tbody tr").allInnerTexts();
    expect(order.flatMap((row) => /claim (\d)/.exec(row)?.[1] ?? [])).toEqual(["2", "1", "3", "4"]);
    // A sign for each, by state.
    const strip = page.locator("#verdict .signs");
    expect(await strip.count()).toBe(1);
    expect(await strip.locator(":scope > :not(.of)").allTextContents()).toEqual(["✓", "(✓)", "–", "✗"]);
    expect(await strip.getAttribute("aria-label")).toBe(
      "The paper's claims: 2 hold, of which 1 with a fitted parameter, 1 missed, 1 undecided",
    );
    expect(await page.locator(".verdict .headline").allTextContents()).toEqual([`${report.verdict[0]}.`]);
    await page.context().close();
  });

  it("calls figures of applications what they are: they compare nothing", async () => {
    const { page } = await open("applications", fill(template, { ...sampleReport(), comparisons: [] }));
    expect(await page.locator("#comparison h2").textContent()).toContain("Applications");
    await page.context().close();
  });

  it("saves figures as SVG that stands alone: well-formed, with title, configuration and date", async () => {
    for (const [name, report, ids] of [
      ["saved", sampleReport(), [...FIGURES, "extra-load", "extra-bars"]],
      ["saved-edge", edgeReport(), ["topology", "time", "owd-box", "drops"]],
    ] as const) {
      const { page, complaints } = await open(name, fill(template, report));
      for (const id of ids) {
        const saved = await download(page, `#figure-${id} button.save`);
        expect(saved.suggestedFilename()).toMatch(/^[a-z0-9-]+\.svg$/);
        const text = readFileSync(await saved.path(), "utf8");
        const problem = await page.evaluate(
          (source) =>
            new DOMParser().parseFromString(source, "image/svg+xml").querySelector("parsererror")
              ?.textContent ?? "",
          text,
        );
        expect(problem, `${name} ${id}`).toBe("");
        expect(text).toContain("21 November 2026");
        expect(text).toContain("simulation");
        if (name === "saved" && id === "time")
          expect(text).toContain("at 30 s port.home-&gt;server.queue.rest.target = 5ms");
        expect(text).not.toMatch(/<script|<img|<foreignObject/);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  });

  it("can be used from the keyboard: zoom, choices, data, sorting", async () => {
    const { page, complaints } = await open("keys", fill(template, sampleReport()));
    const ticks = (): Promise<string[]> =>
      page
        .locator("#figure-time .picture svg text")
        .allTextContents()
        .then((texts) => texts.sort());
    const whole = await ticks();
    await page.locator("#figure-time .picture").focus();
    await page.keyboard.press("+");
    await page.keyboard.press("ArrowRight");
    await expect.poll(ticks).not.toEqual(whole);
    await page.keyboard.press("0");
    await expect.poll(ticks).toEqual(whole);
    await page.locator("#figure-owd-ccdf button", { hasText: "Data" }).press("Enter");
    expect(await page.locator("#figure-owd-ccdf .data tbody tr").count()).toBe(60);
    const heading = page.locator("#flows th button", { hasText: "Throughput" });
    await heading.press("Enter");
    expect(await page.locator("#flows tbody th").first().textContent()).toBe("upload");
    await heading.press("Enter");
    expect(await page.locator("#flows tbody th").first().textContent()).toBe("voice");
    await page.locator("#figure-time .entry", { hasText: "web" }).first().press("Enter");
    // Drawn again when it is near the screen.
    await page.locator("#figure-owd-cdf").scrollIntoViewIfNeeded();
    await expect
      .poll(() => page.locator("#figure-owd-cdf button.entry").allTextContents(), { timeout: 20_000 })
      .toEqual(["web"]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("is sane with names like code, nulls, hundreds of flows, and says what it hides", async () => {
    const { page, complaints } = await open("edge", fill(template, edgeReport()));
    expect(await page.locator("img, main script").count()).toBe(0);
    expect(await page.title()).toContain("<img src=x");
    expect(await page.locator("#figure-time figcaption").textContent()).toContain("7 of 304 flows");
    await page.locator(".picker summary").click();
    await page.locator(".picker input[type=search]").fill("client/17");
    await page.keyboard.press("Enter");
    expect(await page.locator("#figure-time button.entry").count()).toBe(7);
    expect(await page.locator("#figure-time button.entry").first().textContent()).toBe("client/179");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.each([
    ["sample", sampleReport],
    ["single", singleReport],
    ["compare", compareReport],
    ["edge", edgeReport],
    ["changes", changesReport],
  ])("fits a phone and paper: %s", async (name, report) => {
    const { page, complaints } = await open(`phone-${name}`, fill(template, report()), 390);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const pdf = await page.pdf({ preferCSSPageSize: true });
    expect(pdf.length).toBeGreaterThan(10_000);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    expect(
      await page.evaluate(() =>
        Math.max(
          ...[...document.querySelectorAll("main *")].map((item) => item.getBoundingClientRect().right),
        ),
      ),
    ).toBeLessThanOrEqual(720);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("says so where there are no results, or none that can be read", async () => {
    const bare = await open("bare", template);
    expect(await bare.page.locator(".notice").textContent()).toContain("no results");
    const broken = await open("broken", template.replace("{}</script>", "{oops</script>"));
    expect(await broken.page.locator(".notice").textContent()).toContain("cannot be read");
    expect([...bare.complaints, ...broken.complaints]).toEqual([]);
    for (const { page } of [bare, broken]) await page.context().close();
  });
});
