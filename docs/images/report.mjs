// Takes the picture of a report in README.md: `make picture`, or `node docs/images/report.mjs LOCKGATE`.
//
// The report is that of scenarios/bufferbloat.toml, in a Chromium of 1200 by 900 pixels, named in CHROMIUM or where
// distributions put it. The sentences that it shows stand in its description too, for the test that compares them
// with a run of today (crates/cli/tests/documentation.rs).
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const executablePath = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== "" && existsSync(path),
);
if (executablePath === undefined) throw new Error("no Chromium; name one in CHROMIUM");

/** Returns a PNG with a text as its description, in a chunk behind the header, which is 33 bytes long. */
function described(png, text) {
  const content = Buffer.from(`tEXtDescription\0${text}`);
  const chunk = Buffer.alloc(content.length + 8);
  chunk.writeUInt32BE(content.length - 4);
  content.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(content), content.length + 4);
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]);
}

const folder = mkdtempSync(join(tmpdir(), "lockgate-picture-"));
try {
  const out = join(folder, "run");
  const lockgate = process.argv[2] ?? join(root, "target/debug/lockgate");
  const run = spawnSync(lockgate, ["run", join(root, "scenarios/bufferbloat.toml"), "--quiet", "--out", out]);
  if (run.status !== 0) throw new Error(`lockgate run: ${run.stderr}`);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, colorScheme: "light" });
  await page.goto(`file://${join(out, "report.html")}`);
  await page.locator("#figure-time .picture svg").waitFor();
  await page.waitForTimeout(300);
  const told = await page.locator(".answer :is(.headline, .finding)").allTextContents();
  const text = told.map((line) => line.replace(/^\W+(?=\w)/, "").replaceAll("\u00a0", " ")).join("\n");
  writeFileSync(join(root, "docs/images/report.png"), described(await page.screenshot(), text));
  await browser.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
