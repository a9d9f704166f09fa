/** Worst packets: a row of the verdict leads to its packet, whose bars last from the arrival to the departure. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JudgedRow, RunVerdict, WorstPacket } from "../src/generated/lockgate";
import { builtPage, executable, FLAGS, seriousFaults } from "./browser";
import { fill, sampleReport } from "./sample";

const PACKET: WorstPacket = {
  flow: "voice",
  sequence: 125,
  length_bytes: 214,
  sent_s: 6.5,
  owd_s: 0.03,
  owd_p50_s: 0.012,
  beside_queues_s: 0.01,
  command: "lockgate step voice.toml --seed 1 --port home:server --from 6.5s",
  stays: [
    {
      port: "phone:home",
      queue: "fifo (fifo)",
      arrived_s: 6.5,
      waited_s: 0,
      ahead_packets: 0,
      served: [],
      blocks: [],
      reasons: [],
      is_marked: false,
    },
    {
      port: "home:server",
      queue: "<b>q</b> (drr)",
      arrived_s: 6.501,
      waited_s: 0.02,
      ahead_packets: 12,
      served: [
        { flow: "bulk", packets: 11, time_s: 0.015 },
        { flow: null, packets: 0, time_s: 0.005 },
      ],
      blocks: [
        { served: 0, from_s: 0, to_s: 0.01, packets: 8 },
        { served: 1, from_s: 0.01, to_s: 0.015, packets: 0 },
        { served: 0, from_s: 0.015, to_s: 0.02, packets: 3 },
      ],
      reasons: ["drr: its deficit 1514 B is enough"],
      is_marked: true,
    },
  ],
};

const row = (that: string, subject: string, quantity: string): JudgedRow => ({
  that,
  subject,
  quantity,
  value: "30 ms",
  wanted: "below 20 ms",
  holds: false,
  margin: "50 % above its bound",
});

describe.skipIf(executable === undefined)("a worst packet", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-worst-"));
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
    const report = sampleReport();
    report.runs = report.runs.slice(0, 1);
    const [run] = report.runs;
    if (!run) throw new Error("no run");
    run.worst = [PACKET];
    const verdict: Partial<RunVerdict> = {
      headline: "Missed.",
      outcome: "missed",
      findings: [],
      rows: [
        row("flow.voice.owd.p99", "voice", "delay p99"),
        row("flow.voice.loss", "voice", "loss"),
        row("flow.voice.owd.p99 @ 7s..8s", "voice", "delay p99 from 7s to 8s"),
        row("flow.voice.owd.p99 @ 6s..7s", "voice", "delay p99 from 6s to 7s"),
      ],
    };
    run.summary.verdict = verdict as RunVerdict;
    report.verdict = [];
    writeFileSync(join(folder, "report.html"), fill(builtPage(), report));
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const width of [390, 1280])
    it(`is reached from the row that judges its delay, at ${width} pixels`, async () => {
      const context = await browser.newContext({ viewport: { width, height: 800 } });
      const page = await context.newPage();
      await page.goto(`file://${join(folder, "report.html")}`);
      const links = page.locator(".judged .worst-link");
      await links.first().waitFor();
      const linked = links.locator("xpath=ancestor::tr");
      expect(
        await linked.evaluateAll((rows) => rows.map((row) => row.getAttribute("title"))),
        "not a loss, nor a part of the run in which the packet was not sent",
      ).toEqual(["flow.voice.owd.p99", "flow.voice.owd.p99 @ 6s..7s"]);
      await links.first().click();
      const article = page.locator("#worst-voice");
      const box = await article.boundingBox();
      expect(box?.y ?? -1).toBeGreaterThanOrEqual(0);
      expect(box?.y ?? 800).toBeLessThan(800);
      expect((box?.x ?? 0) + (box?.width ?? 9999)).toBeLessThanOrEqual(width);
      const text = (await article.innerText()).replaceAll("\u202f", " ");
      expect(text).toContain("30 ms on its way, 2.5 times the median");
      expect(text).toContain("no wait at phone:home");
      expect(text).toContain("and was marked there, behind 12 packets, in <b>q</b> (drr)");
      expect(text).toContain("the port may not send: 5 ms, 25 %");
      const rects = await article
        .locator("svg rect")
        .evaluateAll((all) =>
          all.map((rect) => ["x", "width"].map((name) => Number(rect.getAttribute(name)))),
        );
      expect(rects).toEqual([
        [0, 500],
        [500, 250],
        [750, 250],
      ]);
      expect(await seriousFaults(page)).toEqual([]);
      await context.close();
    });
});
