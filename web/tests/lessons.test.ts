/** Lessons of the playground: the answers that their texts expect are those of the module's runs. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { Engine, json } from "../src/play/engine";
import { LESSONS } from "../src/play/lessons";
import { decisionsOf } from "../src/play/step-view";
import type { Report } from "../src/report";
import { skipped } from "./browser";

const path = resolve(import.meta.dirname, "../../target/play/lockgate.wasm");
const isBuilt = existsSync(path);
if (!isBuilt) skipped("lessons", "no module; `make play` builds it");

/** Index of the right option of each question, as the sentences behind it take it. */
const RIGHT = [[2, 1, 0], [], [2, 1, 1]];

describe.skipIf(!isBuilt)("lessons", () => {
  it("are right about their runs", { timeout: 300_000 }, async () => {
    const engine = await Engine.load(new Uint8Array(readFileSync(path)).buffer);
    const run = async (text: string, seed: number): Promise<Report> =>
      json<Report>(engine.call("run", { scenario: { text }, seeds: [seed] }).parts["report"]);
    const found: number[][] = [];
    for (const { parts } of LESSONS) {
      const right: number[] = [];
      for (const part of parts) if (part.kind === "guess") right.push((await part.find(run)).right);
      found.push(right);
    }
    expect(found).toEqual(RIGHT);
  });

  it("let a reader choose at each decision by hand", async () => {
    const engine = await Engine.load(new Uint8Array(readFileSync(path)).buffer);
    const rounds = LESSONS.flatMap(({ parts }) => parts).filter((part) => part.kind === "by hand");
    expect(rounds.length).toBe(2);
    for (const { text, port, from, rounds: count } of rounds) {
      const request = { scenario: { text }, port, from: `${from}s`, count: 40 };
      const sent = engine
        .call("decisions", request)
        .value.steps.filter(({ step }) => step.event === "departure");
      const chosen = sent.map((step) => {
        const choice = decisionsOf(step)[0]?.choice;
        return typeof choice === "object" && "packet" in choice ? choice.packet.row : null;
      });
      expect(chosen).not.toContain(null);
      // The guess is one: not always the same queue sends.
      expect(new Set(chosen.slice(0, count)).size).toBeGreaterThan(1);
    }
  });
});
