/** Selection of the shown data: flows by name or by filter, runs, and the port whose queues are drawn. */
import { h } from "../dom";
import { plural } from "../format";
import type { Run } from "../generated/lockgate";
import { COLOURS } from "../palette";

import type { Selection } from "../selection";
import { runName } from "../style";

/** Largest number of names listed; the filter finds the others. */
const LISTED = 60;

/** Returns a button with a panel below it; null if there is no choice. */
export function picker(selection: Selection): HTMLElement | null {
  const { report, ranked, ports } = selection;
  if (ranked.length <= 1 && report.runs.length <= 1 && ports.length <= 1) return null;
  const summary = h("summary");
  const panel = h("div", { class: "panel" });
  if (ranked.length > 1) panel.append(flowChoice(selection));
  if (report.runs.length > 1) panel.append(runChoice(selection));
  if (ports.length > 1) panel.append(portChoice(selection));
  const details = h("details", { class: "picker" }, summary, panel);
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    details.open = false;
    summary.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (details.open && !details.contains(event.target as Node)) details.open = false;
  });
  const name = (): void =>
    summary.replaceChildren(h("span", { class: "wide" }, "Shown: "), shownText(selection));
  selection.onChange(name);
  name();
  return details;
}

/** Returns the selection in words: `7 of 304 flows, 2 runs`. */
function shownText(selection: Selection): string {
  const { report, ranked, ports } = selection;
  const view = selection.view();
  const part = (shown: number, all: number, noun: string): string[] =>
    all <= 1 ? [] : [shown === all ? plural(all, noun) : `${shown} of ${plural(all, noun)}`];
  return [
    ...part(view.flows.length, ranked.length, "flow"),
    ...part(view.runs.length, report.runs.length, "run"),
    ...part(ports.length, ports.length, "port"),
  ].join(", ");
}

function flowChoice(selection: Selection): HTMLElement {
  const { ranked } = selection;
  const many = ranked.length > COLOURS;
  const flows = h("div", { class: "list" });
  const left = h("p", { class: "note", "aria-live": "polite" });
  const filter = h("input", {
    type: "search",
    placeholder: "Filter flows by name",
    "aria-label": "Filter flows by name",
  });
  const matching = (): string[] =>
    ranked.filter((name) => name.toLowerCase().includes(filter.value.toLowerCase()));
  const box = (name: string): HTMLElement => {
    const shown = selection.isShown(name);
    const input = h("input", {
      type: "checkbox",
      checked: shown,
      disabled: selection.full && !shown,
      onchange: () => selection.toggleFlow(name),
    });
    return h("label", {}, input, h("span", {}, name));
  };
  const fill = (): void => {
    const found = matching();
    // The list is rebuilt; the focused entry is focused again.
    const at = [...flows.querySelectorAll("input")].indexOf(document.activeElement as HTMLInputElement);
    flows.replaceChildren(...found.slice(0, LISTED).map(box));
    if (at >= 0) flows.querySelectorAll("input")[at]?.focus();
    const hidden = Math.max(0, found.length - LISTED);
    left.textContent =
      (many
        ? `At most ${COLOURS} flows can be told apart; at first those with expectations, then those with the most bytes. `
        : "") + (hidden > 0 ? `${hidden} more match: narrow the filter.` : "");
    left.hidden = left.textContent === "";
  };
  filter.addEventListener("input", fill);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") selection.showFlows(matching());
  });
  selection.onChange(fill);
  fill();
  const buttons = h(
    "div",
    { class: "tools" },
    h(
      "button",
      { type: "button", onclick: () => selection.showFlows(matching()) },
      `Show the first ${COLOURS} that match`,
    ),
    h("button", { type: "button", onclick: () => selection.showFlows(ranked) }, "Largest"),
  );
  return h(
    "fieldset",
    {},
    h("legend", {}, "Flows"),
    ranked.length > 8 ? filter : null,
    flows,
    left,
    many ? buttons : null,
  );
}

function runChoice(selection: Selection): HTMLElement {
  const box = (run: Run, index: number): HTMLElement => {
    const input = h("input", { type: "checkbox", checked: true, onchange: () => selection.toggleRun(index) });
    selection.onChange(() => {
      input.checked = selection.runShown(index);
    });
    return h("label", {}, input, h("span", {}, runName(run)));
  };
  return h("fieldset", {}, h("legend", {}, "Runs"), ...selection.report.runs.map(box));
}

function portChoice(selection: Selection): HTMLElement {
  const options = selection.ports.map((name) => h("option", { value: name }, name));
  const select = h("select", { "aria-label": "Port whose queues are drawn" }, ...options);
  select.addEventListener("change", () => selection.showPort(select.value));
  return h("fieldset", {}, h("legend", {}, "Queues of port"), select);
}
