// What moving a slider costs the page's thread: the playground with an example, a slider moved step by step. Says the
// time from each move to the next picture, and the longest tasks, in real and in processor time of the thread: on a busy
// machine only the second is the page's own. `node tests/slide.mjs [PAGE [EXAMPLE [KNOB [MOVES]]]]`
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [
  file = fileURLToPath(new URL("../dist/play.html", import.meta.url)),
  example = "home",
  knob = "port.router:modem.queue.fq_codel.rate",
  moves = "50",
] = process.argv.slice(2);
const executablePath = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== "" && existsSync(path),
);
/** Length in ms from which a task is long. */
const LONG = 50;
/** Functions of a task that are named. */
const NAMED = 6;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
await page.goto(`${pathToFileURL(file)}#example=${example}`);
await page.waitForSelector('[data-figure="time"] .picture svg', { timeout: 120_000 });
const slider = page.locator(`[data-path="${knob}"]`);
await slider.waitFor({ timeout: 120_000 });
await slider.focus();
await page.evaluate(() => {
  const seen = { redraws: [], asked: 0 };
  Object.assign(window, { seen });
  addEventListener("input", () => (seen.asked = performance.now()), true);
  // A picture of the text as it is now: the first that is drawn after the move.
  new MutationObserver(() => {
    if (seen.asked === 0) return;
    seen.redraws.push(performance.now() - seen.asked);
    seen.asked = 0;
  }).observe(document.querySelector('[data-figure="time"] .picture'), {
    subtree: true,
    childList: true,
    attributes: true,
  });
});
const session = await browser.newBrowserCDPSession();
const events = [];
session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
// The profile costs time of its own: only for who asks for it.
const categories = `toplevel,devtools.timeline${process.env.PROFILE ? ",disabled-by-default-v8.cpu_profiler" : ""}`;
await session.send("Tracing.start", { transferMode: "ReportEvents", categories });
for (let move = 0; move < Number(moves); move++) {
  await page.keyboard.press(move % 2 === 0 || move > Number(moves) / 2 ? "ArrowRight" : "ArrowLeft");
  await page.waitForTimeout(250);
}
await page.waitForTimeout(1500);
const ended = new Promise((done) => session.once("Tracing.tracingComplete", done));
await session.send("Tracing.end");
await ended;
const redraws = (await page.evaluate(() => window.seen.redraws)).sort((a, b) => a - b);
await browser.close();

const at = (share) => redraws[Math.min(redraws.length - 1, Math.floor(redraws.length * share))]?.toFixed(0);
console.log(
  `${moves} moves, ${redraws.length} pictures: median ${at(0.5)} ms, 90 % ${at(0.9)} ms after the move`,
);

// The thread of the page is the main one of the renderer with most script.
const names = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
const isTask = ({ name, ph }) => ph === "X" && name.endsWith("RunTask");
const busy = ({ pid, tid }) =>
  events.reduce(
    (sum, one) => sum + (one.pid === pid && one.tid === tid && isTask(one) ? (one.tdur ?? one.dur) : 0),
    0,
  );
const main = names.sort((a, b) => busy(b) - busy(a))[0];
const ofMain = events.filter(({ pid, tid }) => pid === main.pid && tid === main.tid);
const tasks = ofMain
  .filter(({ name, ph }) => ph === "X" && /RunTask$/.test(name))
  .map((task) => ({ ...task, cpu: task.tdur ?? 0 }));
const long = (time) => tasks.filter((task) => task[time] >= LONG * 1000).length;
console.log(
  `${tasks.length} tasks, of ${LONG} ms and more: ${long("dur")} in real time, ${long("cpu")} in processor time`,
);

/** Returns the samples of the profile as times and stacks. */
function profile() {
  const nodes = new Map();
  const samples = [];
  for (const { args, id } of events
    .filter(({ name, pid }) => pid === main.pid && /^Profile/.test(name))
    .sort((a, b) => a.ts - b.ts)) {
    if (args.data.startTime !== undefined) samples.push({ id, time: args.data.startTime, start: true });
    for (const node of args.data.cpuProfile?.nodes ?? []) nodes.set(`${id} ${node.id}`, node);
    (args.data.cpuProfile?.samples ?? []).forEach((node, index) => {
      samples.push({ id, node, delta: args.data.timeDeltas?.[index] ?? 0 });
    });
  }
  const clocks = new Map();
  const found = [];
  for (const one of samples) {
    if (one.start) clocks.set(one.id, one.time);
    else {
      clocks.set(one.id, (clocks.get(one.id) ?? 0) + one.delta);
      found.push({ time: clocks.get(one.id), delta: one.delta, id: one.id, node: one.node });
    }
  }
  return { nodes, found };
}

const { nodes, found } = profile();
for (const task of [...tasks].sort((a, b) => b.cpu - a.cpu).slice(0, 8)) {
  const inside = found.filter(({ time }) => time >= task.ts && time <= task.ts + task.dur);
  const self = new Map();
  for (const { id, node, delta } of inside) {
    const names = new Set();
    for (let key = `${id} ${node}`, one = nodes.get(key); one; one = nodes.get(`${id} ${one.parent}`)) {
      const { functionName, lineNumber, columnNumber } = one.callFrame;
      names.add(`${functionName || "?"}:${lineNumber ?? ""}:${columnNumber ?? ""}`);
      if (one.parent === undefined) break;
    }
    for (const name of names) self.set(name, (self.get(name) ?? 0) + delta);
  }
  const most = [...self].sort((a, b) => b[1] - a[1]).slice(0, NAMED * 3);
  const parts = ofMain.filter(
    ({ ts, dur, name, ph }) =>
      ph === "X" && ts >= task.ts && ts + dur <= task.ts + task.dur && !/RunTask$/.test(name) && dur > 2000,
  );
  const kinds = parts
    .map(({ name, tdur, dur }) => `${name} ${((tdur ?? dur) / 1000).toFixed(0)}`)
    .slice(0, 8);
  console.log(
    `task ${(task.cpu / 1000).toFixed(0)} ms processor, ${(task.dur / 1000).toFixed(0)} ms: ${kinds.join(", ")}`,
  );
  if (most.length > 0)
    console.log(`   ${most.map(([name, time]) => `${name} ${(time / 1000).toFixed(0)}`).join(", ")}`);
}
