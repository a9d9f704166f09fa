/** Parts of the playground without a browser: its address, the letters of its one file, the walk through steps. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Decisions, StepDocument } from "../src/generated/lockgate";
import { decoded, encoded, unpacked } from "../src/play/carried";
import { readPlace, writtenPlace } from "../src/play/place";
import { type Ask, Walk } from "../src/play/walk";
import { LINKS } from "./links";

describe("an address", () => {
  it("is read as it is written, and old links are places", () => {
    const place = {
      link: "#v1.q0q_-A",
      example: null,
      step: { at: 2.006045849111, nth: 1 },
      port: "a b:c&d",
      embed: "step",
      lesson: 2,
    };
    expect(readPlace(writtenPlace(place))).toEqual(place);
    expect(writtenPlace({})).toBe("");
    expect(readPlace("#example=home").example).toBe("home");
    for (const { hash } of LINKS) expect(readPlace(hash).link).toBe(hash);
  });

  it("that is damaged says less, and is no error", () => {
    for (const hash of ["#at=x", "#at=-1", "#embed", "#&&=", "#port=%", "#lesson=1.5", "#unknown=1&v1.x", ""])
      expect(readPlace(hash)).toMatchObject({ step: null, lesson: null });
    expect(readPlace("#embed").embed).toBe("figure");
    expect(readPlace("#unknown=1&v1.x").link).toBe("#v1.x");
  });
});

describe("letters of the one file", () => {
  it("are read as they are written, at every length, and end no element", async () => {
    for (let length = 0; length < 60; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 151 + length * 7) % 256);
      const text = encoded(bytes);
      // HTML makes another letter of NUL, and a line feed of a carriage return.
      expect(text).not.toMatch(/[<\0\r]/);
      expect(decoded(text)).toEqual(bytes);
    }
    // Bytes whose groups of seven bits are all unfit, also the last one.
    for (const byte of [0, 13, 60, 255])
      for (let length = 0; length < 20; length++) {
        const groups = Array.from({ length }, () => byte.toString(2).padStart(7, "0").slice(-7)).join("");
        const whole = groups.slice(0, groups.length - (groups.length % 8)).match(/.{8}/g) ?? [];
        const bytes = Uint8Array.from(whole, (bits) => Number.parseInt(bits, 2));
        expect(decoded(encoded(bytes))).toEqual(bytes);
      }
    const content = new TextEncoder().encode("</script>".repeat(99));
    expect(new Uint8Array(await unpacked(encoded(gzipSync(content))))).toEqual(content);
  });
});

/** A port that sends a packet a millisecond for two seconds, and drops each hundredth before it. */
const RUN: StepDocument[] = Array.from({ length: 2000 }, (_, sequence): StepDocument[] => {
  const step = (event: StepDocument["step"]): StepDocument => ({
    at: (sequence + 1) / 1000,
    port: "a:b",
    step: event,
    decision: null,
    packets: 1,
    queue: [],
  });
  const packet = (flow: string) => ({ flow, sequence, length: 100 });
  const sent = step({ event: "departure", packet: packet("f"), sojourn: sequence / 1e5, marked: false });
  const lost = step({ event: "drop", packet: packet("g"), reason: "limit" });
  return sequence % 100 === 99 ? [lost, sent] : [sent];
}).flat();

/** Answers as the simulator does. */
function port(): { ask: Ask; asked: () => number } {
  let count = 0;
  const seconds = (text: string | undefined, other: number) =>
    text === undefined || text === "drop" ? other : Number(text.replace("s", ""));
  const ask: Ask = async (request): Promise<Decisions> => {
    count += 1;
    const behind = RUN.filter(({ at }) => at >= seconds(request.from, 0));
    let steps = behind.slice(0, request.count);
    if (request.until === "drop") {
      const end = behind.findIndex(({ step }) => step.event === "drop");
      steps = behind.slice(Math.max(0, end + 1 - request.count), end + 1);
    } else if (request.until !== undefined)
      steps = behind.filter(({ at }) => at <= seconds(request.until, 0)).slice(-request.count);
    const reached = request.until !== "drop" || steps.length > 0;
    return { port: "a:b", ports: ["a:b"], tree: [], end: 2, reached, steps };
  };
  return { ask, asked: () => count };
}

describe("a walk", () => {
  it("comes by each step once, in both directions, with few questions", async () => {
    const { ask, asked } = port();
    const walk = new Walk(ask, null);
    expect(await walk.to({ at: 0, nth: 0 })).toBe(true);
    const seen = [walk.current];
    while (await walk.next()) seen.push(walk.current);
    expect(seen).toEqual(RUN);
    expect(asked()).toBeLessThan(30);
    const back = [walk.current];
    while (await walk.back()) back.push(walk.current);
    expect(back.reverse()).toEqual(RUN);
    expect(asked()).toBeLessThan(70);
  });

  it("finds its place again, the next drop, and where a packet leaves", async () => {
    const walk = new Walk(port().ask, "a:b");
    await walk.to({ at: 0.0995, nth: 0 });
    expect(walk.place).toEqual({ at: 0.1, nth: 0 });
    await walk.next();
    expect(walk.place).toEqual({ at: 0.1, nth: 1 });
    const again = new Walk(port().ask, null);
    await again.to({ at: 0.1, nth: 1 });
    expect(again.current).toEqual(walk.current);
    expect(await again.toNext("drop")).toBe(true);
    expect(again.current).toMatchObject({ at: 0.2, step: { event: "drop" } });
    again.late = 0.0025;
    expect(await again.toNext("late")).toBe(true);
    expect(again.current).toMatchObject({ at: 0.252 });
    expect(await again.toEndOf({ flow: "f", sequence: 1500, length: 100 })).toBe(true);
    expect(again.current?.at).toBe(1.501);
    const here = again.current;
    expect(await again.toEndOf({ flow: "none", sequence: 0, length: 1 })).toBe(false);
    expect(again.current).toEqual(here);
    await again.to({ at: 1.9999, nth: 0 });
    expect(await again.toNext("drop")).toBe(false);
  });
});
