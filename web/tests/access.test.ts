/** Reports of every kind in a real browser, for readers who see or point otherwise. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPage, executable, FLAGS, seriousFaults } from "./browser";
import { compareReport, edgeReport, fill, sampleReport, singleReport } from "./sample";

const experiment = () => ({
  ...sampleReport(),
  runs: [],
  verdict: ["The paper's claims: 14 of 15 hold", "lockgate run a.toml --set rate=9mbit"],
});

describe.skipIf(executable === undefined)("a report for those who see or point otherwise", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-access-"));
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ["run", singleReport, 1400, "light"],
    ["runs", sampleReport, 390, "dark"],
    ["variants", compareReport, 820, "dark"],
    ["edge", edgeReport, 390, "light"],
    ["experiment", experiment, 1400, "dark"],
  ] as const)("%s", async (name, report, width, colorScheme) => {
    const path = join(folder, `${name}.html`);
    writeFileSync(path, fill(builtPage(), report()));
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    await page.goto(`file://${path}`);
    await page.waitForSelector("#page main");
    // What is folded on a screen is read too.
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("details")) details.open = true;
    });
    expect(await seriousFaults(page)).toEqual([]);
    await context.close();
  });
});
