/** The editor of a scenario's text: highlights TOML, completes, underlines problems and offers their fixes. */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, type StringStream, syntaxHighlighting } from "@codemirror/language";
import { type Action, type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Completions, ProblemData } from "../generated/lockgate";
import { byteOfIndex, indexOfByte } from "./engine";
import type { Edit } from "./toml";

/** Work that the page does for the editor. */
export interface Asked {
  /** The text has changed, by typing or a fix. */
  changed(text: string): void;
  complete(text: string, cursor: number): Promise<Completions | null>;
  /** A text was pasted. Returns true if it is taken otherwise, such as imported. */
  pasted(text: string): boolean;
}

const toml = StreamLanguage.define<{ long: string; value: boolean }>({
  name: "toml",
  startState: () => ({ long: "", value: false }),
  token: (stream, state) => token(stream, state),
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["[", "{", '"'] } },
});

function token(stream: StringStream, state: { long: string; value: boolean }): string | null {
  if (state.long !== "") {
    if (stream.skipTo(state.long)) {
      stream.match(state.long);
      state.long = "";
    } else stream.skipToEnd();
    return "string";
  }
  if (stream.sol()) state.value = false;
  if (stream.eatSpace()) return null;
  if (stream.match(/^#.*/)) return "comment";
  if (!state.value && stream.match(/^\[\[?[^\]]*\]\]?/)) return "heading";
  for (const quotes of ['"""', "'''"])
    if (stream.match(quotes)) {
      state.long = quotes;
      return "string";
    }
  const isKey = stream.match(/^("([^"\\]|\\.)*"|'[^']*'|[\w-]+)(?=\s*[.=])/, true);
  if (isKey && !/^\d+\.\d/.test(stream.current() + stream.string.slice(stream.pos, stream.pos + 2)))
    return "propertyName";
  if (stream.match(/^("([^"\\]|\\.)*"?|'[^']*'?)/)) return "string";
  if (stream.match(/^(true|false)\b/)) return "bool";
  if (stream.match(/^[+-]?[\d_]+(\.[\d_]+)?/)) return "number";
  if (stream.next() === "=") state.value = true;
  return null;
}

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "t-comment" },
  { tag: tags.heading, class: "t-heading" },
  { tag: tags.propertyName, class: "t-key" },
  { tag: tags.string, class: "t-text" },
  { tag: [tags.number, tags.bool], class: "t-number" },
]);

/** Changes that the page makes itself, such as those of a slider. */
const byPage = Annotation.define<boolean>();

/** Limit on the replacements that are offered for a problem. */
const MOST_FIXES = 8;

/** Returns the words that a help proposes: the one that is meant, the one to write, or all that are allowed. */
function proposed(help: string): string[] {
  const [, meant] = /did you mean `([^`]+)`/.exec(help) ?? [];
  if (meant !== undefined) return [meant];
  const words = [...help.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
  const isList = /^it is( one of)?[, ]*(or[, ]*)*$/.test(
    help.replace(/`[^`]+`/g, "").replace(/(,| or|\s)+$/, ""),
  );
  return isList && words.length <= MOST_FIXES ? words : [];
}

/** Returns the texts that a problem's help proposes in place of the one that it points at. */
export function replacements(problem: ProblemData, text: string): string[] {
  const help = problem.help ?? "";
  if (!problem.span) return [];
  const [from, to] = problem.span.map((byte) => indexOfByte(text, byte)) as [number, number];
  const old = text.slice(from, to);
  const [, whole] = /^write `([^`]+)`/.exec(help) ?? [];
  if (old.includes("\n") || help.includes("…")) return [];
  if (whole !== undefined) return [whole];
  const quote = /^["']/.exec(old)?.[0] ?? "";
  const parts = (quote === "" ? old : old.slice(1, -1)).split(".");
  return proposed(help).map((word) => {
    // Of an address the part that is most alike is meant.
    const near = parts.length > 1 && !word.includes(".") ? nearestPart(parts, word) : null;
    const fresh = near === null ? word : parts.map((part, at) => (at === near ? word : part)).join(".");
    return quote + fresh + quote;
  });
}

/** Returns the index of the part with the most letters of a word at the same places. */
function nearestPart(parts: readonly string[], word: string): number {
  const alike = (part: string): number =>
    [...part].filter((letter) => word.includes(letter)).length / Math.max(part.length, word.length);
  return parts.reduce((best, part, at) => (alike(part) > alike(parts[best] as string) ? at : best), 0);
}

export class Editor {
  readonly view: EditorView;
  readonly #asked: Asked;

  constructor(parent: HTMLElement, asked: Asked) {
    this.#asked = asked;
    this.view = new EditorView({ parent, state: this.#state("") });
  }

  get text(): string {
    // Halves of characters, of a binary file, cannot be written as UTF-8.
    return this.view.state.doc.toString().replace(/\p{Surrogate}/gu, "\ufffd");
  }

  /** Shows another text, with a history of its own unless `undo`. */
  show(text: string, undo = false): void {
    if (undo)
      this.view.dispatch({
        changes: { from: 0, to: this.text.length, insert: text },
        annotations: byPage.of(true),
      });
    else this.view.setState(this.#state(text));
  }

  /** Makes a change of the page. */
  edit(change: Edit): void {
    this.view.dispatch({ changes: change, annotations: byPage.of(true) });
  }

  /** Underlines problems of the text, each with its fix as a button. */
  mark(problems: readonly ProblemData[]): void {
    const { text } = this;
    this.view.dispatch(
      setDiagnostics(
        this.view.state,
        problems.filter(({ span }) => span !== null).map((problem) => this.#diagnostic(problem, text)),
      ),
    );
  }

  /** Replaces the text that a problem points at. */
  fix(problem: ProblemData, fresh: string): void {
    const { text } = this;
    if (!problem.span) return;
    const [from, to] = problem.span.map((byte) => indexOfByte(text, byte)) as [number, number];
    this.view.dispatch({ changes: { from, to, insert: fresh } });
    this.view.focus();
  }

  /** Selects the text that a problem points at. */
  reveal(problem: ProblemData): void {
    if (!problem.span) return;
    const [anchor, head] = problem.span.map((byte) => indexOfByte(this.text, byte)) as [number, number];
    this.view.dispatch({ selection: { anchor, head }, scrollIntoView: true });
    this.view.focus();
  }

  #diagnostic(problem: ProblemData, text: string): Diagnostic {
    const [from, to] = (problem.span ?? [0, 0]).map((byte) => indexOfByte(text, byte)) as [number, number];
    const actions = replacements(problem, text).map(
      (fresh): Action => ({ name: `Write ${fresh}`, apply: () => this.fix(problem, fresh) }),
    );
    return {
      from,
      to: Math.max(to, Math.min(from + 1, text.length)),
      severity: problem.is_error ? "error" : "warning",
      message: problem.help === null ? problem.message : `${problem.message}\n${problem.help}`,
      actions,
    };
  }

  #state(doc: string): EditorState {
    return EditorState.create({
      doc,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        closeBrackets(),
        lintGutter(),
        EditorState.tabSize.of(4),
        EditorView.lineWrapping,
        autocompletion({ override: [(context) => this.#completions(context)], icons: false }),
        // Tab leaves the editor, so that the page can be used with keys alone.
        keymap.of([...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap]),
        toml,
        syntaxHighlighting(colours),
        EditorView.contentAttributes.of({ "aria-label": "Scenario", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          const own = update.transactions.some((one) => one.annotation(byPage));
          if (update.docChanged && !own) this.#asked.changed(this.text);
        }),
        EditorView.domEventHandlers({
          paste: (event) => {
            const text = event.clipboardData?.getData("text/plain") ?? "";
            if (!this.#asked.pasted(text)) return false;
            event.preventDefault();
            return true;
          },
        }),
      ],
    });
  }

  async #completions(context: CompletionContext): Promise<CompletionResult | null> {
    const word = context.matchBefore(/[\w.:"*/-]+/);
    if (!context.explicit && !word) return null;
    const text = context.state.doc.toString();
    const found = await this.#asked.complete(text, byteOfIndex(text, context.pos));
    if (!found || found.candidates.length === 0) return null;
    const options = found.candidates.map(({ text: label, about }) => ({
      label,
      ...(about === "" ? {} : { info: about }),
    }));
    return { from: indexOfByte(text, found.from), options, filter: false };
  }
}
