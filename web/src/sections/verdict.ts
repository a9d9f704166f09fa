/**
 * Outcome of a run: the verdict in words, and every expectation with its value, by shape, text and colour.
 */
import { breakable, copyText, h, svg } from "../dom";
import { NONE, plural, quantity, significant } from "../format";
import { unitOf } from "../metric";
import type { Cell, Expect, Report, Run } from "../report";
import { runName } from "../style";
import { makeTable } from "../table";

type State = "good" | "bad" | "none";

const WORDS: Record<State, string> = { good: "holds", bad: "missed", none: "undecided" };

/** Returns a tick, a cross or a dash beside a word: the state never depends on colour alone. */
export function badge(state: State, text: string = WORDS[state]): HTMLElement {
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

const stateOf = (expect: Expect): State => (expect.holds === null ? "none" : expect.holds ? "good" : "bad");

/** Returns the count of expectations, such as `3 of 4 expectations hold`, and the overall state. */
export function tallyOf(report: Report): { state: State; text: string } {
  const all = report.runs.flatMap((run) => run.summary.expect);
  const held = all.filter((expect) => expect.holds === true).length;
  const missed = all.filter((expect) => expect.holds === false).length;
  if (all.length === 0) return { state: "none", text: "No expectations were set" };
  if (missed > 0) return { state: "bad", text: `${missed} of ${plural(all.length, "expectation")} missed` };
  if (held < all.length)
    return {
      state: "none",
      text: `${held} of ${plural(all.length, "expectation")} hold, the others are undecided`,
    };
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
    index === 0 && (report.variants !== null || commands.length > 0 || report.runs.length === 0);
  const line = (text: string, index: number): HTMLElement =>
    h("p", decides(index) ? { class: "headline none" } : {}, text);
  if (sentences.length > 0) parts.push(h("div", { class: "verdict" }, ...sentences.map(line)));
  if (commands.length > 0) parts.push(commandList(commands, report.variants !== null));
  return parts;
}

/** A command of a verdict, and the sentence that it belongs to; empty if it stands for itself. */
interface Command {
  of: string;
  text: string;
}

/**
 * Separates the commands of a verdict from its sentences: a line that is one, or the end of one behind a colon. Of
 * the points of a front the knee keeps its sentence, the others go with their commands.
 */
export function split(lines: readonly string[]): { sentences: string[]; commands: Command[] } {
  const sentences: string[] = [];
  const commands: Command[] = [];
  for (const line of lines) {
    const [, of = "", text] = /^(?:(.*?):? )?(lockgate .*)$/s.exec(line) ?? [];
    if (text === undefined) sentences.push(line);
    else {
      const other = sentences.findLastIndex((sentence, at) => at > 0 && sentence.startsWith("On the front"));
      const own = other < 0 ? sentences.slice(0, 1) : sentences.splice(other);
      commands.push({ of: of || own.join(" "), text });
    }
  }
  return { sentences, commands };
}

/** Returns the commands, folded, each to be copied; those of a comparison are of all variants that are best in a metric. */
function commandList(commands: readonly Command[], isOfVariants: boolean): HTMLElement {
  return h(
    "details",
    { class: "commands", "data-print": "open" },
    h(
      "summary",
      {},
      plural(commands.length, "command"),
      isOfVariants ? " of variants that are best in a metric" : " of what is recommended",
    ),
    ...commands.map(({ of, text }) =>
      h(
        "div",
        { class: "one" },
        of === "" ? null : h("p", {}, of),
        h(
          "div",
          { class: "command" },
          h("code", {}, text),
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

export function expectTable(report: Report): HTMLElement | null {
  const entries = report.runs
    .flatMap((run) => run.summary.expect.map((expect, index) => ({ run, expect, index })))
    .sort((a, b) => a.index - b.index);
  if (entries.length === 0) return null;
  const several = report.runs.filter((run) => run.summary.expect.length > 0).length > 1;
  const unit = (expect: Expect): string => unitOf(expect.that);
  const bound = (expect: Expect): string => {
    const formatted = (values: readonly number[]): string =>
      values.map((value) => quantity(value, unit(expect))).join(" and ");
    const bounds = expect.bounds.map(({ words, values }) => `${words} ${formatted(values)}`).join(", ");
    const share = expect.members?.wanted_ratio ?? null;
    return share === null ? bounds : `${bounds}, for ${share < 1 ? quantity(share, "ratio") : "all"}`;
  };
  const at = (row: number): { run: Run; expect: Expect } => entries[row] as { run: Run; expect: Expect };
  const repeated = entries.some(({ expect }) => expect.runs > 1);
  const measured = (expect: Expect): string => {
    const mean = quantity(expect.value, unit(expect));
    const value = expect.halfWidth === null ? mean : `${mean} ± ${quantity(expect.halfWidth, unit(expect))}`;
    const share = shareOf(expect);
    if (share === null || !expect.members) return value;
    // Of several, the value is that of one; it says more only if too few keep the bound.
    const decides = expect.holds === false ? `; ${value} decides` : "";
    return `${expect.members.held} of ${expect.members.of} (${quantity(share, "ratio")})${decides}`;
  };
  const rows: Cell[][] = entries.map(({ run, expect }) => [
    WORDS[stateOf(expect)],
    expect.that,
    expect.value,
    bound(expect),
    ...(repeated ? [`${expect.held} of ${expect.runs}`] : []),
    ...(several ? [runName(run)] : []),
    margin(expect),
  ]);
  const offset = (several ? 1 : 0) + (repeated ? 1 : 0);
  return makeTable({
    name: "expectations",
    rows,
    columns: [
      { title: "Result", csv: "result", draw: (_, row) => badge(stateOf(at(row).expect)) },
      {
        title: "Expectation",
        csv: "that",
        draw: (value, row) =>
          h(
            "span",
            {},
            at(row).expect.name === "" ? "" : `${at(row).expect.name} `,
            h("code", {}, breakable(String(value ?? ""))),
          ),
      },
      {
        title: "Measured",
        csv: "value_si",
        draw: (_: Cell, row: number) => h("b", { class: "value" }, measured(at(row).expect)),
      },
      { title: "Wanted", csv: "wanted" },
      ...(repeated ? [{ title: "Held by", csv: "held_by", hint: "Runs in which it holds by itself" }] : []),
      ...(several ? [{ title: "Run", csv: "run" }] : []),
      {
        title: "Of the bound",
        csv: "value_over_bound",
        hint: "The measured value as a share of the bound; of several flows or queues, their share of those wanted",
        draw: (_: Cell, row: number) => gauge(at(row).expect, rows[row]?.[4 + offset] ?? null),
      },
    ],
  });
}

/** Returns the share of flows or queues that keep an expectation on several; null for one on a single one. */
const shareOf = ({ members }: Expect): number | null =>
  members?.of ? (members.held ?? 0) / members.of : null;

/** Returns the value over its bound, or the share of members over the one wanted; null with two bounds. */
function margin(expect: Expect): number | null {
  const share = shareOf(expect);
  if (share !== null) return expect.members?.wanted_ratio ? share / expect.members.wanted_ratio : null;
  const bound = expect.low ?? expect.high;
  const isOne = expect.low === null || expect.high === null;
  return expect.value === null || !isOne || !bound ? null : expect.value / bound;
}

/**
 * Returns a bar of the value with a tick at each bound. Beyond twice a single bound the bar is cut, and only
 * the number is exact; two bounds enclose the middle half.
 */
function gauge(expect: Expect, share: Cell): HTMLElement {
  const { value, low, high } = expect;
  const [width, tick] = [80, 40];
  if (typeof share === "number" && share >= 0) {
    const words = share < 100 ? `${significant(share * 100, share < 10 ? 2 : 3)}\u202f%` : "far beyond";
    return bar(expect, width, share * tick, [tick], words);
  }
  if (value === null || low === null || high === null || shareOf(expect) !== null) return h("span", {}, NONE);
  const place = high > low ? (value - low) / (high - low) : value < low ? -1 : value > high ? 2 : 0.5;
  const words = place < 0 ? "too low" : place > 1 ? "too high" : "between";
  return bar(expect, width, width / 4 + (place * width) / 2, [width / 4, (3 * width) / 4], words);
}

function bar(expect: Expect, width: number, end: number, ticks: number[], words: string): HTMLElement {
  return h(
    "span",
    { class: `gauge ${stateOf(expect)}` },
    svg(
      "svg",
      { width, height: 12, viewBox: `0 0 ${width} 12`, "aria-hidden": "true" },
      svg("rect", { x: 0, y: 3, width, height: 6, fill: "var(--grid)" }),
      svg("rect", { x: 0, y: 3, width: Math.min(width, Math.max(0, end)), height: 6, fill: "currentColor" }),
      ...ticks.map((x) =>
        svg("line", { x1: x, x2: x, y1: 0, y2: 12, stroke: "var(--text)", "stroke-width": 1.5 }),
      ),
    ),
    h("span", {}, words),
  );
}
