/** Window of the time axis that all figures over time show. */

export type Window = readonly [number, number];

export class SharedWindow {
  #window: Window | null = null;
  readonly #before: (Window | null)[] = [];
  readonly #listeners: (() => void)[] = [];

  /** The window; null for the whole range. */
  get window(): Window | null {
    return this.#window;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Shows a window. With `isStep`, `back` returns to the one before. */
  show(window: Window | null, isStep = false): void {
    if (window?.[0] === this.#window?.[0] && window?.[1] === this.#window?.[1]) return;
    if (isStep) this.#before.push(this.#window);
    this.#window = window;
    for (const listener of this.#listeners) listener();
  }

  /** Shows the window before the last step, or else the whole range. */
  back(): void {
    this.show(this.#before.pop() ?? null);
  }
}
