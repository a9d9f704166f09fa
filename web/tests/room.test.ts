/** Room for figures: what stands below one does not move when it is drawn, so that no click misses its button. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPage, executable, FLAGS, shiftsOf, watchShifts } from "./browser";
import { compareReport, edgeReport, fill, sampleReport, singleReport } from "./sample";

const folder = mkdtempSync(join(tmpdir(), "lockgate-room-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(executable === undefined)("a figure", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(() => browser?.close());

  it.each([
    ["sample", sampleReport, 1400],
    ["sample", sampleReport, 390],
    ["single", singleReport, 820],
    ["compare", compareReport, 1400],
    ["compare", compareReport, 390],
    ["edge", edgeReport, 820],
  ] as const)("is as high before it is drawn as after: $0, $2 pixels", async (name, report, width) => {
    const path = join(folder, `${name}-${width}.html`);
    writeFileSync(path, fill(builtPage(), report()));
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    const page = await context.newPage();
    await watchShifts(page);
    await page.goto(`file://${path}`);
    await page.waitForSelector("#page main figure .picture svg");
    const heights = (): Promise<[string, number][]> =>
      page
        .locator("main figure[data-figure]:visible")
        .evaluateAll((all) =>
          all.map((one): [string, number] => [one.id, one.getBoundingClientRect().height]),
        );
    const undrawn = "main figure[data-figure]:visible:not(:has(.picture svg, .picture .nothing))";
    expect(await page.locator(undrawn).count()).toBeGreaterThan(0);
    const before = await heights();
    for (const [id] of before) {
      const figure = page.locator(`[id="${id}"]`);
      await figure.evaluate((one) => one.scrollIntoView({ block: "center" }));
      await figure.locator(".picture svg, .picture .nothing").first().waitFor();
    }
    expect(await page.locator(undrawn).count()).toBe(0);
    expect(await heights()).toEqual(before);
    expect(await shiftsOf(page)).toBeLessThan(0.002);
    await context.close();
  });
});
