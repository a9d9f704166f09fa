/** Every page at every width: no text over another, none cut off, no horizontal scroll. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import type { Sample } from "../src/generated/lockgate";
import type { Report } from "../src/report";
import { builtPage, executable, lockgate } from "./browser";
import { drawFigures, LONGER, layoutFaults, resize, WIDTHS } from "./layout";
import { sample, status } from "./live-sample";
import { LivePages, Player } from "./player";
import { compareReport, fill, sampleReport, singleReport } from "./sample";

const folder = mkdtempSync(join(tmpdir(), "lockgate-widths-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Expects the laws to hold at every width. */
async function hold(page: Page): Promise<void> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await resize(page, width);
    await drawFigures(page);
    found.push(...(await layoutFaults(page)).map((fault) => `${width}: ${fault}`));
  }
  expect(found).toEqual([]);
}

/** Height of A4 within its margins, at 96 dots an inch. */
const PAPER = 1016;

/** Returns where the picture of the first figure ends on paper. */
async function firstPictureEnd(page: Page): Promise<number> {
  await page.setViewportSize({ width: 703, height: PAPER });
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  return page.evaluate(() => {
    const shown = [...document.querySelectorAll("main figure .picture")].find(
      (picture) => picture.getBoundingClientRect().height > 0,
    );
    return (shown?.getBoundingClientRect().bottom ?? Number.POSITIVE_INFINITY) + scrollY;
  });
}

/** Returns the texts that reach beyond a page that is laid out for paper. */
const beyondPaper = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(document.querySelector("main") as Element, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const { width, right } = range.getBoundingClientRect();
      if (width > 2 && right > innerWidth + 1) found.push(node.textContent ?? "");
    }
    return found;
  });

const scenario = (name: string): string =>
  fileURLToPath(new URL(`../../scenarios/${name}.toml`, import.meta.url));
/** Commands whose pages are looked at. */
const COMMANDS = {
  run: ["run", scenario("home"), "--duration", "8s"],
  changes: ["run", scenario("bufferbloat"), "--duration", "12s", "--set", "change.0.at=6s"],
  members: ["run", scenario("isp"), "--set", "node.sub.count=60", "--duration", "2s", "--no-ghost"],
  compare: ["compare", scenario("home"), "--seeds", "1..2", "--set", "duration=6s"],
  sweep: [
    "sweep",
    scenario("voice-beside-bulk"),
    "--vary",
    "link.wan.rate=5mbit,10mbit",
    "--vary",
    "port.home:server.root=one-queue,priority",
    "--seeds",
    "1..2",
    "--set",
    "duration=8s",
  ],
} as const;

describe.skipIf(executable === undefined)("at every width", () => {
  const pages = new LivePages();

  it.each([
    ["single", singleReport],
    ["sample", sampleReport],
    ["compare", compareReport],
  ] as const)(
    "a report holds the laws: %s",
    { timeout: LONGER * 120_000 },
    async (name, report: () => Report) => {
      const path = join(folder, `${name}.html`);
      writeFileSync(path, fill(builtPage(), report()));
      const page = await pages.browser.newPage();
      await page.goto(`file://${path}`);
      await page.locator("main figure .picture svg").first().waitFor();
      await hold(page);
      await page.close();
    },
  );

  describe.skipIf(lockgate === undefined)("a page of the command holds the laws", () => {
    it.each(Object.entries(COMMANDS))("%s", { timeout: LONGER * 240_000 }, async (name, command) => {
      const out = join(folder, name);
      const to = command[0] === "sweep" ? "--into" : "--out";
      const made = spawnSync(lockgate as string, [...command, "--quiet", to, out], { encoding: "utf8" });
      // A run that misses an expectation is a result too.
      expect([0, 3], made.stderr).toContain(made.status);
      // Its data in the page as it is now: the command may carry an older one.
      const report = readFileSync(join(out, "report.html"), "utf8");
      const [data = ""] =
        /<script type="text\/plain" id="lockgate-data"[^>]*>[^<]*<\/script>/.exec(report) ?? [];
      const marker = '<script type="application/json" id="lockgate-data">{}</script>';
      writeFileSync(
        join(out, "now.html"),
        builtPage().replace(marker, () => data),
      );
      const page = await pages.browser.newPage();
      await page.goto(`file://${join(out, "now.html")}`);
      await page.locator("main figure .picture svg").first().waitFor();
      await hold(page);
      const end = await firstPictureEnd(page);
      if (name === "run" || name === "changes") expect(end).toBeLessThanOrEqual(PAPER);
      expect(await beyondPaper(page)).toEqual([]);
      await page.close();
    });
  });

  it.each([
    ["a simulation", "sim"],
    ["a router", "route"],
    ["the kernel's queues", "kernel"],
  ] as const)("the live page holds the laws: %s", { timeout: LONGER * 120_000 }, async (_, mode) => {
    const player = new Player(pages.html);
    player.status = {
      ...status,
      mode,
      title: "A home on a cable line of ten megabits",
      expectations: mode === "sim" ? 2 : 0,
      duration_s: mode === "sim" ? 60 : 0,
      flows: mode === "sim" ? status.flows : [],
    };
    const router: Sample["router"] = {
      mode: "bridge",
      interfaces: [["wan", "enp3s0"]],
      policy: 3,
      is_on_trial: true,
      revert_s: 251,
      alerts: ["the call waits too long"],
      lost_by: [["ring", 12]],
      bypassed_frames: 4,
      bypass: "the interface enp3s0 is in another bridge",
    };
    player.sample = (number) => {
      const one = sample(number);
      return {
        ...one,
        flows: mode === "sim" ? one.flows : [],
        ports: one.ports.map((port) => ({ ...port, rate_bps: 1e7, is_full: true })),
        hurts: "`one` of port a->b: packets waited 139 ms (99th percentile), for 12 s",
        ...(mode === "route" ? { router } : {}),
      };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await hold(page);
    expect(complaints).toEqual([]);
    await page.close();
    player.close();
  });
});
