/** A large network: percentiles over members, where packets wait, the worst members and one of them; commands of a verdict. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chartToSvg } from "../src/chart";
import { bandsFigure, groupsOf } from "../src/figures/bands";
import { duringOf } from "../src/figures/time-bounds";
import { LIGHT } from "../src/palette";
import type { Report } from "../src/report";
import { split } from "../src/sections/verdict";
import { builtPage, executable, FLAGS, seriousFaults } from "./browser";
import { distribution, expectation, fill, queueSummary, singleReport } from "./sample";

const MEMBERS = 200;
const times = Array.from({ length: 30 }, (_, at) => at + 1);
const axis = (label: string, unit: string) => ({ label, unit, log: false });
const curve = (name: string, value: number) => ({
  name,
  mode: "sim" as const,
  x: times,
  y: times.map((at) => value * (1 + at / 30)),
});

/** Returns a report of two hundred calls, of which the worst are the last. */
function large(): Report {
  const report = singleReport();
  const [run] = report.runs;
  if (!run) throw new Error("no run");
  run.summary.expect = [
    expectation({ that: "group.call.owd.p99.p95", below: 0.12, value: 0.09, holds: true }),
  ];
  const [port] = Object.values(run.summary.ports);
  if (port)
    port.queues["plan/200"] = queueSummary({
      kind: "fq_codel",
      enqueued_packets: 400,
      sent_packets: 300,
      dropped_packets: 100,
      sojourn_s: { ...distribution(), p99: 0.7, max: 0.8 },
    });
  const names = Array.from({ length: MEMBERS }, (_, at) => `call/${MEMBERS - at}`);
  return {
    ...report,
    comparisons: [
      {
        title: "Where packets wait and are dropped",
        columns: ["port", "rate", "dropped"],
        rows: [["bng:olt", { value: 1e10, unit: "bit/s" }, 96_704]],
        note: "",
      },
      {
        title: `call: ${MEMBERS} members, the worst first`,
        columns: ["member", "host", "queue", "plan", "delay p99"],
        rows: names.map((name, at) => [
          name,
          `sub/${MEMBERS - at}`,
          `plan/${MEMBERS - at}`,
          { value: 5e7, unit: "bit/s" },
          { value: (MEMBERS - at) / 1000, unit: "s" },
        ]),
        note: "",
      },
      { title: "Groups", columns: ["group", "metric"], rows: [["call", "owd.p99"]], note: "" },
    ],
    figures: [
      {
        id: "members-over-time",
        title: "Delay of all members over time",
        caption: "All.",
        kind: "bands",
        x: axis("time", "s"),
        y: axis("one-way delay", "s"),
        series: [
          ["p50", 0.02],
          ["p95", 0.04],
          ["p99", 0.06],
          ["max", 0.2],
        ].map(([name, value]) => curve(`call ${name}`, value as number)),
      },
      {
        id: "members",
        title: "Members of groups",
        caption: "Fraction.",
        kind: "line",
        x: { ...axis("delay", "s"), log: true },
        y: axis("fraction", ""),
        series: [{ name: "call", mode: "sim", x: [0.01, 0.2], y: [0.5, 1] }],
      },
      {
        id: "map-call",
        title: "call: the worst members over time",
        caption: "Largest.",
        kind: "map",
        x: axis("time", "s"),
        y: axis("delay", "s"),
        series: names.slice(0, 60).map((name, at) => curve(name, (60 - at) / 100)),
      },
    ],
  };
}

describe("percentiles over members", () => {
  const report = large();
  const figure = report.figures.find(({ kind }) => kind === "bands");
  if (!figure) throw new Error("no bands");

  it("are curves of a group, with a band between each two and the bound at its value", () => {
    expect(groupsOf(figure).map(({ name, curves }) => [name, curves.map((one) => one.name)])).toEqual([
      ["call", ["p50", "p95", "p99", "max"]],
    ]);
    const drawn = bandsFigure(figure, report, {});
    const drawing = drawn.draw(LIGHT, 900);
    if (!("option" in drawing)) throw new Error("no chart");
    const svg = chartToSvg(drawing.option, 900, drawn.height(900));
    const filled = svg.split("<polygon").filter((shape) => shape.includes(`fill="${LIGHT.series[0]}"`));
    expect(filled.length).toBe(3);
    expect(svg.replaceAll("\u202f", " ")).toContain("p99 of 95 % &lt; 120 ms");
    // The highest curve is the largest delay at its end, on an axis up to 0.4 s.
    const [grid] = drawing.option.grid as { top: number; height: number }[];
    const [limits] = drawing.option.yAxis as { min: number; max: number }[];
    if (!grid || !limits) throw new Error("no panel");
    expect(limits).toMatchObject({ min: 0, max: 0.4 });
    const dashed = svg.split("<path").find((path) => path.includes(`stroke="${LIGHT.bad}"`));
    const y = Number(/d="M[\d.]+ ([\d.]+)L/.exec(dashed ?? "")?.[1]);
    expect(Math.abs(y - (grid.top + grid.height * (1 - 0.12 / 0.4)))).toBeLessThan(1);
  });
});

describe("the bound of a part of the run", () => {
  it("has its ends in seconds", () => {
    expect(duringOf("flow.call.owd.p99 @ 10s..20.5s")).toEqual({
      address: "flow.call.owd.p99",
      during: [10, 20.5],
    });
    expect(duringOf("group.a.goodput.sum@500ms..2min").during).toEqual([0.5, 120]);
    expect(duringOf("flow.call.owd.p99").during).toBeNull();
  });
});

describe("the commands of a verdict", () => {
  it("go with their sentences, and the first sentence stays", () => {
    const { sentences, commands } = split([
      "The knee of the front, point #2: rate=9mbit.",
      "Near a cliff: the call.",
      "lockgate run a.toml --set rate=9mbit",
      "30 runs; stopped: all are made.",
      "#2 the same as `tc`: lockgate tc export a.toml",
    ]);
    expect(sentences).toEqual([
      "The knee of the front, point #2: rate=9mbit.",
      "Near a cliff: the call.",
      "30 runs; stopped: all are made.",
    ]);
    expect(commands).toEqual([
      { of: "The knee of the front, point #2: rate=9mbit.", text: "lockgate run a.toml --set rate=9mbit" },
      { of: "#2 the same as `tc`", text: "lockgate tc export a.toml" },
    ]);
  });
});

describe.skipIf(executable === undefined)("the page of a large network", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-members-"));
  let browser: Browser;
  let html = "";
  beforeAll(async () => {
    html = fill(builtPage(), large());
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    [1400, "light"],
    [390, "dark"],
  ] as const)(
    "begins with all members, finds each and opens one: %i pixels, %s",
    async (width, colorScheme) => {
      const path = join(folder, "large.html");
      writeFileSync(path, html);
      const page = await (
        await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
      ).newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(`file://${path}`);
      await page.waitForSelector("#page main");
      // The first figure is of all members; the single flows come later.
      expect(await page.locator("figure").first().getAttribute("data-figure")).toBe(
        "extra-members-over-time",
      );
      expect(await page.locator("#members .comparison").first().textContent()).toContain("96\u202f704");
      const rows = page.locator(".members tbody tr");
      expect(await rows.count()).toBe(20);
      expect(await rows.first().textContent()).toContain("call/200");
      expect(await rows.first().locator(".spark polygon").count()).toBe(1);
      await page.getByLabel("Filter call members").fill("sub/17");
      await expect.poll(() => rows.count()).toBe(11);
      await rows.locator("button", { hasText: /^call\/17$/ }).click();
      const told = page.locator(".member");
      expect(await told.innerText()).toMatch(/184 of 200, the worst first/);
      expect(await told.innerText()).toContain("--members FILE");
      await page.getByLabel("Filter call members").fill("call/200");
      await rows.locator("button", { hasText: "call/200" }).click();
      await told.locator(".picture svg").waitFor();
      const facts = await told.innerText();
      for (const words of ["1 of 200", "sub/200", "50 Mbit", "plan/200", "p99 700", "100 (25 %"])
        expect(facts.replaceAll("\u202f", " ")).toContain(words);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(await seriousFaults(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );
});
