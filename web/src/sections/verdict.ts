/**
 * Outcome of a run: the verdict in words, and every expectation with its value, by shape, text and colour.
 */
import { breakable, copyText, h, svg, unbroken } from "../dom";
import { NONE, plural, quantity } from "../format";
import type { Expectation, JudgedRow, Run } from "../generated/lockgate";
import { unitOf } from "../metric";
import type { Cell, Report } from "../report";
import { runName } from "../style";
import { makeTable } from "../table";

type State = "good" | "bad" | "none";

const wordOf = ({ holds }: Expectation): string => (holds ? "holds" : "missed");
const stateOf = ({ holds }: Expectation): State => (holds ? "good" : "bad");

/** Returns a tick, a cross or a dash beside a word: the state never depends on colour alone. */
function badge(state: State, text: string): HTMLElement {
  const paths: Record<State, string> = {
    good: "M3 7.5 L6 10.5 L11 4",
    bad: "M3.5 3.5 L10.5 10.5 M10.5 3.5 L3.5 10.5",
    none: "M3 7 L11 7",
  };
  return h(
    "span",
    { class: `badge ${state}` },
    svg(
      "svg",
      { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" },
      svg("path", {
        d: paths[state],
        fill: "none",
        stroke: "currentColor",
        "stroke-width": 2,
        "stroke-linecap": "round",
        "stroke-linejoin": "round",
      }),
    ),
    text,
  );
}

/** Returns the count of expectations, such as `3 of 4 expectations missed`, and the overall state. */
export function tallyOf(report: Report): { state: State; text: string } {
  const all = report.runs.flatMap((run) => run.summary.expect);
  const missed = all.filter((expect) => !expect.holds).length;
  if (all.length === 0) return { state: "none", text: "No expectations were set" };
  if (missed > 0) return { state: "bad", text: `${missed} of ${plural(all.length, "expectation")} missed` };
  return {
    state: "good",
    text: all.length === 1 ? "The expectation holds" : `All ${all.length} expectations hold`,
  };
}

export function verdictSection(report: Report): HTMLElement[] {
  const tally = tallyOf(report);
  const silent = report.verdict.length > 0 && report.runs.every((run) => run.summary.expect.length === 0);
  const parts: HTMLElement[] = [h("p", { class: "tally" }, silent ? null : badge(tally.state, tally.text))];
  const warned = report.runs.reduce((sum, run) => sum + run.summary.warnings.length, 0);
  if (warned > 0)
    parts[0]?.append(" ", h("a", { class: "warned", href: "#warnings" }, plural(warned, "warning")));
  const { sentences, commands } = split(sentencesOf(report));
  // The first sentence of a comparison, a search or an experiment without a run of its own decides it.
  const decides = (index: number): boolean =>
    index === 0 && (report.variants !== undefined || commands.length > 0 || report.runs.length === 0);
  const line = (text: string, index: number): HTMLElement =>
    h("p", decides(index) ? { class: "headline none" } : {}, unbroken(ended(text)));
  if (sentences.length > 0) parts.push(h("div", { class: "verdict" }, ...sentences.map(line)));
  if (commands.length > 0) parts.push(commandList(commands));
  return parts;
}

/** Ends a sentence. */
const ended = (text: string): string => text.replace(/([\w)%])$/, "$1.");

/** A command of a verdict, and the sentence that it belongs to; empty if it stands for itself. */
interface Command {
  of: string;
  text: string;
}

/** Separates the commands of a verdict from its sentences: a line that is one, or the end of one behind a colon. */
export function split(lines: readonly string[]): { sentences: string[]; commands: Command[] } {
  const sentences: string[] = [];
  const commands: Command[] = [];
  for (const line of lines) {
    const [, of = "", text] = /^(?:(.*?):? )?(lockgate .*)$/s.exec(line) ?? [];
    if (text === undefined) sentences.push(line);
    else commands.push({ of: of || (sentences[0] ?? ""), text });
  }
  return { sentences, commands };
}

/** Returns the commands, folded, each to be copied. */
function commandList(commands: readonly Command[]): HTMLElement {
  return h(
    "details",
    { class: "commands", "data-print": "open" },
    h("summary", {}, plural(commands.length, "command"), " of what is recommended"),
    ...commands.map(({ of, text }) =>
      h(
        "div",
        { class: "one" },
        of === "" ? null : h("p", {}, of),
        h(
          "div",
          { class: "command" },
          h("code", {}, unbroken(text)),
          h(
            "button",
            { type: "button", class: "quiet", onclick: () => void copyText(text, "the command") },
            "Copy",
          ),
        ),
      ),
    ),
  );
}

/** Returns the list of warnings on the runs, to which the verdict links. */
export function warningList(report: Report): HTMLElement | null {
  const warnings = report.runs.flatMap((run) => run.summary.warnings.map((warning) => ({ run, warning })));
  if (warnings.length === 0) return null;
  return h(
    "ul",
    { id: "warnings", class: "warnings", "aria-label": "Warnings" },
    ...warnings.map(({ run, warning }) =>
      h("li", {}, h("strong", {}, report.runs.length > 1 ? `Warning, ${run.label}: ` : "Warning: "), warning),
    ),
  );
}

/** Returns the sentences of the verdict, except those on expectations, which the table has. */
export function sentencesOf(report: Report): string[] {
  const subjects = report.runs.flatMap((run) => run.summary.expect.map((expect) => expect.that));
  return report.verdict.filter((line) => !subjects.some((that) => that !== "" && line.includes(that)));
}

/** An expectation of a run, and its row in the verdict, which has its bounds and its margin in words. */
interface Judged {
  run: Run;
  expect: Expectation;
  row: JudgedRow | undefined;
}

/** Returns the expectations of a run in their order; the verdict has those that are missed first. */
function judgedOf(run: Run): Judged[] {
  const { expect: all, verdict } = run.summary;
  const ordered = [...all.filter(({ holds }) => !holds), ...all.filter(({ holds }) => holds)];
  return all.map((expect) => ({ run, expect, row: verdict?.rows[ordered.indexOf(expect)] }));
}

/** Returns the measured value with its interval; of several flows or queues, how many keep the bounds. */
function measured({ that, value, half_width: half, members, holds }: Expectation): string {
  const unit = unitOf(that);
  const shown = half === null ? quantity(value, unit) : `${quantity(value, unit)} ± ${quantity(half, unit)}`;
  if (!members) return shown;
  // Of several, the value is that of one; it says more only if too few keep the bound.
  const decides = holds ? "" : `; ${shown} decides`;
  return `${members.held} of ${members.of} (${quantity(members.held / members.of, "ratio")})${decides}`;
}

/** Returns the table of the expectations of all runs; null without any. */
export function expectTable(report: Report): HTMLElement | null {
  const judged = report.runs.map(judgedOf);
  const most = Math.max(0, ...judged.map((of) => of.length));
  // Those of one expectation in several runs are together.
  const entries = Array.from({ length: most }, (_, index) => judged.flatMap((of) => of[index] ?? [])).flat();
  if (entries.length === 0) return null;
  const several = judged.filter((of) => of.length > 0).length > 1;
  const repeated = entries.some(({ expect }) => expect.values.length > 1);
  const at = (row: number): Judged => entries[row] as Judged;
  return makeTable({
    name: "expectations",
    rows: entries.map(({ run, expect, row }): Cell[] => [
      wordOf(expect),
      expect.that,
      expect.value,
      row?.wanted ?? null,
      ...(repeated ? [`${expect.held} of ${expect.values.length}`] : []),
      ...(several ? [runName(run)] : []),
      row?.used_ratio ?? null,
    ]),
    columns: [
      {
        title: "Result",
        csv: "result",
        draw: (_, row) => badge(stateOf(at(row).expect), wordOf(at(row).expect)),
      },
      {
        title: "Expectation",
        csv: "that",
        draw: (value, row) => {
          const { name } = at(row).expect;
          return h("span", {}, name ? `${name} ` : "", h("code", {}, breakable(String(value ?? ""))));
        },
      },
      {
        title: "Measured",
        csv: "value_si",
        draw: (_, row) => h("b", { class: "value" }, measured(at(row).expect)),
      },
      { title: "Wanted", csv: "wanted" },
      ...(repeated ? [{ title: "Held by", csv: "held_by", hint: "Runs in which it holds by itself" }] : []),
      ...(several ? [{ title: "Run", csv: "run" }] : []),
      {
        title: "Bound used",
        csv: "used_of_bound",
        hint: "How much of the tightest bound is used up: all of it at the bound",
        draw: (_, row) => gauge(at(row)),
      },
    ],
  });
}

/** Returns a bar that is full at the tightest bound, and the distance from it in words. */
function gauge({ expect, row }: Judged): HTMLElement {
  const used = row?.used_ratio ?? null;
  if (!row || used === null) return h("span", {}, NONE);
  const width = 80;
  return h(
    "span",
    { class: `gauge ${stateOf(expect)}` },
    svg(
      "svg",
      { width, height: 12, viewBox: `0 0 ${width} 12`, "aria-hidden": "true" },
      svg("rect", { x: 0, y: 3, width, height: 6, fill: "var(--grid)" }),
      svg("rect", { x: 0, y: 3, width: width * Math.min(1, used), height: 6, fill: "currentColor" }),
    ),
    h("span", {}, row.margin),
  );
}
