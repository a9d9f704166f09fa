// What looking costs: the same live run of 200 000 packets a second, with the page open at a sample every 10 ms and
// without anybody. `node tests/overhead.mjs [LOCKGATE [ROUNDS]]`, on a machine with nothing else at work.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const lockgate = process.argv[2] ?? fileURLToPath(new URL("../../target/release/lockgate", import.meta.url));
const rounds = Number(process.argv[3] ?? 5);
const executablePath = [
  process.env.CHROMIUM ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path !== "" && existsSync(path));

// In trains of 32 on average: one thread sends them, and sleeps between two trains rather than between two packets.
// What is before the end of the warm-up is left out: the page is opened in it.
const SECONDS = 14;
const SCENARIO = `
duration = "${SECONDS}s"
warmup = "4s"
node.a = {}
node.r = {}
node.b = {}
link.first = { between = ["a", "r"], rate = "1gbit" }
link.last = { between = ["r", "b"], rate = "1gbit" }
[flow.load]
from = "a"
to = "b"
size = "120B"
gap = { distribution = "empirical", values = ["1us", "129us"], weights = [31, 1] }
`;

const directory = mkdtempSync(join(tmpdir(), "lockgate-overhead-"));
const file = join(directory, "load.toml");
writeFileSync(file, SCENARIO);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto("about:blank");

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function once(isWatched) {
  const out = join(directory, "out");
  rmSync(out, { recursive: true, force: true });
  const watch = ["watch", file, "--live", "--plain", "--every", "10ms", "--web", "127.0.0.1:0", "--out", out];
  const child = spawn(lockgate, isWatched ? watch : ["run", file, "--live", "--out", out], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((done) => child.on("exit", done));
  let seen = "";
  for await (const line of createInterface({ input: child.stderr })) {
    if (!line.startsWith("page: ")) continue;
    await page.goto(line.slice(6));
    await sleep(SECONDS * 1000 + 1500);
    seen = ((await page.textContent("body")) ?? "").length > 500 ? "" : "the page is empty";
    await page.screenshot({ path: join(directory, "page.png") });
    // The page stays up after its run until it is told twice to end.
    for (let times = 0; times < 2; times += 1) {
      child.kill("SIGINT");
      await sleep(500);
    }
  }
  await ended;
  await page.goto("about:blank");
  const summary = JSON.parse(readFileSync(join(out, "summary.json"), "utf8"));
  const load = summary.flows.load ?? summary.flows[0];
  const { fidelity } = summary;
  return {
    rate: load.sent_packets / (SECONDS - 4),
    lost: load.lost_packets,
    host: fidelity.host_losses,
    cpu: summary.engine.cpu_s,
    driver: fidelity.driver_cpu_s,
    seen,
  };
}

console.log(
  "| page | packets/s | lost | lost by the machine | processor time, s | driver, s |\n| --- | ---: | ---: | ---: | ---: | ---: |",
);
const cpu = { false: [], true: [] };
for (let round = 0; round < rounds; round += 1) {
  for (const isWatched of [false, true]) {
    const got = await once(isWatched);
    cpu[isWatched].push(got.cpu);
    console.log(
      `| ${isWatched ? "open" : "-"} | ${Math.round(got.rate)} | ${got.lost} | ${got.host} | ${got.cpu.toFixed(2)} | ${got.driver.toFixed(2)} | ${got.seen}`,
    );
  }
}
await browser.close();
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
console.log(
  `\nwith the page open: ${(100 * (median(cpu.true) / median(cpu.false) - 1)).toFixed(1)} % more processor time (medians); last look: ${join(directory, "page.png")}`,
);
