/**
 * The answer, at the top of a report: what holds and how tightly, where packets wait, what a change did. Its
 * sentences and numbers are made in Rust, which also writes them as elements of the same form for the first paint
 * (`crates/measure/src/report/answer.rs`).
 */
import { h, unbroken } from "../dom";
import { significant } from "../format";
import type { JudgedRow, RunVerdict, Summary } from "../generated/lockgate";
import { meterOf } from "../meter";
import type { Report } from "../report";
import type { Selection } from "../selection";
import { worstLink } from "./worst";

const CLASSES = { held: "good", missed: "bad", none: "none" } as const;
const SIGNS = { held: "✓", missed: "✗", none: "" } as const;

/** Returns the summary that the answer is of: that of the last run that has a verdict. */
export function answering(report: Report): Summary | null {
  const summaries = report.runs.map((run) => run.summary);
  return summaries.reverse().find((summary) => summary.verdict) ?? null;
}

/** Returns the line below the title: length, warm-up and seeds. */
export function facts({ duration_s, warmup_s, runs, seed }: Summary, live: boolean): string {
  const left = warmup_s > 0 ? `, first ${significant(warmup_s)} s left out` : "";
  const seeds =
    runs > 1
      ? `${runs} seeds from ${seed}: expectations are on all of them, curves and tables of the first`
      : `seed ${seed}`;
  return `${significant(duration_s)} s ${live ? "live" : "simulated"}${left}, ${seeds}`;
}

/** Returns the answer beside a picture of the network. */
export function answerPart(
  report: Report,
  verdict: RunVerdict,
  selection: Selection,
  network: readonly HTMLElement[],
): HTMLElement {
  const sentences = report.verdict.length > 0 ? report.verdict : [verdict.headline, ...verdict.findings];
  // The sentence on what holds, which has the sign, is below that on a change.
  const held = verdict.change_first === true ? 1 : 0;
  const told = h(
    "div",
    { class: "told" },
    ...sentences.map((sentence, index) => toldSentence(verdict, sentence, index, held)),
    judgedTable(verdict.rows, selection, report),
    phaseTable(verdict),
  );
  const picture = network.length > 0 ? h("div", { class: "network" }, ...network) : null;
  return h("div", { class: "answer" }, told, picture);
}

/** Returns a sentence of the answer; that at `held` is on what holds. */
function toldSentence(verdict: RunVerdict, sentence: string, index: number, held: number): HTMLElement {
  const outcome = index === held ? verdict.outcome : null;
  const sign = outcome === null ? "" : SIGNS[outcome];
  const role = index === 0 ? "headline" : "finding";
  const event = verdict.hurts === true ? " event bad" : " event";
  const kind = outcome === null ? (index === 0 ? event : "") : ` ${CLASSES[outcome]}`;
  const shown = role === "finding" && outcome === "none" ? role : `${role}${kind}`;
  return h(
    "p",
    { class: shown },
    sign === "" ? null : [h("span", { class: "sign" }, sign), " "],
    unbroken(sentence),
  );
}

function judgedTable(rows: readonly JudgedRow[], selection: Selection, report: Report): HTMLElement | null {
  if (rows.length === 0) return null;
  return h(
    "table",
    { class: "judged", "aria-label": "Expectations" },
    h("tbody", {}, ...rows.map((row) => judgedRow(row, selection, report))),
  );
}

function judgedRow(row: JudgedRow, selection: Selection, report: Report): HTMLElement {
  const flows = selection.flowsOf(row.that);
  // An expectation with a name of its own has no subject.
  const named = row.subject === "" ? row.quantity : row.subject;
  const shown =
    flows.length === 0
      ? named
      : h(
          "button",
          {
            type: "button",
            class: "quiet",
            title: `Show ${flows.length > 3 ? `these ${flows.length} flows` : flows.join(", ")} alone; again: what was shown`,
            onclick: () => selection.only(flows),
          },
          named,
        );
  const worst = worstLink(
    row.that,
    report.runs.flatMap((run) => run.worst ?? []),
  );
  const used = row.used_ratio ?? null;
  const { width, style } = meterOf(used ?? 0, row.wanted);
  const title = `${significant((used ?? 0) * 100)} % of the bound is used`;
  const meter =
    used === null
      ? null
      : h("span", { class: "meter", title, style }, h("i", { style: `width:${width.toFixed(1)}%` }));
  return h(
    "tr",
    {
      class: row.holds ? "good" : "bad",
      title: row.that,
      onpointerenter: () => selection.light(flows.length > 0 ? flows : null),
      onpointerleave: () => selection.light(null),
      onfocusin: () => selection.light(flows.length > 0 ? flows : null),
      onfocusout: () => selection.light(null),
    },
    h("td", { class: "sign" }, row.holds ? "✓" : "✗"),
    h("td", { class: "subject" }, row.subject === "" ? null : shown),
    h("td", { class: "quantity" }, row.subject === "" ? shown : row.quantity),
    h("td", { class: "value" }, row.value),
    h("td", { class: "wanted" }, row.wanted),
    h("td", { class: "margin" }, meter, row.margin),
    worst ? h("td", { class: "more" }, worst) : null,
  );
}

/** Returns the metrics before and after each change. */
function phaseTable({ phases }: RunVerdict): HTMLElement | null {
  if (!phases) return null;
  return h(
    "table",
    { class: "phases", tabindex: 0, "aria-label": "Before and after each change" },
    h("thead", {}, h("tr", {}, h("th"), ...phases.heads.map((head) => h("th", { scope: "col" }, head)))),
    h(
      "tbody",
      {},
      ...phases.rows.map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, `${row.subject} ${row.quantity}`.trim()),
          ...row.values.map((value) => h("td", {}, value)),
        ),
      ),
    ),
  );
}
