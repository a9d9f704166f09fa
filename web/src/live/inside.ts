/** Internal state of the selected queue, as its discipline exposes it: tins of CAKE, flows, average length. */
import { h, update } from "../dom";
import { significant } from "../format";
import type { QueueSample } from "../generated/lockgate";
import { bytes } from "./quantities";

/** Names of the tins by their number, in the order of CAKE's own indices, where best effort is the first. */
const TINS: Record<number, readonly string[]> = {
  1: ["all traffic"],
  3: ["best effort", "bulk", "voice"],
  4: ["best effort", "bulk", "video", "voice"],
};

/** Returns each value with its name in words: `tin voice 1.2 kB`, `new flows 3`. */
export function insideOf(queue: QueueSample): [name: string, value: string][] {
  const tins = queue.gauges.filter(([name]) => /^tin_\d+_bytes$/.test(name)).length;
  return queue.gauges.map(([name, value]) => {
    const tin = /^tin_(\d+)_bytes$/.exec(name)?.[1];
    if (tin !== undefined) return [`tin ${TINS[tins]?.[Number(tin)] ?? tin}`, bytes(value)];
    if (name.endsWith("_bytes")) return [name.slice(0, -6).replaceAll("_", " "), bytes(value)];
    return [name.replaceAll("_", " "), significant(value, 4)];
  });
}

export class Inside {
  readonly #list = h("dl", {});
  readonly #title = h("h2");
  readonly element = h("section", { class: "inside", hidden: true }, this.#title, this.#list);

  draw(queue: QueueSample | undefined): void {
    const values = queue ? insideOf(queue) : [];
    this.element.hidden = values.length === 0;
    if (!queue || values.length === 0) return;
    const title = `Inside ${queue.name} (${queue.kind})`;
    if (this.#title.textContent !== title) this.#title.textContent = title;
    update(
      this.#list,
      values.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
  }
}
