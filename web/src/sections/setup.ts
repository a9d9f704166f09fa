/** Setup of a run: scenario, command to repeat it, versions, seeds, and the fidelity of a live run. */
import { copyText, download, h, unbroken } from "../dom";
import { date, NONE, plural, quantity, significant, slug } from "../format";
import type { Run } from "../generated/lockgate";
import { MODE_NAMES } from "../palette";
import type { Report } from "../report";

export function setupSection(report: Report, topology: readonly HTMLElement[]): HTMLElement[] {
  const shown = [...(report.topology.nodes.length > 0 ? topology : []), ...scenario(report)];
  return [h("div", { class: "pair setup" }, shown.length > 0 ? h("div", {}, ...shown) : null, facts(report))];
}

function facts(report: Report): HTMLElement {
  const rows: [string, Node | string][] = [];
  if (report.command !== "") {
    const copy = h(
      "button",
      { type: "button", class: "quiet", onclick: () => void copyText(report.command, "Command") },
      "Copy",
    );
    rows.push(["To repeat", h("span", { class: "command" }, h("code", {}, unbroken(report.command)), copy)]);
  }
  rows.push(["Lockgate", report.version || NONE], ["Made", date(report.generated) || NONE]);
  if (report.host !== "") rows.push(["On", report.host]);
  if (report.scenario_hash !== "") rows.push(["Scenario hash", h("code", {}, report.scenario_hash)]);
  // Facts that all runs share are listed once.
  const each = report.runs.map(runFacts);
  const shared = (each[0] ?? []).filter(
    ([name, value]) =>
      each.length > 1 && each.every((facts) => facts.some((fact) => fact[0] === name && fact[1] === value)),
  );
  const names = new Set(shared.map(([name]) => name));
  rows.push(...shared);
  return h(
    "div",
    { class: "facts" },
    list(rows),
    ...report.runs.map((run, index) =>
      h(
        "div",
        { class: "run-facts" },
        report.runs.length > 1 ? h("h4", {}, run.label) : null,
        list((each[index] ?? []).filter(([name]) => !names.has(name))),
      ),
    ),
  );
}

function list(rows: readonly (readonly [string, Node | string])[]): HTMLElement {
  return h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function runFacts(run: Run): [string, string][] {
  const { summary } = run;
  const rows: [string, string][] = [["Mode", MODE_NAMES[run.mode]]];
  const warmup =
    summary.warmup_s > 0
      ? `, of which the first ${quantity(summary.warmup_s, "s", 6)} (warm-up) are left out of the statistics`
      : "";
  rows.push(
    ["Seed", String(summary.seed)],
    ["Duration", `${quantity(summary.duration_s, "s", 6)}${warmup}`],
    ["Interval", `${quantity(run.interval_s, "s")} a sample`],
  );
  const repetitions = Math.max(0, ...Object.values(summary.intervals).map(({ n }) => n));
  if (repetitions > 1) rows.push(["Repetitions", `${repetitions}, intervals at 95\u202f%`]);
  const { packet_hops: hops } = summary.engine;
  if (hops > 0) rows.push(["Engine", plural(hops, "packet-hop")]);
  const fidelity = Object.entries(summary.fidelity ?? {});
  if (fidelity.length > 0) {
    const shown = fidelity.map(
      ([name, value]) =>
        `${name.replace(/_s$/, "").replaceAll("_", " ")} ${name.endsWith("_s") ? quantity(value, "s") : significant(value, 4)}`,
    );
    rows.push(["Fidelity", shown.join("; ")]);
  }
  return rows;
}

function scenario(report: Report): HTMLElement[] {
  if (report.scenario === "") return [];
  const lines = report.scenario.split("\n").length;
  return [
    h(
      "details",
      { class: "scenario", "data-print": "open" },
      h("summary", {}, "Scenario", h("small", {}, ` ${plural(lines, "line")}`)),
      h("pre", { tabindex: 0 }, h("code", {}, report.scenario)),
      h(
        "div",
        { class: "tools" },
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => void copyText(report.scenario, "Scenario") },
          "Copy",
        ),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => download(`${slug(report.title)}.toml`, "text/plain", report.scenario),
          },
          "Save",
        ),
      ),
    ),
  ];
}
