/** Theme: light, dark, or that of the system; light while printing. */
import { h } from "./dom";
import { DARK, type Ink, LIGHT } from "./palette";

type Wish = "system" | "light" | "dark";

const KEY = "lockgate-theme";
const NAMES = [
  "page",
  "panel",
  "sunk",
  "text",
  "soft",
  "rule",
  "grid",
  "accent",
  "good",
  "bad",
  "warn",
] as const;

export class Theme {
  #wish: Wish;
  #printing = false;
  readonly #system = matchMedia("(prefers-color-scheme: dark)");
  readonly #listeners: (() => void)[] = [];

  constructor() {
    this.#wish = remembered();
    this.#system.addEventListener("change", () => this.#changed());
    this.#apply();
  }

  get wish(): Wish {
    return this.#wish;
  }

  get ink(): Ink {
    if (this.#printing) return LIGHT;
    const dark = this.#wish === "system" ? this.#system.matches : this.#wish === "dark";
    return dark ? DARK : LIGHT;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Switches between light and dark, from the one now visible. */
  toggle(): void {
    this.#wish = this.ink.name === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, this.#wish);
    } catch {
      // A page opened from a disk may have no storage: the choice then lasts until the page is closed.
    }
    this.#changed();
  }

  printing(on: boolean): void {
    this.#printing = on;
    this.#changed();
  }

  #changed(): void {
    this.#apply();
    for (const listener of this.#listeners) listener();
  }

  #apply(): void {
    const { ink } = this;
    const root = document.documentElement;
    root.dataset["theme"] = ink.name;
    root.style.colorScheme = ink.name;
    for (const name of NAMES) root.style.setProperty(`--${name}`, ink[name]);
  }
}

function remembered(): Wish {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

/** Returns the button that switches between light and dark, with the name of the other theme. */
export function themeButton(theme: Theme): HTMLElement {
  const label = (): string => (theme.ink.name === "dark" ? "Light" : "Dark");
  const button = h(
    "button",
    { type: "button", id: "theme", title: "Switch between light and dark", onclick: () => theme.toggle() },
    label(),
  );
  theme.onChange(() => {
    button.textContent = label();
  });
  return button;
}
