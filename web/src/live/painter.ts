/** Times at which the page draws: pictures in parts, with rests between them. */

/** Least time between two pictures. */
const FRAME_MS = 33;
/**
 * After a picture, the page rests for this many times the drawing time: drawing must not slow down a run on
 * the same machine.
 */
const REST = 15;
/** Time in milliseconds after which a frame leaves the rest of a picture to the next one. */
const PART_MS = 5;

/** Draws pictures when they are asked for: at most thirty a second, and fewer if drawing uses much processor time. */
export class Painter {
  #queued = false;
  /** True while a picture is drawn, which may take several frames. */
  #isDrawing = false;
  /** Earliest time of the next picture. */
  #rested = 0;

  /** `draw` begins a picture and returns its parts. */
  constructor(readonly draw: () => Iterator<void>) {}

  /** Requests a picture. */
  ask(): void {
    if (this.#queued) return;
    this.#queued = true;
    if (!this.#isDrawing) this.#begin();
  }

  /** Begins the picture that was asked for, when the page has rested. */
  #begin(): void {
    window.setTimeout(
      () =>
        requestAnimationFrame(() => {
          this.#queued = false;
          this.#isDrawing = true;
          this.#drawOn(this.draw(), 0);
        }),
      Math.max(0, this.#rested - performance.now()),
    );
  }

  /**
   * Draws parts of a picture in this frame, and the others in the next ones: a frame begins no further part once it
   * has used `PART_MS`. `spent` is the time in milliseconds that the picture has taken before.
   */
  #drawOn(parts: Iterator<void>, spent: number): void {
    const begun = performance.now();
    const used = (): number => performance.now() - begun;
    let isDone = true;
    try {
      do isDone = parts.next().done === true;
      while (!isDone && used() < PART_MS);
    } finally {
      const all = spent + used();
      if (isDone) {
        this.#isDrawing = false;
        this.#rested = performance.now() + Math.min(500, Math.max(FRAME_MS, REST * all)) - all;
        if (this.#queued) this.#begin();
      } else requestAnimationFrame(() => this.#drawOn(parts, all));
    }
  }
}
