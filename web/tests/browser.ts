/** The browser and the command that the page's tests run, and the record of what cannot run without them. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { inject } from "vitest";

/** Path of a Chromium: `CHROMIUM`, or where distributions put it; `undefined` if not installed. */
export const executable = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path !== "" && existsSync(path));

/** Path of the command: `LOCKGATE`, or where `cargo build` puts it; `undefined` if not built. */
export const lockgate = [
  process.env["LOCKGATE"] ?? "",
  fileURLToPath(new URL("../../target/debug/lockgate", import.meta.url)),
].find((path) => path !== "" && existsSync(path));

export const FLAGS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(
    " ",
  );

/** Returns the page, as `tests/build.ts` built it. */
export const builtPage = (): string => readFileSync(inject("built"), "utf8");

/** Returns the faults of a page that are serious, or worse, for those who see or point otherwise. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const axe = new AxeBuilder({ page: page as never }).options({ resultTypes: ["violations"] });
  const { violations } = await axe.analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ target, html }) => `${target.join(" ")} ${html}`).join(", ")}`,
    );
}

/** Records how much a page's layout shifts from its opening on; called before it is opened. */
export async function watchShifts(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const watched = { shifts: 0 };
    Object.assign(window, watched);
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        (window as unknown as typeof watched).shifts += (entry as unknown as { value: number }).value;
    }).observe({ type: "layout-shift", buffered: true });
  });
}

/** Returns the sum of a page's layout shifts so far. */
export const shiftsOf = (page: Page): Promise<number> =>
  page.evaluate(() => (window as unknown as { shifts: number }).shifts);

/** Records that the tests `name` are not run, and why; `make test` prints the record at its end (`tests/skips.sh`). */
export function skipped(name: string, why: string): void {
  const line = `web::${name}: ${why}`;
  console.log(`skipped: ${line}`);
  const file = process.env["LOCKGATE_SKIPPED"];
  if (file !== undefined) appendFileSync(file, `${line}\n`);
}

if (executable === undefined) skipped("browser", "no Chromium; name one in CHROMIUM");
if (lockgate === undefined) skipped("running", "no lockgate; build it, or name it in LOCKGATE");
