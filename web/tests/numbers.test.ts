/** Every number of a table, read back from the page of a real run, against that run's `summary.json`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Expectation, Summary } from "../src/generated/lockgate";
import { builtPage, executable, FLAGS, lockgate } from "./browser";
import { fill } from "./sample";

/** A table as a reader sees it: its name, the heading above it, headings with units, and texts of cells. */
interface Shown {
  name: string;
  title: string;
  columns: { title: string; unit: string }[];
  rows: string[][];
}

const THIN = "\u202f";
const PREFIXES: Record<string, number> = {
  p: 1e-12,
  n: 1e-9,
  µ: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/** Returns the factor of a unit such as `ms` or `Mbit/s`, and its base unit. */
function split(unit: string): [factor: number, base: string] {
  if (unit === "") return [1, ""];
  if (unit === "%") return [0.01, "ratio"];
  const [, prefix = "", base = ""] = /^([pnµmkMGT]?)(s|bit\/s|B)$/.exec(unit) ?? [];
  if (base === "") throw new Error(`the unit ${unit} is unknown`);
  return [prefix === "" ? 1 : (PREFIXES[prefix] ?? NaN), base];
}

/** Reads a number with its unit; null for a dash. `error` is the most that rounding to its digits allows. */
function read(text: string, unit = ""): { value: number; error: number; base: string } | null {
  if (text === "–") return null;
  const [, digits = "", power = "", own = ""] =
    /^(−?[\d\u202f]+(?:\.\d+)?)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?:\u202f([^\d\s]+))?$/.exec(text) ?? [];
  if (digits === "") throw new Error(`\`${text}\` is not a number`);
  const plain = digits.replaceAll(THIN, "").replace("−", "-");
  const exponent = [...power].map((digit) => (digit === "⁻" ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit))).join("");
  const [scale, base] = split(own || unit);
  const factor = scale * 10 ** Number(exponent);
  const bare = Number(plain);
  // At least three digits, or all whole ones; zeros at the end may be left out.
  const decimals = (plain.split(".")[1] ?? "").length;
  const last = Math.min(10 ** -decimals, 10 ** (Math.floor(Math.log10(Math.abs(bare))) - 2));
  return { value: bare * factor, error: bare === 0 ? 0 : 0.5 * last * factor * (1 + 1e-6), base };
}

/** Expects a text to show this value in this base unit, rounded to its digits; a dash for none. */
function same(
  text: string,
  unit: string,
  wanted: number | null | undefined,
  base: string,
  where: string,
): void {
  const shown = read(text, unit);
  const isNear =
    shown === null || wanted === null || wanted === undefined
      ? shown === (wanted ?? null)
      : Math.abs(shown.value - wanted) <= shown.error;
  expect(isNear, `${where}: ${text} ${unit} for ${wanted}`).toBe(true);
  if (shown !== null) expect(shown.base, where).toBe(base);
}

/** Base units by the names of fields and metrics. */
const UNITS: [name: RegExp, base: string][] = [
  [
    /_s\b|\b(owd|queueing|serialisation|propagation|ipdv|pdv|jitter|iat|fct|ps_fct|sojourn|scheduling|rtt|page_load|answer_gap)(_|\b)(?!loss)/,
    "s",
  ],
  [/_bps\b|\b(throughput|goodput|rate|capacity)\b/, "bit/s"],
  [/_ratio\b|\b(loss|rtt_loss|reordered|utilisation|requests_met|requests_contended)\b/, "ratio"],
  [/_bytes\b|\bcwnd_/, "B"],
];
/** Unit of Jain's index, which is a number or a share: as the metric is defined. */
let jainUnit = "";
const baseOf = (name: string): string =>
  /(^|\.)jain_index$/.test(name) ? jainUnit : (UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? "");

/** Columns of flows and queues: the metric's address, and its place in the document. */
const FLOW: Record<string, [address: string, place: string]> = {
  Throughput: ["throughput", "throughput_bps"],
  Goodput: ["goodput", "goodput_bps"],
  Loss: ["loss", "loss_ratio"],
  "Delay p50": ["owd.p50", "owd_s.p50"],
  mean: ["owd.mean", "owd_s.mean"],
  p95: ["owd.p95", "owd_s.p95"],
  p99: ["owd.p99", "owd_s.p99"],
  "p99.9": ["owd.p999", "owd_s.p999"],
  proven: ["owd.bound", "owd_bound_s"],
  max: ["owd.max", "owd_s.max"],
  "PDV p99": ["pdv.p99", "pdv_s.p99"],
  "IPDV p99": ["ipdv.p99", "ipdv_s.p99"],
  Jitter: ["jitter_rfc3550", "jitter_rfc3550_s"],
  Reordered: ["reordered", "reordered_ratio"],
  FCT: ["fct", "fct_s"],
  Slowdown: ["slowdown", "file.slowdown"],
  MOS: ["mos", "voice.mos"],
  Retransmissions: ["retransmissions", "tcp.retransmissions"],
  Sent: ["sent_packets", "sent_packets"],
  Received: ["received_packets", "received_packets"],
  Lost: ["lost_packets", "lost_packets"],
  Inside: ["inside_packets", "inside_packets"],
};
const QUEUE: Record<string, [address: string, place: string]> = {
  Offered: ["enqueued_packets", "enqueued_packets"],
  Sent: ["sent_packets", "sent_packets"],
  "Sent B": ["sent_bytes", "sent_bytes"],
  Marked: ["marked_packets", "marked_packets"],
  Backlog: ["backlog_packets", "backlog_packets"],
  Peak: ["peak_backlog_packets", "peak_backlog_packets"],
  Dropped: ["dropped_packets", "dropped_packets"],
  "Sojourn p50": ["sojourn.p50", "sojourn_s.p50"],
  p95: ["sojourn.p95", "sojourn_s.p95"],
  p99: ["sojourn.p99", "sojourn_s.p99"],
  max: ["sojourn.max", "sojourn_s.max"],
  Proven: ["buffer_bound", "buffer_bound_bytes"],
};
const MEMBER: Record<string, string> = {
  "delay p50": "owd_s.p50",
  "delay p99": "owd_s.p99",
  "delay max": "owd_s.max",
  loss: "loss_ratio",
  throughput: "throughput_bps",
  R: "voice.r_factor",
};

/** Returns the number at a path of a document, such as `owd_s.p50`. */
const at = (document: unknown, path: string): number | null =>
  path
    .split(".")
    .reduce<unknown>(
      (value, key) => (value as Record<string, unknown> | null | undefined)?.[key],
      document,
    ) as number | null;

/** Returns the plan of a subscriber of `isp.toml` in bits per second. */
const planOf = (host: string): number => [5e7, 1e8, 2e8][(Number(host.split("/")[1]) - 1) % 3] as number;

/** Checks all tables of a page. Returns the number of numbers, by table. */
function check(tables: readonly Shown[], summary: Summary): Record<string, number> {
  const checked: Record<string, number> = {};
  const compare = (
    table: Shown,
    column: number,
    row: number,
    wanted: number | null | undefined,
    base: string,
  ): void => {
    const text = table.rows[row]?.[column] ?? "";
    const where = `${table.title}, ${table.name}: ${table.rows[row]?.[0]}, ${table.columns[column]?.title}`;
    same(text, table.columns[column]?.unit ?? "", wanted, base, where);
    if (text !== "–") checked[table.name] = (checked[table.name] ?? 0) + 1;
  };
  for (const table of tables) {
    const place = (title: string): number => table.columns.findIndex((column) => column.title === title);
    for (const [row, cells] of table.rows.entries()) {
      const [name = ""] = cells;
      if (table.name === "expectations") continue;
      for (const [column, { title, unit }] of table.columns.entries()) {
        if (table.name === "flows" || table.name === "other-directions") {
          if (column === 0) continue;
          const [address, key] = FLOW[title] ?? [];
          if (address === undefined || key === undefined) throw new Error(`flows have no metric ${title}`);
          const value = at(summary.flows[name], key);
          expect(summary.flows[name], name).toBeDefined();
          expect(summary.metrics?.[`flow.${name}.${address}`] ?? value ?? null).toBe(value ?? null);
          compare(table, column, row, value, baseOf(key));
        } else if (table.name === "queues" || table.name === "idle-queues") {
          const port = cells[place("Port")] || (Object.keys(summary.ports)[0] as string);
          const own = cells[place("Queue")] ?? "";
          const queue = summary.ports[port]?.queues[own];
          expect(queue, `${port} ${own}`).toBeDefined();
          if (title === "Kind") expect(cells[column]).toBe(queue?.kind);
          else if (title.startsWith("– "))
            compare(table, column, row, queue?.drops_by[title.slice(2)] ?? 0, "");
          else if (title !== "Queue" && title !== "Port") {
            const isBytes = title === "Sent" && unit.endsWith("B");
            const [address, key] = QUEUE[isBytes ? "Sent B" : title] ?? [];
            if (address === undefined || key === undefined) throw new Error(`queues have no metric ${title}`);
            const value = at(queue, key);
            expect(summary.metrics?.[`port.${port}.queue.${own}.${address}`] ?? value ?? null).toBe(
              value ?? null,
            );
            compare(table, column, row, value, baseOf(key));
          }
        } else if (table.name === "parts") {
          // A flow's rows are its phases, of which the document has the median of delays that a verdict tells.
          const phase = table.rows.slice(0, row).filter(([other]) => other === name).length;
          const value = summary.phases?.[phase]?.values[`flow.${name}.owd.p50`];
          if (title === "Delay p50" && value !== undefined) compare(table, column, row, value, "s");
        } else if (table.name === "intervals") {
          const key = { Mean: "mean", "± at 95 %": "half_width", Runs: "n" }[title];
          if (key !== undefined)
            compare(table, column, row, at(summary.intervals[name], key), key === "n" ? "" : baseOf(name));
        } else if (table.name === "rows" && table.title === "Groups") {
          const metric = cells[place("metric")] ?? "";
          const over = summary.groups?.[name]?.members?.[metric];
          const key = { members: "count", mean: "mean", p95: "p95", worst: "worst" }[title];
          // The document has statistics over members if these are recorded briefly.
          if (over === undefined) {
            expect(summary.detail).toBeUndefined();
            continue;
          }
          if (key !== undefined)
            compare(table, column, row, at(over, key), key === "count" ? "" : baseOf(metric));
          if (title === "worst member") expect(cells[column]).toBe(over.worst_member);
        } else if (table.name.endsWith(" members")) {
          const key = MEMBER[title];
          const host = cells[place("host")] ?? "";
          if (title === "plan") compare(table, column, row, planOf(host), "bit/s");
          else if (title === "queue") expect(cells[column]).toBe(`plan/${host.split("/")[1]}`);
          else if (key === undefined && !["member", "delay over time", "host"].includes(title))
            throw new Error(`members have no metric ${title}`);
          else if (key !== undefined && summary.flows[name])
            compare(table, column, row, at(summary.flows[name], key), baseOf(key));
        } else if (table.name === "rows" && table.title === "Where packets wait and are dropped") {
          const port = summary.ports[name];
          // Ports of members are one row, of which the document has only the worst.
          if (port === undefined) expect(name).toContain("/*");
          else {
            const roots = Object.values(port.queues).filter(({ parent }) => parent === null);
            const dropped = roots.reduce((sum, queue) => sum + queue.dropped_packets, 0);
            const waits = Object.values(port.queues).map(
              ({ sojourn_s }) => sojourn_s.p99 ?? sojourn_s.max ?? 0,
            );
            if (title === "rate") compare(table, column, row, port.rate_bps, "bit/s");
            if (title === "used") compare(table, column, row, port.utilisation, "ratio");
            if (title === "dropped") compare(table, column, row, dropped, "");
            if (title === "longest wait p99") compare(table, column, row, Math.max(...waits), "s");
          }
        } else throw new Error(`nothing is known of the table ${table.title}, ${table.name}`);
      }
    }
  }
  return checked;
}

/** Checks the table of expectations: measured value, every bound, members and the share of the bound. */
function checkExpectations(table: Shown, expected: readonly Expectation[]): void {
  const cell = (row: number, title: string): string =>
    table.rows[row]?.[table.columns.findIndex((column) => column.title === title)] ?? "";
  expect(table.rows).toHaveLength(expected.length);
  for (const [row, one] of expected.entries()) {
    const base = baseOf(one.that);
    expect(cell(row, "Result")).toBe(one.holds ? "holds" : "missed");
    expect(cell(row, "Expectation")).toBe([one.name, one.that].filter(Boolean).join(" "));
    // Words of the verdict have a plain space between a number and its unit.
    const [bounds, share] = cell(row, "Wanted")
      .replace(/(\d)[ \u00a0](?=\D)/g, `$1${THIN}`)
      .split(", for ");
    const keys = { above: one.above, "at least": one.at_least, below: one.below, "at most": one.at_most };
    const wanted = Object.entries({ ...keys, between: one.between }).filter(
      ([, bound]) => bound !== undefined,
    );
    const shown = (bounds ?? "").split(", ");
    expect(shown).toHaveLength(wanted.length);
    for (const [words, bound] of wanted) {
      const text = shown.find((text) => text.startsWith(words)) ?? "";
      const values = text.slice(words.length + 1).split(" and ");
      for (const [index, value] of [bound].flat().entries())
        same(values[index] ?? "", "", value as number, base, text);
    }
    const measured = cell(row, "Measured");
    if (one.members) {
      const [, held = "", of = "", ratio = "", value = ""] =
        /^(\d+) of (\d+) \((.*?)\)(?:; (.*) decides)?$/.exec(measured) ?? [];
      expect([Number(held), Number(of)]).toEqual([one.members.held, one.members.of]);
      same(ratio, "", one.members.held / one.members.of, "ratio", measured);
      if (share === "all") expect(one.members.wanted_ratio).toBe(1);
      else same(share ?? "", "", one.members.wanted_ratio, "ratio", share ?? "");
      if (one.holds) expect(value).toBe("");
      else same(value.split(" ± ")[0] ?? "", "", one.value, base, measured);
    } else {
      const [value, half] = measured.split(" ± ");
      same(value ?? "", "", one.value, base, measured);
      same(half ?? "–", "", one.half_width, base, measured);
    }
    if (one.values.length > 1) expect(cell(row, "Held by")).toBe(`${one.held} of ${one.values.length}`);
  }
}

const scenario = (name: string): string =>
  fileURLToPath(new URL(`../../scenarios/${name}.toml`, import.meta.url));

/** Two bounds, bounds by "between", and a share of several flows that is missed. */
const BOUNDS = `
duration = "2s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = { up = "10mbit", down = "95mbit" }, delay = { up = "3ms", down = "1ms" } }
flow.one = { from = "a", to = "b", size = "1000B", gap = "2ms" }
flow.two = { from = "b", to = "a", size = "500B", gap = "1ms" }
expect = [
  { that = "flow.one.throughput", above = "3.9mbit", below = "4.1mbit" },
  { that = "flow.two.owd.p99", between = ["1ms", "1.05ms"], name = "the way back" },
  { that = "flow.*.owd.max", below = "3ms", held_by = "75%" },
]
`;

describe.skipIf(executable === undefined || lockgate === undefined)("numbers of the page", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockgate-numbers-"));
  let browser: Browser;
  const template = builtPage();
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a scenario. Returns its results, and the page of these sources with its report. */
  async function open(name: string, args: readonly string[]): Promise<{ page: Page; summary: Summary }> {
    const out = join(folder, name);
    const run = spawnSync(lockgate as string, ["run", ...args, "-q", "--out", out], { encoding: "utf8" });
    expect([0, 3], run.stderr).toContain(run.status);
    const [, carried = ""] =
      /id="lockgate-data" data-encoding="gzip">([^<]*)</.exec(
        readFileSync(join(out, "report.html"), "utf8"),
      ) ?? [];
    const data = JSON.parse(gunzipSync(Buffer.from(carried, "base64")).toString());
    jainUnit = data.definitions.find((one: { name: string }) => one.name === "jain_index").unit;
    const path = join(folder, `${name}.html`);
    writeFileSync(path, fill(template, data));
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`file://${path}`);
    await page.waitForSelector("#page main");
    // Figures above that are drawn meanwhile may move the button from under the pointer.
    const rows = page.locator("#figure-topology .table tbody tr");
    await expect
      .poll(async () => {
        if ((await rows.count()) === 0)
          await page.locator("#figure-topology button", { hasText: "Data" }).click();
        return rows.count();
      })
      .toBeGreaterThan(0);
    for (const all of await page.locator("button", { hasText: "Show all" }).all())
      if (await all.isVisible()) await all.click();
    return { page, summary: JSON.parse(readFileSync(join(out, "summary.json"), "utf8")) };
  }

  const tablesOf = (page: Page): Promise<Shown[]> =>
    page.locator(".table").evaluateAll((tables) =>
      tables.map((table) => {
        const words = (element: Element | null | undefined): string => element?.textContent?.trim() ?? "";
        const columns = [...table.querySelectorAll("th[scope=col] button")].map((button) => ({
          title: words(button.firstChild as Element),
          unit: words(button.querySelector("small")),
        }));
        return {
          name: table.querySelector(".scroll")?.getAttribute("aria-label")?.replace("Table of ", "") ?? "",
          title: words(
            (table.closest(".comparison, figure") ?? table.closest("section"))?.querySelector("h3, h2"),
          ),
          columns,
          rows: [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map(words)),
        };
      }),
    );

  const GROUPS = [scenario("isp"), "--set", "node.sub.count=200", "--set", "record.detail=groups"];
  it.each([
    ["home", [scenario("home")], ["flows", "queues"]],
    ["home-repeated", [scenario("home"), "--repeat", "3"], ["flows", "intervals", "queues"]],
    ["bufferbloat", [scenario("bufferbloat")], ["flows", "queues"]],
    ["isp", GROUPS, ["flows", "queues", "rows", "download members", "video members", "call members"]],
    ["isp-all", GROUPS.slice(0, 3), ["flows", "queues", "download members", "video members"]],
    ["bounds", [join(folder, "bounds.toml")], ["flows", "queues"]],
  ] as const)(
    "are those of the results: %s",
    async (name, args, names) => {
      writeFileSync(join(folder, "bounds.toml"), BOUNDS);
      const { page, summary } = await open(name, args);
      const tables = await tablesOf(page);
      for (const group of (await page.locator(".members h3 button").all()).slice(1)) {
        await group.click();
        const all = page.locator(".members button", { hasText: "Show all" });
        if (await all.isVisible()) await all.click();
        tables.push(...(await tablesOf(page)).filter((table) => table.name.endsWith(" members")));
      }
      const own = tables.filter((table) => table.name !== "expectations" && table.title !== "Topology");
      const checked = check(
        own.filter((table) => table.name !== "events"),
        summary,
      );
      for (const table of names) expect(checked[table], table).toBeGreaterThan(20);
      const expectations = tables.find((table) => table.name === "expectations");
      checkExpectations(expectations as Shown, summary.expect);
      // Each direction of a link has the rate of its port, in the table and beside the link.
      const links = tables.find((table) => table.title === "Topology")?.rows ?? [];
      const isFolded = (cells: string[]): boolean => cells.some((cell) => cell.includes("(all)"));
      for (const cells of links.filter((cells) => !isFolded(cells))) {
        const [link = "", from, to, rate = ""] = cells;
        const port = summary.ports[`${from}:${to}`];
        same(rate, "", port?.rate_bps, "", `${link} from ${from} to ${to}`);
        const titles = await page.locator("#figure-topology .picture title").allTextContents();
        const words = titles.find((title) => title.startsWith(`${link}: `))?.split(/[:,] /) ?? [];
        const isForth = words[1] === `${from} – ${to}`;
        const shown = words.filter((word) => word.endsWith("bit/s"));
        const own =
          shown.length === 1 ? shown[0] : shown.find((word) => word.startsWith(isForth ? "→" : "←"));
        same((own ?? "").replace(/^[→←] /, ""), "", port?.rate_bps, "bit/s", `${link}: ${words.join(", ")}`);
      }
      expect(links.length).toBeGreaterThanOrEqual(2);
      // Figures of one of several seeds say of which.
      const captions = page.locator("figure:not(#figure-topology, .empty) > figcaption:visible");
      // A figure is drawn when it comes near the screen. Others move it meanwhile, for seconds on a busy machine.
      for (const caption of await captions.all()) await caption.evaluate((it) => it.scrollIntoView());
      const silent = async (): Promise<number> => {
        const texts = await captions.allTextContents();
        const says = texts.filter((text) => text.includes(`Seed ${summary.seed}, the first of 3.`)).length;
        return summary.runs === 3 ? texts.length - says : says;
      };
      await expect.poll(silent, { timeout: 20_000 }).toBe(0);
      const head = await page.locator("header.title").textContent();
      expect(head?.includes("expectations are on all of them")).toBe(summary.runs === 3);
      await page.close();
    },
    180_000,
  );
});
