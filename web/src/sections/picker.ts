/** What is shown: flows by name or by filter, runs, and the port whose queues are drawn. */
import { h } from "../dom";
import { plural } from "../format";
import { COLOURS } from "../palette";
import { runName } from "../style";
import type { Selection } from "../selection";

/** Names listed at once; the filter finds the others. */
const LISTED = 60;

/** A button with a panel below it; nothing where there is nothing to choose. */
export function picker(selection: Selection): HTMLElement | null {
  const { report, ranked, ports } = selection;
  if (ranked.length <= 1 && report.runs.length <= 1 && ports.length <= 1) return null;
  const summary = h("summary");
  const flows = h("div", { class: "list" });
  const left = h("p", { class: "note", "aria-live": "polite" });
  const filter = h("input", { type: "search", placeholder: "Filter flows by name", "aria-label": "Filter flows by name" });
  const matching = (): string[] => ranked.filter((name) => name.toLowerCase().includes(filter.value.toLowerCase()));

  const fill = (): void => {
    const view = selection.view();
    const parts = [];
    if (ranked.length > 1) parts.push(view.flows.length === ranked.length ? plural(ranked.length, "flow") : `${view.flows.length} of ${plural(ranked.length, "flow")}`);
    if (report.runs.length > 1) parts.push(view.runs.length === report.runs.length ? plural(report.runs.length, "run") : `${view.runs.length} of ${plural(report.runs.length, "run")}`);
    if (ports.length > 1) parts.push(plural(ports.length, "port"));
    summary.replaceChildren(h("span", { class: "wide" }, "Shown: "), parts.join(", "));
    const found = matching();
    flows.replaceChildren(
      ...found.slice(0, LISTED).map((name) =>
        h(
          "label",
          {},
          h("input", { type: "checkbox", checked: selection.isShown(name), disabled: selection.full && !selection.isShown(name), onchange: () => selection.toggleFlow(name) }),
          h("span", {}, name),
        ),
      ),
    );
    const hidden = found.length - Math.min(found.length, LISTED);
    left.textContent =
      (ranked.length > COLOURS ? `At most ${COLOURS} flows can be told apart; at first those with the most bytes are shown. ` : "") + (hidden > 0 ? `${hidden} more match: narrow the filter.` : "");
    left.hidden = left.textContent === "";
  };

  filter.addEventListener("input", fill);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") selection.showFlows(matching());
  });
  const panel = h("div", { class: "panel" });
  if (ranked.length > 1) {
    panel.append(
      h(
        "fieldset",
        {},
        h("legend", {}, "Flows"),
        ranked.length > 8 ? filter : null,
        flows,
        left,
        ranked.length > COLOURS
          ? h(
              "div",
              { class: "tools" },
              h("button", { type: "button", onclick: () => selection.showFlows(matching()) }, `Show the first ${COLOURS} that match`),
              h("button", { type: "button", onclick: () => selection.showFlows(ranked) }, "Largest"),
            )
          : null,
      ),
    );
  }
  if (report.runs.length > 1) {
    panel.append(
      h(
        "fieldset",
        {},
        h("legend", {}, "Runs"),
        ...report.runs.map((run, index) =>
          h(
            "label",
            {},
            h("input", {
              type: "checkbox",
              checked: true,
              onchange: (event: Event) => {
                selection.toggleRun(index);
                (event.target as HTMLInputElement).checked = selection.runShown(index);
              },
            }),
            h("span", {}, runName({ run, index })),
          ),
        ),
      ),
    );
  }
  if (ports.length > 1) {
    const select = h("select", { "aria-label": "Port whose queues are drawn", onchange: (event: Event) => selection.showPort((event.target as HTMLSelectElement).value) }, ...ports.map((name) => h("option", { value: name }, name)));
    panel.append(h("fieldset", {}, h("legend", {}, "Queues of port"), select));
  }
  const details = h("details", { class: "picker" }, summary, panel);
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    details.open = false;
    summary.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (details.open && !details.contains(event.target as Node)) details.open = false;
  });
  selection.onChange(() => {
    const focused = document.activeElement instanceof HTMLInputElement && flows.contains(document.activeElement) ? [...flows.querySelectorAll("input")].indexOf(document.activeElement) : -1;
    fill();
    if (focused >= 0) flows.querySelectorAll("input")[focused]?.focus();
  });
  fill();
  return details;
}
