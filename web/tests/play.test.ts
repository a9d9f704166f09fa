/** The playground in a real browser, with the module of `make play`: from a server's folder, and as one file. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import type { StepDocument } from "../src/generated/lockgate";
import { Engine } from "../src/play/engine";
import { BASES, exampleOf, FIRST } from "../src/play/examples";
import { linkOf, readLink } from "../src/play/link";
import { readPlace } from "../src/play/place";
import { eventOf } from "../src/play/step-view";
import { executable, FLAGS, seriousFaults, skipped } from "./browser";
import { LONGER, layoutFaults, resize, WIDTHS } from "./layout";
import { damaged, LINKS } from "./links";

const module =
  process.env["LOCKGATE_MODULE"] ?? resolve(import.meta.dirname, "../../target/play/lockgate.wasm");
const isBuilt = existsSync(module);
if (!isBuilt) skipped("play", "no module; `make play` builds it");

const TYPES: Record<string, string> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  wasm: "application/wasm",
};
/** Limits on script, style and editor without the charting library, and on the whole, as gzip in bytes. */
const [OWN, WHOLE] = [200_000, 400_000];

describe.skipIf(!isBuilt || executable === undefined)("the playground", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-play-"));
  let browser: Browser;
  let server: Server;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    process.env["LOCKGATE_TEMPLATE"] = inject("built");
    await build({
      configFile: resolve(import.meta.dirname, "../vite.play.config.ts"),
      logLevel: "silent",
      build: { outDir: join(folder, "play"), emptyOutDir: true },
    });
    // Below a prefix, as on a site of many projects.
    server = createServer((request, response) => {
      const name = new URL(request.url ?? "", "http://host").pathname
        .replace(/^\/some\/where/, "")
        .replace(/\/$/, "/index.html");
      const path = join(folder, "play", name);
      if (!existsSync(path)) return void response.writeHead(404).end();
      response
        .writeHead(200, { "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "text/plain" })
        .end(readFileSync(path));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const served = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/where/`;
  const file = (): string => `file://${folder}/play.html`;

  /** Opens the page, and gathers what it complains of, or asks for beyond its own parts. */
  async function open(address: string, width = 1280, colorScheme: "light" | "dark" = "light"): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      acceptDownloads: true,
    });
    contexts.push(context);
    const page = await context.newPage();
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    const own = address.replace(/#.*/, "");
    await context.route("**", (route) => {
      const asked = route.request().url();
      if (!asked.startsWith(own) && !/^(data|blob):/.test(asked)) complaints.push(`request: ${asked}`);
      return route.continue();
    });
    await page.goto(address);
    return page;
  }

  const sentence = (page: Page) => expect.poll(() => page.textContent("#sentence"));
  const figure = (page: Page) => page.waitForSelector('[data-figure="time"] .picture svg');
  const knob = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);
  const textOf = (page: Page): Promise<string> =>
    page.evaluate(() => {
      const content = document.querySelector(".cm-content") as unknown as {
        cmTile?: { view: { state: { doc: object } } };
      };
      return String(content.cmTile?.view.state.doc);
    });
  /** Replaces the first words in the text that match. */
  async function type(page: Page, old: string, fresh: string): Promise<void> {
    await page.evaluate(
      ([old, fresh]) => {
        const content = document.querySelector(".cm-content") as unknown as {
          cmTile: { view: { state: { doc: object }; dispatch: (change: object) => void } };
        };
        const { view } = content.cmTile;
        const from = String(view.state.doc).indexOf(old as string);
        view.dispatch({ changes: { from, to: from + (old as string).length, insert: fresh } });
      },
      [old, fresh],
    );
  }

  it.each([
    ["folder", served],
    ["file", file],
  ])("runs the first example unasked, as a %s", async (_, address) => {
    const page = await open(address());
    await figure(page);
    await sentence(page).toMatch(/Both are missed/);
    await knob(page, "port.home:server.root").waitFor();
    expect(await textOf(page)).toBe(exampleOf(FIRST)?.text);
    expect(await page.locator("#problems li").count()).toBe(0);
    await knob(page, "port.home:server.root").selectOption("priority");
    await sentence(page).toMatch(/✓/);
    expect(await textOf(page)).toContain('root = "priority"');
  });

  it("a slider changes the text and the figure, and comments stay", async () => {
    const page = await open(served());
    const slider = knob(page, "link.wan.rate");
    await slider.waitFor();
    const picture = () => page.locator('[data-figure="time"] .picture').innerHTML();
    const before = await picture();
    await slider.focus();
    for (let step = 0; step < 30; step++) await page.keyboard.press("ArrowRight");
    await expect.poll(() => textOf(page)).toMatch(/\[link\.wan\]\nbetween = .*\nrate = "14\.1mbit"/);
    await sentence(page).not.toMatch(/loss 17/);
    await expect.poll(picture).not.toBe(before);
    expect((await textOf(page)).match(/#.*/g)).toEqual(exampleOf(FIRST)?.text.match(/#.*/g));
    await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/^#v1\./);
    const address = await page.evaluate(() => location.hash);
    expect((await readLink(address, BASES)).text).toBe(await textOf(page));
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/^14\.1mbit, of 1mbit to 100mbit$/);
  });

  it("a broken text has the errors of `check`, keeps its picture, and is mended by a click", async () => {
    const page = await open(file());
    await figure(page);
    await sentence(page).toMatch(/missed/);
    const wrong = (exampleOf(FIRST)?.text ?? "").replace('from = "phone"', 'from = "fone"');
    const engine = await Engine.load(new Uint8Array(readFileSync(module)).buffer);
    const { problems } = engine.call("check", { text: wrong, name: `${FIRST}.toml` }).value;
    expect(problems.length).toBeGreaterThan(0);
    await type(page, 'from = "phone"', 'from = "fone"');
    const items = page.locator("#problems li");
    await expect.poll(() => items.count()).toBe(problems.length);
    expect(await items.locator(".message").allTextContents()).toEqual(problems.map(({ message }) => message));
    expect(await items.locator(".help").allTextContents()).toEqual(
      problems.flatMap(({ help }) => help ?? []),
    );
    // Only what is in sight is drawn.
    await items.locator("button").first().click();
    await expect.poll(() => page.locator(".cm-lintRange-error").count()).toBeGreaterThan(0);
    expect(await page.locator(".results.behind svg").count()).toBeGreaterThan(0);
    expect(await page.getAttribute("#sentence", "class")).toMatch(/\bold\b/);
    await page.getByRole("button", { name: 'Write "phone"' }).first().click();
    await expect.poll(() => items.count()).toBe(0);
    expect(await textOf(page)).toBe(exampleOf(FIRST)?.text);
    await expect.poll(() => page.locator(".results.behind").count()).toBe(0);
  });

  it("links of the first format open, and damaged ones open the example with an error", async () => {
    const page = await open(file());
    await figure(page);
    for (const { hash } of LINKS) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, hash);
      // The editor ends lines by one letter.
      const opened = (await readLink(hash, BASES)).text.replaceAll("\r\n", "\n");
      await expect.poll(() => textOf(page), { message: hash }).toBe(opened);
      expect(await page.locator("#notice .wrong").count()).toBe(0);
    }
    for (const hash of damaged()) {
      await page.evaluate((hash) => {
        document.querySelector("#notice")?.replaceChildren();
        location.hash = hash;
      }, hash);
      await expect
        .poll(() => page.locator("#notice .wrong").textContent(), { message: hash })
        .toMatch(/cannot be opened: it/);
      expect((await textOf(page)).length).toBeGreaterThanOrEqual(0);
    }
    // At once, too.
    const again = await open(`${file()}${damaged()[12]}`);
    await figure(again);
    expect(await again.textContent("#notice .wrong")).toMatch(/cannot be opened/);
    expect(await textOf(again)).toBe(exampleOf(FIRST)?.text);
  });

  it("a discipline is chosen onto a port, and dragged, and an undo takes it back", async () => {
    const page = await open(file());
    const choice = page.getByLabel("Discipline of home:server");
    await choice.waitFor();
    await choice.focus();
    await choice.selectOption({ label: "fq_pie" });
    await expect.poll(() => textOf(page)).toMatch(/root = "fq_pie"\nalternatives = \["one-queue", /);
    const before = exampleOf(FIRST)?.text ?? "";
    expect((await textOf(page)).match(/#.*/g)).toEqual(before.match(/#.*/g));
    await sentence(page).toMatch(/✓|holds/);
    await expect.poll(() => choice.inputValue()).toBe("tree fq_pie");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("data-plug"))).toBe("home:server");
    // By the pointer, onto the picture of the port.
    const port = page.locator(".tree-port", { has: choice });
    await page.locator(".chip", { hasText: /^codel$/ }).dragTo(port);
    await expect.poll(() => textOf(page)).toMatch(/root = "codel"/);
    await expect.poll(() => page.locator(".results.behind").count()).toBe(0);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+z");
    await expect.poll(() => textOf(page)).toMatch(/root = "fq_pie"/);
    // Results of the text before are faint until those of this one are there.
    await expect
      .poll(() => page.locator(".results:not(.behind)").allInnerTexts().then(String))
      .toMatch(/fq_pie\b/);
    expect(await page.locator("#problems li").count()).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
  });

  it("what a change did follows the run, with the curves without it", async () => {
    const page = await open(`${file()}#example=bufferbloat`);
    await figure(page);
    await type(page, 'at = "30s"', 'at = "6s"');
    await type(page, 'duration = "60s"', 'duration = "12s"');
    await expect.poll(() => page.textContent(".facts")).toMatch(/12 s simulated/);
    const told = () => page.locator("#sentence, .answers .finding").allTextContents();
    await expect.poll(async () => (await told()).join(" ")).toMatch(/, without it /);
    expect(await page.locator("#problems li.error").count()).toBe(0);
  });

  it("a script of tc is imported when it is pasted, and what is left out is listed", async () => {
    const page = await open(file());
    await knob(page, "port.home:server.root").waitFor();
    const script = readFileSync(
      resolve(import.meta.dirname, "../../crates/tc/tests/scripts/did-it-work.sh"),
      "utf8",
    );
    await page.evaluate((script) => {
      const data = new DataTransfer();
      data.setData("text/plain", script);
      const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
      document.querySelector(".cm-content")?.dispatchEvent(event);
    }, script);
    await expect
      .poll(() => page.textContent("#notice"))
      .toMatch(/Imported commands of tc.*Left out \(5\).*there is a root already/s);
    expect(await textOf(page)).toMatch(/^# .*\[port\./s);
    await expect.poll(() => page.locator(".results.behind").count()).toBe(0);
  });

  it("a pinned text is compared over seeds, and everything leaves", async () => {
    const page = await open(file());
    await knob(page, "port.home:server.root").waitFor();
    await type(page, 'duration = "60s"', 'duration = "12s"');
    await expect.poll(() => page.textContent(".facts")).toMatch(/12 s simulated/);
    await page.locator("#sentence").click();
    await page.keyboard.press("p");
    expect(await page.getAttribute("#pin", "aria-pressed")).toBe("true");
    await knob(page, "port.home:server.root").selectOption("flow-queues");
    await expect.poll(() => page.textContent(".compared-pin .note")).toMatch(/root: one-queue → flow-queues/);
    await page.click("#compare");
    await page.waitForSelector(".comparison table");
    expect(await page.textContent(".comparison .headline")).toMatch(/flow-queues/);
    await page.click("#link");
    await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/^#v1\./);
    const saved = async (name: string) => {
      await page.click(".share summary");
      const begun = page.waitForEvent("download");
      await page.getByText(name, { exact: true }).click();
      return readFileSync(await (await begun).path(), "utf8");
    };
    expect(await saved("Save scenario")).toBe(await textOf(page));
    const report = await saved("Save report");
    expect(report).toContain('id="lockgate-data">{"schema"');
    expect(await page.evaluate(() => document.querySelectorAll(".share[open]").length)).toBe(0);
  });

  it("steps through decisions with the sentences of the module, and an address leads back to a step", async () => {
    const page = await open(`${file()}#example=classes-of-service`);
    await figure(page);
    await page.click("#step");
    const event = page.locator(".steps .event");
    await expect.poll(() => event.textContent()).toMatch(/s (sends|drops|waits)/);
    const engine = await Engine.load(new Uint8Array(readFileSync(module)).buffer);
    const scenario = { text: exampleOf("classes-of-service")?.text ?? "" };
    const place = readPlace(await page.evaluate(() => location.hash));
    const port = place.port as string;
    const from = `${((place.step?.at ?? 0) - 1e-9).toFixed(9)}s`;
    const { steps } = engine.call("decisions", { scenario, port, from, count: 40 }).value;
    const first = steps.findIndex(({ at }) => at === place.step?.at) + (place.step?.nth ?? 0);
    for (let index = first; index < first + 8; index++) {
      const step = steps[index] as StepDocument;
      const [decision] = step.decision ?? [];
      await expect.poll(() => event.textContent()).toContain(eventOf(step));
      if (decision) expect(await event.textContent()).toContain(decision.sentence);
      const drawn = await page.locator(".step-tree .packet").count();
      expect(drawn).toBe(step.queue.length);
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("d");
    await expect.poll(() => event.textContent()).toMatch(/s drops /);
    const dropped = await event.textContent();
    const address = await page.evaluate(() => location.href);
    const again = await open(address);
    await expect.poll(() => again.locator(".steps .event").textContent()).toBe(dropped);
    // A packet that waits leads to where it leaves.
    const packet = again.locator(".step-tree .packet:not(.dropped)").first();
    const name = (await packet.getAttribute("title"))?.split(",")[0] as string;
    await packet.click();
    await expect
      .poll(() => again.locator(".steps .event").textContent())
      .toMatch(new RegExp(`(sends|drops) ${name},`));
    expect(await seriousFaults(again)).toEqual([]);
  });

  it("a lesson asks, runs and explains", async () => {
    const page = await open(`${file()}#lesson=1`);
    await page.getByRole("button", { name: "Over 200 ms" }).click();
    await expect.poll(() => page.textContent(".lesson-answer")).toMatch(/Right\. They are 470 ms late\./);
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("button", { name: "Half of both" }).click();
    await expect.poll(() => page.textContent(".lesson-answer")).toMatch(/No: The same loss, twice the delay/);
    await page.evaluate(() => {
      location.hash = "#lesson=2";
    });
    await page.reload();
    const option = page.locator(".lesson .option");
    await expect.poll(() => option.allTextContents()).toEqual(["voice", "web", "bulk"]);
    await option.nth(1).click();
    await expect.poll(() => page.textContent(".lesson-answer")).toMatch(/^(Right|No): sends \w+#\d+/);
    expect(await page.locator(".lesson .option.right").count()).toBe(1);
    expect(await seriousFaults(page)).toEqual([]);
  });

  it("shows one part within another page", async () => {
    const page = await open(`${served()}#embed=figure&example=home`);
    await figure(page);
    const shown = (selector: string) => page.locator(selector).first().isVisible();
    expect(await shown(".bar")).toBe(false);
    expect(await shown(".editor")).toBe(false);
    await expect.poll(() => shown(".sliders .knob")).toBe(true);
    const whole = page.getByRole("link", { name: "Open in the playground" });
    await whole.focus();
    await expect.poll(() => whole.getAttribute("href")).toMatch(/#v1\./);
    expect((await readLink(new URL((await whole.getAttribute("href")) ?? "").hash, BASES)).text).toBe(
      exampleOf("home")?.text,
    );
  });

  it.each([
    [390, "dark"],
    [820, "light"],
    [1400, "dark"],
  ] as const)(
    "is for those who see or point otherwise at %i pixels, and not wider",
    async (width, scheme) => {
      const page = await open(file(), width, scheme);
      await figure(page);
      await knob(page, "port.home:server.root").waitFor();
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
      });
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.getAttribute("#sentence", "aria-live")).toBe("polite");
    },
  );

  it("says what is missing if it cannot run, and of a first text without a result", async () => {
    const context = await browser.newContext();
    contexts.push(context);
    await context.addInitScript("delete globalThis.WebAssembly");
    const page = await context.newPage();
    await page.goto(served());
    await expect.poll(() => page.textContent("#notice")).toContain("WebAssembly is switched off");
    const broken = await open(`${served()}${await linkOf("duration = 1", null)}`);
    await sentence(broken).toMatch(/^No result yet/);
    await broken.waitForSelector(".problems li");
  });

  it("has no text over another, none cut off, and no horizontal scroll", {
    timeout: LONGER * 240_000,
  }, async () => {
    const page = await open(file());
    await figure(page);
    await knob(page, "port.home:server.root").waitFor();
    const found: string[] = [];
    for (const width of WIDTHS) {
      await resize(page, width);
      found.push(...(await layoutFaults(page)).map((fault) => `${width}: ${fault}`));
    }
    expect(found).toEqual([]);
  });

  it("stays small", () => {
    const sizeOf = (...names: string[]): number =>
      names.reduce(
        (sum, name) => sum + gzipSync(readFileSync(join(folder, "play", name)), { level: 9 }).length,
        0,
      );
    expect(sizeOf("play.js", "play.css", "worker.js")).toBeLessThan(OWN);
    expect(sizeOf("play.js", "play.css", "worker.js", "charts.js")).toBeLessThan(WHOLE);
    expect(statSync(join(folder, "play.html")).size).toBeLessThan(3.3e6);
  });
});
