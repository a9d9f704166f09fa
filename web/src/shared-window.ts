/** Window of the time axis that all figures over time show. */

export type Window = readonly [number, number];

/** Time in ms after the last move at which curves are drawn in full again. */
const SETTLED = 160;

export class SharedWindow {
  #window: Window | null = null;
  #isMoving = false;
  #isHeld = false;
  #settling: ReturnType<typeof setTimeout> | undefined;
  readonly #before: (Window | null)[] = [];
  readonly #listeners: (() => void)[] = [];

  /** The window; null for the whole range. */
  get window(): Window | null {
    return this.#window;
  }

  /** True while it is moved, and figures are drawn coarsely. */
  get isMoving(): boolean {
    return this.#isMoving;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Shows a window. With `isStep`, `back` returns to the one before. */
  show(window: Window | null, isStep = false): void {
    if (this.#is(window)) return;
    if (isStep) this.#before.push(this.#window);
    this.#window = window;
    this.#tell();
  }

  /** Shows a window that is followed by others soon. */
  move(window: Window | null): void {
    if (this.#is(window)) return;
    if (!this.#isMoving && !this.#isHeld) this.#before.push(this.#window);
    this.#isMoving = true;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.settle(), SETTLED);
    this.#window = window;
    this.#tell();
  }

  /** Begins a drag, however long it pauses: one step, which the returned function ends. */
  hold(): () => void {
    const before = this.#window;
    this.#isHeld = true;
    return () => {
      this.#isHeld = false;
      if (!this.#is(before)) this.#before.push(before);
      this.settle();
    };
  }

  /** Ends a move. */
  settle(): void {
    clearTimeout(this.#settling);
    if (!this.#isMoving) return;
    this.#isMoving = false;
    this.#tell();
  }

  /** Shows the window before the last step, or else the whole range. */
  back(): void {
    this.show(this.#before.pop() ?? null);
  }

  #is(window: Window | null): boolean {
    return window?.[0] === this.#window?.[0] && window?.[1] === this.#window?.[1];
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
