// Takes the picture of a report in README.md: `make picture`, or `node docs/images/report.mjs LOCKGATE`.
//
// The report is that of scenarios/bufferbloat.toml, in a Chromium of 1200 by 760 pixels, named in CHROMIUM or where
// distributions put it.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const executablePath = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== "" && existsSync(path),
);
if (executablePath === undefined) throw new Error("no Chromium; name one in CHROMIUM");
const folder = mkdtempSync(join(tmpdir(), "lockgate-picture-"));
try {
  const out = join(folder, "run");
  const lockgate = process.argv[2] ?? join(root, "target/debug/lockgate");
  const run = spawnSync(lockgate, ["run", join(root, "scenarios/bufferbloat.toml"), "--quiet", "--out", out]);
  if (run.status !== 0) throw new Error(`lockgate run: ${run.stderr}`);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: "light" });
  await page.goto(`file://${join(out, "report.html")}`);
  await page.locator("#figure-time .picture svg").waitFor();
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(root, "docs/images/report.png") });
  await browser.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
