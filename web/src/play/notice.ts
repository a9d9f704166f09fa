/** Notice about the text as a whole, above the results. */
import { h } from "../dom";
import type { ProblemData } from "../generated/lockgate";

export class Notice {
  readonly element = h("div", { id: "notice" });

  clear(): void {
    this.element.replaceChildren();
  }

  /** Shows a sentence, with the words of the text that were left out. */
  tell(text: string, isError: boolean, left: readonly ProblemData[] = []): void {
    const line = ({ line, message, help }: ProblemData): string =>
      `${line === null ? "" : `line ${line}: `}${message}${help === null ? "" : ` (${help})`}`;
    this.element.replaceChildren(
      h(
        "div",
        { class: `notice${isError ? " wrong" : ""}`, role: isError ? "alert" : "status" },
        h("p", {}, text),
        left.length === 0
          ? null
          : h(
              "details",
              { open: true },
              h("summary", {}, isError ? "Why" : `Left out (${left.length})`),
              h("ul", {}, ...left.map((one) => h("li", {}, line(one)))),
            ),
      ),
    );
  }
}
