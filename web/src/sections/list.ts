/** Sections of a report, in the order of the page; those without a part are left out. */
import { h } from "../dom";
import type { Place } from "../figures/list";
import type { Context, Frame } from "../frame";
import type { Comparison } from "../generated/lockgate";
import { hasRuns, type Report } from "../report";
import { answering, answerPart } from "./answer";
import { blameLines, blamePart } from "./blame";
import { flowsSection } from "./flows";
import { isOfMembers, membersPart } from "./members";
import { claimStrips, comparisonTables, definitionList, eventTable } from "./notes";
import { queuesTable } from "./queues";
import { setupSection } from "./setup";
import { networkTree } from "./tree";
import { variantsTable } from "./variants";
import { expectTable, verdictSection, warningList } from "./verdict";
import { worstParts } from "./worst";

/** Page on which sections are laid out. */
export interface Placing {
  report: Report;
  context: Context;
  /** Frames of all figures; those that are made later are added. */
  frames: Frame[];
  /** Returns the figures that the list has for a place. */
  figures(place: Place): HTMLElement[];
}

type Parts = (HTMLElement | null)[];

interface Section {
  id: string;
  title: string | ((report: Report) => string);
  /** Title in the bar, if it is another. */
  short?: string;
  parts(page: Placing): Parts;
}

const CURVES =
  "Delays are those of all seeds together; over time, the run of the first seed. “Shown” at the top of the page chooses flows and variants.";

const hasMembers = ({ comparisons }: Report): boolean => comparisons.some(isOfMembers);

/** Returns whether a table is of the ports of a network with members, beside which it stands. */
const isOfPorts = ({ columns }: Comparison): boolean => columns[0] === "port";

/** Returns the tables that have no section of their own. */
const tablesOf = (report: Report): Comparison[] =>
  report.comparisons.filter(
    (table) => !isOfMembers(table) && !(hasMembers(report) && isOfPorts(table)) && !report.variants,
  );

/** Returns the answer, above the first figures; of variants the table, beside the first trade-off. */
function verdictParts({ report, context, figures }: Placing): Parts {
  const { variants } = report;
  if (variants) {
    const [table, beside] = [variantsTable(variants, context.theme, context.selection), figures("verdict")];
    return [
      ...verdictSection(report),
      beside.length > 0 ? h("div", { class: "compared" }, table, ...beside) : table,
    ];
  }
  const verdict = answering(report)?.verdict;
  const answer = verdict ? answerPart(report, verdict, context.selection, figures("network")) : null;
  // Who pays in a large network: behind the rows, so that nothing moves below the first paint.
  const blamed = blameLines(report, report.comparisons.filter(isOfMembers));
  answer?.querySelector(".told")?.append(...blamed);
  return [
    ...(answer ? [answer] : verdictSection(report)),
    ...claimStrips(hasRuns(report) ? [] : tablesOf(report)),
    ...figures("verdict"),
    warningList(report),
  ];
}

function memberParts({ report, context, frames }: Placing): Parts {
  const members = membersPart(report, context, frames);
  const ports = report.comparisons.filter(isOfPorts);
  const tables = report.comparisons.filter(isOfMembers);
  return members
    ? [networkTree(report, ports[0]), blamePart(report, tables), ...comparisonTables(ports), members]
    : [];
}

function comparisonTitle(report: Report): string {
  if (hasMembers(report)) return "Groups";
  if (tablesOf(report).length === 0) return "Applications";
  return hasRuns(report) ? "Comparison" : "Results";
}

/** Returns parts of a report of runs. */
const ofRuns =
  (parts: (page: Placing) => Parts) =>
  (page: Placing): Parts =>
    hasRuns(page.report) ? parts(page) : [];

export const SECTIONS: readonly Section[] = [
  { id: "verdict", title: "Verdict", parts: verdictParts },
  { id: "variants", title: "Variants", parts: ({ figures }) => figures("variants") },
  {
    id: "variables",
    title: "By two variables",
    short: "Variables",
    parts: ({ figures }) => figures("variables"),
  },
  { id: "fronts", title: "Trade-offs", parts: ({ figures }) => figures("fronts") },
  {
    id: "curves",
    title: "Curves of each variant",
    short: "Curves",
    parts: ({ figures }) => {
      const curves = figures("curves");
      return curves.length > 0 ? [h("p", { class: "note" }, CURVES), ...curves] : [];
    },
  },
  { id: "members", title: "Where and who", short: "Members", parts: ofRuns(memberParts) },
  {
    id: "worst",
    title: "Worst packets",
    short: "Packets",
    parts: ({ report, context }) => {
      const { slotOf } = context.selection.view();
      return report.runs.flatMap((run) => worstParts(run.worst ?? [], slotOf));
    },
  },
  {
    id: "expectations",
    title: "Expectations",
    parts: ({ report }) => [report.variants ? null : expectTable(report)],
  },
  { id: "flows", title: "Flows", parts: ofRuns(({ report }) => flowsSection(report)) },
  {
    id: "queues",
    title: "Queues and events",
    short: "Queues",
    parts: ofRuns(({ report, figures }) => [
      queuesTable(report),
      ...figures("queues"),
      ...eventTable(report),
    ]),
  },
  { id: "delay", title: "Delay", parts: ({ figures }) => figures("delay") },
  { id: "senders", title: "TCP senders", short: "TCP", parts: ({ figures }) => figures("senders") },
  {
    id: "comparison",
    title: comparisonTitle,
    parts: ({ report, figures }) => [...comparisonTables(tablesOf(report)), ...figures("comparison")],
  },
  {
    id: "setup",
    title: "What was run",
    short: "Setup",
    parts: ({ report, figures }) => setupSection(report, figures("setup")),
  },
  {
    id: "definitions",
    title: "Definitions",
    parts: ({ report }) => [report.definitions.length > 0 ? definitionList(report) : null],
  },
];
