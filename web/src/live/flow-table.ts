/** Table of the flows in a sample. */
import { h } from "../dom";
import type { Sample } from "../generated/lockgate";
import { spanOf } from "./parts";
import { bytes, rate, time } from "./quantities";
import { headings } from "./queue-table";
import { attributeOf, type LiveRow, LiveRows, textOf } from "./rows";

/** Largest number of flows shown. */
const SHOWN = 200;

/** A click on a row calls `open` with the flow's name. */
export class FlowTable {
  readonly #rows = new LiveRows();
  readonly #span = h("small");
  readonly element: HTMLElement;

  constructor(open: (flow: string) => void) {
    const head = headings(["flow", "offered", "received", "delay p50", "p99", "lost", "cwnd", "rtt"]);
    this.element = h(
      "section",
      { class: "flows" },
      h("h2", {}, "Flows ", this.#span),
      h(
        "div",
        { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of flows" },
        h("table", {}, h("thead", {}, head), this.#rows.element),
      ),
    );
    this.#rows.element.addEventListener("click", (event) => {
      const name = (event.target as HTMLElement).closest("tr")?.dataset["flow"];
      if (name !== undefined) open(name);
    });
  }

  /** Draws the flows; the row of `selected` is marked. */
  draw(sample: Sample | undefined, selected: string): void {
    this.#span.textContent = spanOf(sample);
    // Traffic of no flow of the scenario has a row only if there is any.
    const flows = (sample?.flows ?? []).filter((flow) => flow.name !== "(other)" || flow.sent_packets > 0);
    this.#rows.show(
      flows
        .slice(0, SHOWN)
        .map((flow) => [
          flow.name,
          flow.name === selected ? "selected" : "",
          flow.name,
          rate(flow.offered_bps),
          rate(flow.received_bps),
          time(flow.owd_p50_s),
          time(flow.owd_p99_s),
          String(flow.lost_packets),
          bytes(flow.cwnd_bytes),
          time(flow.rtt_s),
        ]),
      flowRow,
    );
  }
}

/** Returns an empty row of a flow, for its name, its class and its cells. */
function flowRow(): LiveRow {
  const button = h("button", { type: "button", class: "quiet" });
  const cells = Array.from({ length: 7 }, () => h("td"));
  const element = h("tr", {}, h("th", { scope: "row" }, button), cells);
  return {
    element,
    writes: [
      attributeOf(element, "data-flow"),
      attributeOf(element, "class"),
      textOf(button),
      ...cells.map(textOf),
    ],
  };
}
