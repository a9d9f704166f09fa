/** Problems of the text below the editor, each with its position and its fixes as buttons. */
import { announce, h } from "../dom";
import type { ProblemData } from "../generated/lockgate";
import { type Editor, replacements } from "./editor";
import { Problems } from "./engine";

/** Returns the text of an error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns an error as problems: those of the text, or itself as one without a position. */
export function problemsOf(error: unknown): readonly ProblemData[] {
  if (error instanceof Problems && error.problems.length > 0) return error.problems;
  const help = error instanceof Problems ? error.help : null;
  return [
    { is_error: true, message: messageOf(error), help, line: null, column: null, span: null, related: [] },
  ];
}

export class ProblemList {
  readonly element = h("ul", { class: "problems", id: "problems", "aria-label": "Problems of the text" });

  constructor(readonly editor: Editor) {}

  tell(problems: readonly ProblemData[]): void {
    this.editor.mark(problems);
    this.element.replaceChildren(...problems.map((problem) => this.#item(problem)));
    const errors = problems.filter((one) => one.is_error);
    if (errors.length > 0) announce(errors[0]?.message ?? "");
  }

  #item(problem: ProblemData): HTMLElement {
    const place = problem.line === null ? "" : `line ${problem.line}`;
    return h(
      "li",
      { class: problem.is_error ? "error" : "warning" },
      problem.span
        ? h(
            "button",
            { type: "button", class: "quiet", onclick: () => this.editor.reveal(problem) },
            place || "show",
          )
        : null,
      h("span", { class: "message" }, problem.message),
      problem.help === null ? null : h("span", { class: "help" }, problem.help),
      ...replacements(problem, this.editor.text).map((fresh) =>
        h(
          "button",
          { type: "button", class: "fix", onclick: () => this.editor.fix(problem, fresh) },
          `Write ${fresh}`,
        ),
      ),
    );
  }
}
