/** Numbers, names and files as text: checked without a browser. */
import { describe, expect, it } from "vitest";
import { toCsv } from "../src/csv";
import { wrap } from "../src/export";
import { columnScale, date, quantity, shortened, significant, slug, THIN } from "../src/format";
import { sample } from "../src/key";
import { meterOf } from "../src/meter";
import { unitOf } from "../src/metric";
import { compareCells } from "../src/table";
import { xml } from "../src/xml";

const spaced = (text: string): string => text.replaceAll(THIN, " ");

describe("format", () => {
  it.each([
    [0.0123, "s", "12.3 ms"],
    [9.98e6, "bit/s", "9.98 Mbit/s"],
    [0.0012, "ratio", "0.12 %"],
    [0, "ratio", "0 %"],
    [999.6e-6, "s", "1 ms"],
    [999.4e-6, "s", "999 µs"],
    [3e-13, "s", "0.3 ps"],
    [4000, "s", "4000 s"],
    [12345, "packets", "12 345"],
    [-0.02, "s", "−20 ms"],
    [0.5, "bit/s", "0.5 bit/s"],
    [1500, "B", "1.5 kB"],
  ])("%d %s reads as %s", (value, unit, wanted) => expect(spaced(quantity(value, unit))).toBe(wanted));

  it("shows what is not a number as a dash", () => {
    for (const value of [null, undefined, NaN, Infinity]) expect(quantity(value, "s")).toBe("–");
  });

  it("keeps every whole digit and pads only when asked", () => {
    expect(spaced(significant(1234567))).toBe("1 234 567");
    expect(significant(21)).toBe("21");
    expect(significant(21, 3, true)).toBe("21.0");
    expect(significant(0.00001234)).toBe("1.23×10⁻⁵");
    expect(significant(0.1 + 0.2)).toBe("0.3");
  });

  it("takes a column's prefix from its greatest numbers", () => {
    expect(columnScale([0.0009, 1.2, null, 0], "s").label).toBe("ms");
    expect(columnScale([], "s").label).toBe("s");
    expect(columnScale([0, 0], "bit/s").label).toBe("bit/s");
    // However many idle queues stand beside the one that matters.
    expect(columnScale([12e-6, 12e-6, 24e-6, 12e-6, 48e-6, 0.0081, 0.0293, 0.0453], "s").label).toBe("ms");
  });

  it("writes dates in UTC and leaves alone what is none", () => {
    expect(date("2026-11-21T05:00:00Z")).toBe("21 November 2026, 05:00 UTC");
    expect(date("yesterday")).toBe("yesterday");
    expect(date("")).toBe("");
  });

  it("shortens in the middle without cutting a character in two", () => {
    expect(shortened("abcdefghij", 7)).toBe("abc…hij");
    expect(shortened("🙂🙂🙂🙂", 3)).toBe("🙂…🙂");
    expect(slug("Rate, delay & <loss>")).toBe("rate-delay-loss");
    expect(slug("../..")).toBe("figure");
  });

  it("finds the unit of an address by its metric, whatever its subject is called", () => {
    expect(unitOf("flow.voice.owd.p99")).toBe("s");
    expect(unitOf("port.home->server.queue.rate.sojourn.p95")).toBe("s");
    expect(unitOf("flow.rate.loss")).toBe("ratio");
    expect(unitOf('flow."owd.rate".throughput')).toBe("bit/s");
    expect(unitOf("group.web.fct.mean")).toBe("s");
    expect(unitOf("group.call.loss.worst")).toBe("ratio");
    expect(unitOf("group.web.bin.2.slowdown.p99")).toBe("");
    expect(unitOf("flow.a.cwnd_mean")).toBe("B");
    expect(unitOf("port.a:b.utilisation")).toBe("ratio");
    expect(unitOf("jain_index")).toBe("");
    expect(unitOf("flow.x.thing.p50")).toBe("");
  });
});

describe("tables and files", () => {
  it("quotes what CSV needs quoted and writes numbers in full", () => {
    expect(
      toCsv(
        ["a", 'b "c"'],
        [
          ["x,y", 0.1234567890123],
          ["line\nbreak", null],
        ],
      ),
    ).toBe('a,"b ""c"""\r\n"x,y",0.1234567890123\r\n"line\nbreak",\r\n');
  });

  it("writes CSV with plain spaces, whatever a cell has before a unit", () => {
    expect(toCsv(["a"], [["5\u00a0ms"]])).toBe("a\r\n5 ms\r\n");
  });

  it("sorts numbers as numbers, names by their numbers, and what is missing last", () => {
    expect([3, null, 10, 2].sort((a, b) => compareCells(a, b, true))).toEqual([2, 3, 10, null]);
    expect([3, null, 10, 2].sort((a, b) => compareCells(a, b, false))).toEqual([10, 3, 2, null]);
    expect(["c/10", "c/9"].sort((a, b) => compareCells(a, b, true))).toEqual(["c/9", "c/10"]);
  });

  it("writes XML that cannot be broken out of", () => {
    expect(xml('<a b="c">&\u0001\ud800x')).toBe("&lt;a b=&quot;c&quot;&gt;&amp;x");
    expect(sample({ label: "", colour: '"><script>', kind: "swatch" })).not.toContain("<script>");
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  });
});

describe("meterOf", () => {
  it("goes beyond the tick above either kind of bound, and short of it below", () => {
    // 225 ms below 50 ms; 688 ms below 1 s; 9 above 8 Mbit/s; 5 above 8 Mbit/s.
    expect(meterOf(4.5, "below 50 ms")).toEqual({ width: 100, style: "--bound:22.2%" });
    expect(meterOf(0.688, "below 1 s")).toEqual({ width: 68.8, style: "" });
    expect(meterOf(8 / 9, "above 8 Mbit/s").style).toBe("--bound:88.9%");
    expect(meterOf(8 / 5, "at least 8 Mbit/s")).toEqual({ width: 62.5, style: "" });
    expect(meterOf(0, "above 8 Mbit/s").width).toBe(100);
  });
});
