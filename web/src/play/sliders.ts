/** Sliders for the knobs of a scenario: each shows the value of the text, and sets it. */
import { h } from "../dom";
import type { Slider } from "../generated/lockgate";
import { Scale, STEPS, written } from "./number";
import { placeOf, unquoted } from "./toml";

/** Knobs written in the text stand first; of the others, those of a part are behind its name. */
export class Sliders {
  readonly element = h("div", { class: "sliders" });
  #text = "";
  #shape = "";
  /** Elements that show another value, by path. */
  readonly #shown = new Map<string, (value: string) => void>();

  /** `set` is called with path and value, and whether the value is final: the slider is let go. */
  constructor(readonly set: (path: string, value: string, isFinal: boolean) => void) {}

  /** Shows the knobs of a text. */
  show(sliders: readonly Slider[], text: string): void {
    this.#text = text;
    const usable = sliders.filter(({ range, knob }) => range !== null || knob.choices.length > 1);
    const shape = JSON.stringify(
      usable.map(({ knob, range }) => [knob.path, knob.choices, range?.least, range?.most]),
    );
    const paths = usable.map(({ knob }) => knob.path).join("\n");
    const held = this.element.contains(document.activeElement);
    // While a slider has the focus its range stays, because it would jump below the pointer.
    if (shape !== this.#shape && !(held && paths === this.#paths)) this.#build(usable);
    if (!held) this.#shape = shape;
    this.#paths = paths;
    for (const { knob } of usable) this.#shown.get(knob.path)?.(this.#written(knob.path) ?? knob.value ?? "");
  }

  #paths = "";

  /** Value of a path as it is written in the text. */
  #written(path: string): string | null {
    const place = placeOf(this.#text, path);
    if (!place) return null;
    const raw = this.#text.slice(place.from, place.to);
    return place.kind === "text" ? unquoted(raw) : raw;
  }

  #build(sliders: readonly Slider[]): void {
    this.#shown.clear();
    const focused = (document.activeElement as HTMLElement | null)?.dataset["path"];
    const isWritten = ({ knob }: Slider): boolean => this.#written(knob.path) !== null;
    const [first, rest] = [sliders.filter(isWritten), sliders.filter((one) => !isWritten(one))];
    // A choice decides most, and stands before numbers.
    first.sort((a, b) => Number(b.knob.choices.length > 0) - Number(a.knob.choices.length > 0));
    const parts = [...new Set(rest.map(({ of }) => of))];
    this.element.replaceChildren(
      ...first.map((one) => this.#row(one)),
      ...(rest.length === 0
        ? []
        : [
            h(
              "details",
              { class: "more" },
              h("summary", {}, `${rest.length} more, at their defaults`),
              ...parts.map((part) =>
                h(
                  "fieldset",
                  {},
                  h("legend", {}, part),
                  ...rest.filter(({ of }) => of === part).map((one) => this.#row(one)),
                ),
              ),
            ),
          ]),
    );
    if (focused !== undefined)
      this.element.querySelector<HTMLElement>(`[data-path="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(slider: Slider): HTMLElement {
    const { knob, range } = slider;
    const name = slider.queue === null ? `${slider.of} ${knob.key}` : `${slider.queue} ${knob.key}`;
    const title = `${knob.path}: ${knob.about}`;
    return range === null ? this.#choice(slider, name, title) : this.#number(slider, range, name, title);
  }

  #choice({ knob }: Slider, name: string, title: string): HTMLElement {
    const select = h(
      "select",
      { "data-path": knob.path, onchange: () => this.set(knob.path, select.value, true) },
      ...knob.choices.map((choice) => h("option", { value: choice }, choice)),
    );
    this.#shown.set(knob.path, (value) => {
      select.value = value;
    });
    return h("label", { class: "knob", title }, h("span", { class: "name" }, name), select);
  }

  #number({ knob }: Slider, range: NonNullable<Slider["range"]>, name: string, title: string): HTMLElement {
    const scale = new Scale(range.least, range.most, range.is_whole);
    const output = h("output", {});
    const current = (): string => written(scale.numberOf(input.valueAsNumber), range.ending);
    const tell = (isFinal: boolean): void => {
      const value = current();
      shown(value);
      this.set(knob.path, value, isFinal);
    };
    const input = h("input", {
      type: "range",
      min: 0,
      max: STEPS,
      step: 1,
      "data-path": knob.path,
      oninput: () => tell(false),
      onchange: () => tell(true),
    });
    input.valueAsNumber = scale.stepOf(range.value);
    const ends = `${written(range.least, range.ending)} to ${written(range.most, range.ending)}`;
    const shown = (value: string): void => {
      output.textContent = value;
      input.setAttribute("aria-valuetext", `${value}, of ${ends}`);
    };
    shown(written(range.value, range.ending));
    this.#shown.set(knob.path, (value) => {
      if (document.activeElement !== input) input.valueAsNumber = scale.stepOf(numberOf(value, range));
      shown(value);
    });
    return h(
      "label",
      { class: "knob", title: `${title} (${ends})` },
      h("span", { class: "name" }, name),
      input,
      output,
      h("span", { class: "ends", "aria-hidden": "true" }, ends),
    );
  }
}

const SIZES: Record<string, number> = {
  gbit: 1e9,
  mbit: 1e6,
  kbit: 1e3,
  bit: 1,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  ns: 1e-9,
  GB: 1e9,
  MB: 1e6,
  kB: 1e3,
  B: 1,
  p: 1,
  "%": 1,
  "": 1,
};

/** Returns a value as a number of its range's units; the range's own, if it is written otherwise. */
function numberOf(value: string, range: NonNullable<Slider["range"]>): number {
  const [, number, unit = ""] = /^([\d.]+)\s*([a-zA-Z%]*)$/.exec(value) ?? [];
  const size = SIZES[unit];
  if (number === undefined || size === undefined) return range.value;
  const share = range.ending === "%" && unit === "" ? 100 : 1;
  return Number(number) * size * share;
}
