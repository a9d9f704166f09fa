/** Laws of the page in a browser: text can be read on its ground, and a card is a picture. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Report } from "../src/report";
import { builtPage, executable, FLAGS } from "./browser";
import { drawFigures } from "./layout";
import { fill, sampleReport, singleReport } from "./sample";

const folder = mkdtempSync(join(tmpdir(), "lockgate-laws-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the texts of pictures whose contrast with the page is below 4.5. */
const faint = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const light = (colour: string): number => {
      const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = light(getComputedStyle(document.body).backgroundColor);
    const found: string[] = [];
    for (const text of document.querySelectorAll("main svg text")) {
      const { fill, opacity } = getComputedStyle(text);
      const own = light(fill);
      const contrast = (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
      // White on a coloured mark is read against the mark.
      if (contrast < 4.5 && contrast > 1.05 && Number(opacity) > 0)
        found.push(`${text.textContent} ${fill} ${contrast.toFixed(2)}`);
    }
    return [...new Set(found)];
  });

describe.skipIf(executable === undefined)("laws of the page", () => {
  const template = builtPage();
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(() => browser?.close());

  async function open(report: Report, width: number, theme: "light" | "dark" = "light"): Promise<Page> {
    const path = join(folder, "page.html");
    writeFileSync(path, fill(template, report));
    const page = await browser.newPage({
      viewport: { width, height: 900 },
      colorScheme: theme,
      acceptDownloads: true,
    });
    await page.goto(`file://${path}`);
    await page.waitForSelector("#page main");
    await page.locator("main figure .picture svg").first().waitFor();
    return page;
  }

  it.each(["light", "dark"] as const)("every text of a picture can be read: %s", async (theme) => {
    const page = await open(sampleReport(), 1300, theme);
    await drawFigures(page);
    expect(await faint(page)).toEqual([]);
    await page.close();
  });

  it("saves the card of a run as a picture of 1200 by 630", async () => {
    const card =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630"><rect width="1200" height="630" fill="#fff"/></svg>';
    const page = await open({ ...singleReport(), card }, 1300);
    const saved = async (button: string): Promise<Buffer> => {
      await page.locator(".share").evaluate((details: HTMLDetailsElement) => {
        details.open = true;
      });
      const begun = page.waitForEvent("download");
      await page.locator(".share button", { hasText: button }).click();
      return readFileSync(await (await begun).path());
    };
    expect((await saved("SVG")).toString()).toBe(card);
    const png = await saved("PNG");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1200, 630]);
    await page.close();
    const without = await open(singleReport(), 1300);
    expect(await without.locator(".share").count()).toBe(0);
    await without.close();
  });
});
