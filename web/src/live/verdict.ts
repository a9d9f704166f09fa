/** Expectations of a run that count along, and its verdict at the end. */
import { h, update } from "../dom";
import { micro } from "../format";
import type { JudgedRow, Sample, Status } from "../generated/lockgate";
import { meterOf } from "../meter";

/** Returns a row as a chip: sign, quantity, value, bound, and how much of the bound is used. */
function chip(row: JudgedRow): HTMLElement {
  const used = row.used_ratio ?? null;
  const { width, style } = meterOf(used ?? 0, row.wanted);
  return h(
    "li",
    { class: row.holds ? "good" : "bad", title: `${row.that} ${micro(row.margin)}`.trim() },
    h("span", { class: "sign" }, row.holds ? "✓" : "✗"),
    h("b", {}, `${row.subject} ${row.quantity}`.trim()),
    h("span", { class: "value" }, micro(row.value)),
    h("span", { class: "wanted" }, micro(row.wanted)),
    h(
      "span",
      { class: "meter", hidden: used === null, style },
      h("i", { style: `width:${width.toFixed(1)}%` }),
    ),
  );
}

/** Strip of the expectations as they stand at the time that the page shows. */
export class Expectations {
  readonly #note = h("p", { class: "note" });
  readonly #list = h("ul", {});
  readonly element = h(
    "section",
    { class: "expected", "aria-label": "Expectations", hidden: true },
    this.#note,
    this.#list,
  );

  /** Draws the expectations as a sample judges them; at the end of the run as its verdict does, unless `isNow` is false. */
  draw(status: Status, sample: Sample | undefined, isNow: boolean): void {
    const count = status.expectations ?? 0;
    const final = status.ended && isNow ? status.verdict?.rows : undefined;
    const rows = final ?? sample?.judged ?? [];
    // Space is taken at once, so that nothing moves when the first are judged.
    this.element.hidden = count === 0;
    if (this.element.hidden) return;
    this.element.style.setProperty("--rows", String(count));
    const held = rows.filter((row) => row.holds).length;
    const at = sample?.at_s ?? 0;
    const later = count - rows.length;
    const text = final
      ? `${held} of ${rows.length} hold`
      : rows.length > 0
        ? `${held} of ${rows.length} hold so far${later > 0 ? `; ${later} more at the end` : ""}`
        : at <= status.warmup_s
          ? `${count} ${count === 1 ? "expectation" : "expectations"}: counted from ${status.warmup_s} s on`
          : `${count} ${count === 1 ? "expectation is" : "expectations are"} judged at the end of the run`;
    if (this.#note.textContent !== text) this.#note.textContent = text;
    update(this.#list, rows.map(chip));
  }
}

/** Returns the parts of the card at the end of a run: the verdict, and where packets waited. */
export function endingVerdict(status: Status): HTMLElement[] {
  const { verdict } = status;
  if (verdict === undefined || verdict === null) return [];
  const sign = { held: "✓ ", missed: "✗ ", none: "" }[verdict.outcome];
  // The sentence on what holds, which has the sign, is below that on a change.
  const held = verdict.change_first === true ? 1 : 0;
  const colour = verdict.outcome === "missed" ? " bad" : " good";
  const parts = [
    ...[verdict.headline, ...verdict.findings].map((sentence, index) =>
      h(
        "p",
        { class: `${index === 0 ? "headline" : "finding"}${index === held ? colour : ""}` },
        `${index === held ? sign : ""}${micro(sentence)}`,
      ),
    ),
    status.results ? h("p", {}, "Report: ", h("code", {}, `${status.results}/report.html`)) : null,
    h("p", {}, h("a", { class: "button", href: "api/report", download: "report.html" }, "Save the report")),
  ];
  return parts.filter((part) => part !== null);
}
