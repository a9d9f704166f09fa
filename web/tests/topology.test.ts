/** Layout and words of the network: checked without a browser. */
import { describe, expect, it } from "vitest";
import { linkWords, places } from "../src/figures/topology";
import { THIN } from "../src/format";
import { type Report, readReport } from "../src/report";
import { sampleReport } from "./sample";

const spaced = (text: string): string => text.replaceAll(THIN, " ");
const sampled = (): Report => readReport(sampleReport());

describe("topology", () => {
  it("does not say that a link has no delay", () => {
    const both = (value: number | null) => [value, value];
    expect(linkWords({ rate_bps: both(1e9), delay_s: both(0) }).map(spaced)).toEqual(["1 Gbit/s"]);
    expect(linkWords({ rate_bps: both(1e7), delay_s: both(0.008) }).map(spaced)).toEqual([
      "10 Mbit/s",
      "8 ms",
    ]);
    expect(linkWords({ rate_bps: both(null), delay_s: both(null) })).toEqual([]);
  });

  it("says rate and delay of each direction", () => {
    const link = { rate_bps: [1e7, 1e8], delay_s: [0, 0.02] };
    expect(linkWords(link).map(spaced)).toEqual(["→ 10 Mbit/s", "← 100 Mbit/s", "→ 0 s", "← 20 ms"]);
  });

  it("stands the sides of the slowest link to its left and right", () => {
    const { nodes, links } = sampled();
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
    const node = (name: string): { name: string; x: null; y: null; router: boolean } => ({
      name,
      x: null,
      y: null,
      router: false,
    });
    const link = (from: string, to: string): { from: string; to: string; rate_bps: number[] } => ({
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
