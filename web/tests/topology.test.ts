/** Layout and words of the network: places without a browser, the picture in one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { describe, expect, it } from "vitest";
import { linkWords, places } from "../src/figures/topology";
import { THIN } from "../src/format";
import type { TopologyLink } from "../src/generated/lockgate";
import { builtPage, executable, FLAGS } from "./browser";
import { fill, sampleReport } from "./sample";

const spaced = (text: string): string => text.replaceAll(THIN, " ");

describe("topology", () => {
  it("does not say that a link has no delay", () => {
    const both = (value: number | null): [number | null, number | null] => [value, value];
    expect(linkWords({ rate_bps: both(1e9), delay_s: both(0) }).map(spaced)).toEqual(["1 Gbit/s"]);
    expect(linkWords({ rate_bps: both(1e7), delay_s: both(0.008) }).map(spaced)).toEqual([
      "10 Mbit/s",
      "8 ms",
    ]);
    expect(linkWords({ rate_bps: both(null), delay_s: both(null) })).toEqual([]);
  });

  it("says rate and delay of each direction", () => {
    const link: Pick<TopologyLink, "rate_bps" | "delay_s"> = { rate_bps: [1e7, 1e8], delay_s: [0, 0.02] };
    expect(linkWords(link).map(spaced)).toEqual(["→ 10 Mbit/s", "← 100 Mbit/s", "→ 0 s", "← 20 ms"]);
  });

  it("stands the sides of the slowest link to its left and right", () => {
    const { nodes, links } = sampleReport().topology;
    const at = places(nodes, links);
    expect([...at].map(([name, place]) => [name, place.x])).toEqual([
      ["phone", 0],
      ["laptop", 0],
      ["home", 0.5],
      ["server", 1],
    ]);
    expect(at.get("phone")?.y).not.toBe(at.get("laptop")?.y);
  });

  it("has a place for every node of a ring, of parts that do not meet, and of links to nowhere", () => {
    const node = (name: string) => ({ name, router: false });
    const link = (from: string, to: string): Pick<TopologyLink, "from" | "to" | "rate_bps"> => ({
      from,
      to,
      rate_bps: [1e6, 1e6],
    });
    const at = places([..."abcdef"].map(node), [
      link("a", "b"),
      link("b", "c"),
      link("c", "a"),
      link("d", "e"),
      link("e", "nowhere"),
    ]);
    expect(at.size).toBe(6);
    for (const { x, y } of at.values()) expect(x >= 0 && x <= 1 && y >= 0 && y <= 1).toBe(true);
  });
});

describe.skipIf(executable === undefined)("the picture of the network", () => {
  it("has no text over another, and the rate of every link for which there is room", async () => {
    const link = (from: string, to: string, rate: number, delay: number): TopologyLink => ({
      name: `${from}-${to}`,
      from,
      to,
      rate_bps: [rate, rate],
      delay_s: [delay, delay],
    });
    const hosts = ["phone", "console", "laptop", "television", "printer"];
    const topology = {
      nodes: [...hosts, "router", "modem", "isp", "server"].map((name) => ({
        name,
        router: /^(router|modem|isp)$/.test(name),
      })),
      links: [
        ...hosts.map((host) => link(host, "router", 1e9, 0)),
        link("router", "modem", 1e9, 0),
        link("modem", "isp", 1e7, 0.008),
        link("isp", "server", 1e9, 0.005),
      ],
    };
    const folder = mkdtempSync(join(tmpdir(), "lockgate-network-"));
    const browser = await chromium.launch({ executablePath: executable as string, args: FLAGS });
    const path = join(folder, "network.html");
    writeFileSync(path, fill(builtPage(), { ...sampleReport(), topology }));
    for (const width of [1400, 820, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 900 } });
      await page.goto(`file://${path}`);
      const figure = page.locator("#figure-topology");
      await figure.evaluate((one) => one.scrollIntoView({ block: "center" }));
      await figure.locator(".picture svg").waitFor();
      const texts = await figure.locator(".picture svg text").evaluateAll((all) =>
        all.map((text) => {
          const { left, right, top, bottom } = text.getBoundingClientRect();
          // Ascent and descent of a line are more than its letters.
          return { words: text.textContent, left, right, top: top + 3, bottom: bottom - 3 };
        }),
      );
      const covered = texts.flatMap((a, at) =>
        texts
          .slice(at + 1)
          .filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
          .map((b) => `${a.words} and ${b.words}`),
      );
      expect(covered, `${width} pixels`).toEqual([]);
      const rates = texts.filter(({ words }) => /bit\/s|\dG|\d.G/.test(words ?? ""));
      if (width === 1400) expect(rates.length).toBeGreaterThan(6);
      await page.close();
    }
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
