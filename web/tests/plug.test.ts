/** A discipline put onto a port: the text keeps its comments, its order and its other queues. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { Leaf } from "../src/generated/lockgate";
import { Engine } from "../src/play/engine";
import { EXAMPLES, exampleOf } from "../src/play/examples";
import { changeOf, withDiscipline, withRoot } from "../src/play/plug";
import { placeOf, places } from "../src/play/toml";

const module =
  process.env["LOCKGATE_MODULE"] ?? resolve(import.meta.dirname, "../../target/play/lockgate.wasm");
const HOME = exampleOf("home")?.text ?? "";
const leaf = (kind: string, example = ""): Leaf => ({ kind, family: "", summary: "", example });
const value = (text: string, path: string): string | null => {
  const place = placeOf(text, path);
  return place && text.slice(place.from, place.to);
};

/** Returns whether all lines of a text are in another, in their order. */
function keeps(before: string, after: string): boolean {
  const lines = after.split("\n");
  let at = 0;
  return before.split("\n").every((line) => {
    at = lines.indexOf(line, at) + 1;
    return at > 0;
  });
}

describe("a discipline put onto a port", () => {
  it("becomes the root, and the tree before stands ready", () => {
    const text = withDiscipline(HOME, "modem:isp", leaf("red", 'limit = "400kB"\n'), ["buffer"]);
    expect(keeps(HOME, text)).toBe(true);
    expect(value(text, "port.modem:isp.root")).toBe('"red"');
    expect(value(text, "port.modem:isp.alternatives")).toBe('["buffer"]');
    expect(value(text, "port.modem:isp.queue.red.limit")).toBe('"400kB"');
    // Again: what was put there is taken.
    const back = withRoot(text, "modem:isp", "buffer");
    expect(value(back, "port.modem:isp.root")).toBe('"buffer"');
    expect(withDiscipline(back, "modem:isp", leaf("red"), ["buffer", "red"])).toBe(text);
  });

  it("is written into the table of the port's queues, beside the trees that stand ready", () => {
    const text = withDiscipline(HOME, "router:modem", leaf("codel"), ["fq_codel", "fifo", "cake", "htb"]);
    expect(text).toContain('[port."router:modem".queue]\ncodel = { kind = "codel" }\nfifo = ');
    expect(text).toContain('root = "codel"\nalternatives = ["fifo", "cake", "htb", "fq_codel"]');
    expect(text.match(/#.*/g)).toEqual(HOME.match(/#.*/g));
    const { from, to, insert } = changeOf(HOME, text);
    expect(HOME.slice(0, from) + insert + HOME.slice(to)).toBe(text);
    expect(to - from).toBeLessThan(100);
  });

  it("has another name than the queues that are there", () => {
    const text = withDiscipline(HOME, "router:modem", leaf("fifo"), ["htb"]);
    expect(value(text, "port.router:modem.root")).toBe('"fifo-2"');
    expect(value(text, "port.router:modem.queue.fifo-2.kind")).toBe('"fifo"');
  });

  it.skipIf(!existsSync(module))(
    "passes the check on every port of an example, whichever it is",
    async () => {
      const engine = await Engine.load(new Uint8Array(readFileSync(module)).buffer);
      let tried = 0;
      const names = ["voice-beside-bulk", "home", "bufferbloat", "dsl", "weights-by-hand"];
      for (const { name, text, files } of EXAMPLES.filter((one) => names.includes(one.name))) {
        const { sliders, leaves } = engine.call("knobs", { text, name }, files).value;
        const roots = sliders.filter(({ queue, knob }) => queue === null && knob.path.endsWith(".root"));
        for (const [at, { of: port, knob }] of roots.entries()) {
          // All kinds on the first port, and one on each of the others.
          const some = at === 0 ? leaves : leaves.slice(at % leaves.length, (at % leaves.length) + 1);
          for (const one of some) {
            const defined = places(text).some(({ path }) => path[1]?.replace("->", ":") === port);
            const fresh = withDiscipline(text, port, one, knob.choices);
            const { problems } = engine.call("check", { text: fresh, name }, files).value;
            const wrong = problems.filter(({ is_error: isError }) => isError);
            expect(wrong, `${name} ${port} ${one.kind} ${defined}\n${fresh}`).toEqual([]);
            expect(keeps(text.replace(/^(root|alternatives)\b.*\n/gm, ""), fresh)).toBe(true);
            tried += 1;
          }
        }
      }
      expect(tried).toBeGreaterThan(80);
    },
  );
});
