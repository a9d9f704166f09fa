/** Every number of a comparison, read back from the page of real runs, against its `comparison.json`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { builtPage, executable, FLAGS, lockgate } from "./browser";

const folder = mkdtempSync(join(tmpdir(), "lockgate-compared-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FACTORS: Record<string, number> = { "%": 0.01, µs: 1e-6, ms: 1e-3, s: 1 };
const RATES: Record<string, number> = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 };

interface Interval {
  mean: number;
  half_width: number | null;
}

/** Part of the document of `lockgate compare --json` that the page shows. */
interface Document {
  decision: string[];
  metrics: { that: string; comparison: { intervals: (Interval | null)[] } }[];
  expectations: { holds: boolean }[][];
}

/** Expects a text such as `14.4 ± 0.0241 ms *` to show an interval, rounded to its digits. */
function same(text: string, interval: Interval | null | undefined): void {
  const [, mean = "", , half, unit = ""] = /^([\d.]+)( ± ([\d.]+))?\s([^\s*=≈?]+)/.exec(text) ?? [];
  const factor = FACTORS[unit] ?? RATES[unit] ?? NaN;
  const near = (digits: string, wanted: number): boolean => {
    const decimals = (digits.split(".")[1] ?? "").length;
    return Math.abs(Number(digits) * factor - wanted) <= 0.5001 * 10 ** -decimals * factor;
  };
  expect(near(mean, interval?.mean ?? NaN), `${text} for ${interval?.mean}`).toBe(true);
  const width = interval?.half_width ?? null;
  if (half === undefined) expect(width, text).toBeNull();
  else expect(near(half, width ?? NaN), `${text} for ± ${width}`).toBe(true);
}

describe.skipIf(executable === undefined || lockgate === undefined)("the page of a comparison", () => {
  const template = builtPage();

  it("has the numbers, the decision and what holds of its document", async () => {
    const scenario = fileURLToPath(new URL("../../scenarios/home.toml", import.meta.url));
    const out = join(folder, "out");
    const vary = ["--vary", "port.router:modem.root=fifo,fq_codel,cake,htb", "--set", "duration=6s"];
    const made = spawnSync(lockgate as string, [
      "compare",
      scenario,
      ...vary,
      "--seeds",
      "1..3",
      "-q",
      "--out",
      out,
    ]);
    expect(made.status, String(made.stderr)).toBe(0);
    const document = JSON.parse(readFileSync(join(out, "comparison.json"), "utf8")) as Document;
    const data = /<script[^>]*id="lockgate-data"[^>]*>[^<]*<\/script>/.exec(
      readFileSync(join(out, "report.html"), "utf8"),
    );
    const marker = '<script type="application/json" id="lockgate-data">{}</script>';
    expect(template).toContain(marker);
    const path = join(folder, "compared.html");
    writeFileSync(
      path,
      template.replace(marker, () => data?.[0] ?? ""),
    );
    const browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`file://${path}`);
    await page.waitForSelector("#verdict table");
    expect(await page.textContent("#verdict .headline")).toBe(document.decision[0]);
    const rows = await page.$$eval("#verdict tbody tr", (found) =>
      found.map((row) => ({
        cells: [...row.querySelectorAll(".standing > :first-child")].map((cell) => cell.textContent ?? ""),
        places: [...row.querySelectorAll(".place path")].map((dot) =>
          Number(/translate\(([\d.]+)/.exec(dot.getAttribute("transform") ?? "")?.[1]),
        ),
        last: row.lastElementChild?.textContent ?? "",
        variant: Number(row.firstElementChild?.textContent) - 1,
        look: row.className,
        bounds: row.querySelectorAll(".place .bound").length,
        misses: row.querySelectorAll(".misses").length,
      })),
    );
    // The trade-off with the longest front stands beside the table, and below it where there is no room.
    const front = page.locator("#verdict figure");
    expect(await front.count()).toBe(1);
    const ahead = (caption: string): number => caption.match(/#\d+/g)?.length ?? 0;
    const first = ahead((await front.locator("figcaption").textContent()) ?? "");
    const others = await page.locator("#fronts figcaption").allTextContents();
    expect(others.length).toBeGreaterThan(0);
    expect(first).toBeGreaterThan(1);
    for (const caption of others) expect(ahead(caption)).toBeLessThanOrEqual(first);
    const boxes = async () => [await page.locator("#verdict table").boundingBox(), await front.boundingBox()];
    const [wide, beside] = await boxes();
    expect(beside?.x ?? 0).toBeGreaterThan((wide?.x ?? 0) + (wide?.width ?? 0));
    expect(beside?.y ?? 0).toBeLessThan((wide?.y ?? 0) + (wide?.height ?? 0));
    await page.setViewportSize({ width: 390, height: 844 });
    const [narrow, below] = await boxes();
    expect(below?.y ?? 0).toBeGreaterThan((narrow?.y ?? 0) + (narrow?.height ?? 0));
    await browser.close();
    expect(rows).toHaveLength(4);
    document.metrics.forEach(({ comparison }, metric) => {
      for (const row of rows) same((row.cells[metric] ?? "").trim(), comparison.intervals[row.variant]);
      // The dots are in the order of the means.
      const means = rows.map(({ variant }) => comparison.intervals[variant]?.mean ?? NaN);
      const order = (values: readonly number[]): number[] =>
        [0, 1, 2, 3].sort((a, b) => (values[a] as number) - (values[b] as number));
      const places = rows.map((row) => row.places[metric] ?? NaN);
      const [least, most] = [order(means)[0] as number, order(means)[3] as number];
      expect(places[least]).toBe(Math.min(...places));
      expect(places[most]).toBe(Math.max(...places));
    });
    const holds = document.expectations.map(
      (variant) => `${variant.filter((one) => one.holds).length}/${variant.length}`,
    );
    expect(rows.map(({ last }) => last)).toEqual(rows.map(({ variant }) => holds[variant]));
    // The rows are ranked: none keeps more expectations than one above it; those that miss some say in which cell.
    const kept = rows.map(({ last }) => Number(last.split("/")[0]));
    expect(kept).toEqual([...kept].sort((a, b) => b - a));
    for (const { misses, last } of rows) {
      const [held = 0, of = 0] = last.split("/").map(Number);
      expect(misses).toBe(of - held);
    }
    expect(rows.every(({ bounds }) => bounds > 0)).toBe(true);
    const taken = rows.filter(({ look }) => look === "taken").map(({ variant }) => variant);
    const [, named] = /^Take .* \(#(\d+)\):/.exec(document.decision[0] ?? "") ?? [];
    expect(taken).toEqual(named === undefined ? [] : [Number(named) - 1]);
  });
});
