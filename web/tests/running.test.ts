/** The page over `lockgate watch` itself, simulated and live: what a user does there, in a real browser. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executable, FLAGS, lockgate, skipped } from "./browser";

const here = executable !== undefined && lockgate !== undefined;

/** Why no live run is possible here; empty where one is. */
function whyNotLive(): string {
  if (lockgate === undefined) return "no lockgate";
  const doctor = spawnSync(lockgate, ["doctor", "--json"], { encoding: "utf8" });
  return doctor.status === 0 ? "" : (doctor.stderr.split("\n")[0] ?? "lockgate doctor failed");
}

const SCENARIO = `
title = "two connections"
duration = "10min"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "10mbit", delay = "5ms" }
[port."a->b"]
root = "q"
alternatives = ["q", "fair"]
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", quantum = "1514B", limit = "60p", match = [{ flow = "one" }] }
queue.two = { kind = "fifo", quantum = "1514B", limit = "60p" }
queue.fair = { kind = "fq_codel" }
[flow.one]
from = "a"
to = "b"
transport = "tcp"
bytes = "unlimited"
start = "2s"
[flow.two]
from = "a"
to = "b"
transport = "tcp"
bytes = "unlimited"
start = "2s"
`;

/** A running `lockgate watch`. */
class Run {
  address = "";
  constructor(readonly child: ChildProcess) {}

  static async start(mode: string, file: string): Promise<Run> {
    const run = new Run(
      spawn(lockgate as string, ["watch", file, mode, "--web", "127.0.0.1:0", "--every", "500ms"], {
        stdio: ["ignore", "ignore", "pipe"],
      }),
    );
    for await (const line of createInterface({ input: run.child.stderr as NodeJS.ReadableStream })) {
      if (line.startsWith("page: ")) {
        run.address = line.slice(6);
        break;
      }
    }
    run.child.stderr?.resume();
    return run;
  }

  async text(path: string): Promise<string> {
    return (await fetch(this.address + path)).text();
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGKILL");
    await gone;
  }
}

/** Cells of a queue's row on the page: length, most, bits in and out a second, and the median sojourn time in ms. */
async function row(page: Page, name: string): Promise<{ now: number; out: number; p50: number }> {
  const cells = await page.locator("#queues tbody tr").evaluateAll((rows, wanted) => {
    const found = rows.find(
      (row) => (row.querySelector("th")?.textContent ?? "").split(" ").at(-1) === wanted,
    );
    return [...(found?.querySelectorAll("td") ?? [])].map((cell) => cell.textContent ?? "");
  }, name);
  const number = (text: string | undefined): number =>
    Number.parseFloat(text ?? "") * (/ M$/.test(text ?? "") ? 1e6 : / k$/.test(text ?? "") ? 1e3 : 1);
  const delay = cells[6] ?? "";
  const ms = Number.parseFloat(delay) * (delay.endsWith("ms") ? 1 : delay.endsWith("µs") ? 1e-3 : 1e3);
  return { now: number(cells[1]), out: number(cells[5]), p50: ms };
}

/** The mean of what a queue sent a second over some samples of the page. */
async function meanRate(page: Page, names: string[], samples: number): Promise<number[]> {
  const sums = names.map(() => 0);
  let clock = "";
  for (let taken = 0; taken < samples; ) {
    const now = (await page.locator(".clock").textContent()) ?? "";
    if (now !== clock) {
      clock = now;
      taken += 1;
      for (const [index, name] of names.entries())
        sums[index] = (sums[index] as number) + (await row(page, name)).out;
    }
    await page.waitForTimeout(50);
  }
  return sums.map((sum) => sum / samples);
}

/** Bytes that a queue has sent, and when, as `/metrics` has it. */
async function scraped(run: Run, queue: string): Promise<{ at: number; bytes: number }> {
  const text = await run.text("metrics");
  const value = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? Number.NaN);
  return {
    at: value(/^lockgate_run_seconds (.*)$/m),
    bytes: value(new RegExp(`^node_qdisc_bytes_total\\{[^}]*queue="${queue}"[^}]*\\} (.*)$`, "m")),
  };
}

/** Pictures of the page, where SCREENSHOTS names a folder for them: light and dark, wide and as on phones. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["SCREENSHOTS"];
  if (!folder) return;
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of [1280, 390, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(1_200);
      await page.screenshot({ path: join(folder, `${name}-${scheme}-${width}.png`), fullPage: true });
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        `${width} pixels`,
      ).toBeLessThanOrEqual(0);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

const modes = ["--sim", "--live"] as const;
describe.skipIf(!here).each(modes)("a run under the page: %s", (mode) => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-running-"));
  const file = join(folder, "scenario.toml");
  const refused = mode === "--live" && here ? whyNotLive() : "";
  if (refused !== "") skipped("running live", refused);
  let browser: Browser;
  let run: Run;
  let page: Page;

  beforeAll(async () => {
    if (refused !== "") return;
    writeFileSync(file, SCENARIO);
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
    run = await Run.start(mode, file);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    await page.goto(run.address);
    await page.waitForSelector(".live .state[data-state=ok]");
  });
  afterAll(async () => {
    await browser?.close();
    await run?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it.skipIf(refused !== "")(
    "shows the queue grow, follows a weight, empties by another tree, and saves what was done",
    async () => {
      await expect.poll(async () => (await row(page, "q")).now, { timeout: 40_000 }).toBeGreaterThan(40);
      // Out of slow start.
      await meanRate(page, ["one"], 4);
      const [one = 0, two = 1] = await meanRate(page, ["one", "two"], 5);
      expect(one / two).toBeGreaterThan(0.7);
      expect(one / two).toBeLessThan(1.4);
      const full = await row(page, "q");
      await page.locator("#queues tbody tr", { hasText: /^one/ }).click();
      const field = page
        .getByLabel("port.a:b.queue.one.quantum", { exact: false })
        .and(page.locator("input"));
      await field.fill("4542B");
      await field.press("Enter");
      await page.waitForSelector(".events li >> text=set port.a:b.queue.one.quantum 1514B → 4542B");
      await meanRate(page, ["one"], 3);
      const [first = 0, second = 1] = await meanRate(page, ["one", "two"], 5);
      expect(first / second).toBeGreaterThan(2.3);
      expect(first / second).toBeLessThan(3.7);
      await picture(page, `running${mode}`);

      // What may be relied on is said of a live run; a simulation is exact.
      const fidelity = page.locator(".fidelity");
      if (mode === "--live")
        expect(await fidelity.textContent()).toMatch(/^frames leave \d.* late \(p99\) (✓|⚠ not faithful)$/);
      else expect(await fidelity.isHidden()).toBe(true);

      // What the page shows is what is scraped.
      const shown = await meanRate(page, ["q"], 1);
      const before = await scraped(run, "q");
      const rates = await meanRate(page, ["q"], 4);
      const after = await scraped(run, "q");
      const rate = (8 * (after.bytes - before.bytes)) / (after.at - before.at);
      expect(Math.abs(rate / (((shown[0] as number) + 4 * (rates[0] as number)) / 5) - 1)).toBeLessThan(0.02);

      await page
        .getByLabel("port.a:b.root", { exact: false })
        .and(page.locator("select"))
        .selectOption("fair");
      await page.waitForSelector(".events li >> text=packets moved");
      await expect
        .poll(async () => (await row(page, "fair")).p50, { timeout: 30_000 })
        .toBeLessThan(full.p50 / 2);

      await page.locator(".live h1").click();
      await page.keyboard.press("m");
      await page.waitForSelector(".events li >> text=mark");
      await page.getByRole("button", { name: "undo: set port.a:b.root=q" }).click();
      await page.waitForSelector(".events li >> text=set port.a:b.root fair → q");

      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByText("Save scenario").click(),
      ]);
      const saved = join(folder, "saved.toml");
      await download.saveAs(saved);
      expect(readFileSync(saved, "utf8")).toContain("# Noted at");
      const replay = join(folder, "replay");
      const done = spawnSync(
        lockgate as string,
        ["run", "--quiet", "--duration", "90s", "--out", replay, saved],
        { encoding: "utf8" },
      );
      expect(done.status, done.stderr).toBe(0);
      const events = (
        JSON.parse(await run.text("api/events")) as {
          at_s: number;
          kind: string;
          path: string;
          value: string;
        }[]
      ).filter((event) => event.kind === "change");
      const played = readFileSync(join(replay, "events.ndjson"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { at_s: number; path: string; value: string });
      expect(played.map(({ at_s, path, value }) => [at_s, path, value])).toEqual(
        events.map(({ at_s, path, value }) => [at_s, path, value]),
      );
      expect(events.length).toBe(3);

      await run.end();
      await page.waitForSelector(".state[data-state=cut]", { timeout: 20_000 });
      const clock = await page.locator(".clock").textContent();
      await page.waitForTimeout(1_000);
      expect(await page.locator(".clock").textContent()).toBe(clock);
    },
    180_000,
  );
});
