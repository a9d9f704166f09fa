/** Brush: strip below a figure over time with the silhouette of the whole run, and the window that figures show. */
import { h, svg } from "./dom";
import type { Silhouette } from "./figure";
import { quantity } from "./format";
import type { SharedWindow, Window } from "./shared-window";

const HEIGHT = 32;
/** Distance in pixels from an end of the window within which it is taken hold of. */
const GRIP = 7;
/** Least length in pixels of a window. */
const LEAST = 4;

type Part = "from" | "to" | "all" | "new";

/** Returns the window after a part of it was dragged from one time to another, within a range. */
export function dragged(
  part: Part,
  [from, to]: Window,
  start: number,
  end: number,
  range: Window,
  least: number,
): Window {
  const kept = (at: number, low = range[0], high = range[1]): number => Math.min(high, Math.max(low, at));
  if (part === "from") return [kept(end, range[0], to - least), to];
  if (part === "to") return [from, kept(end, from + least)];
  if (part === "all") {
    const moved = kept(from + end - start, range[0], range[1] - (to - from));
    return [moved, moved + (to - from)];
  }
  const [low, high] = [kept(Math.min(start, end)), kept(Math.max(start, end))];
  return high - low >= least ? [low, high] : [from, to];
}

export class Brush {
  readonly element = h("div", { class: "brush", "aria-hidden": "true" });
  readonly #shown = h("div", { class: "shown" });
  readonly #times = h("span", { class: "times" });
  #range: Window = [0, 1];
  /** Length in pixels of the range. */
  #length = 1;

  constructor(readonly time: SharedWindow) {
    this.#shown.append(this.#times);
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons === 0) this.element.dataset["part"] = this.#partAt(event);
    });
    this.element.addEventListener("dblclick", () => this.time.back());
    time.onChange(() => this.follow());
  }

  /** Draws the silhouette, aligned with the plots above. */
  draw(figure: Silhouette, range: Window, width: number): void {
    this.#range = range;
    this.#length = Math.max(1, width - figure.left - figure.right);
    const place = (at: number): number => ((at - range[0]) / (range[1] - range[0])) * this.#length;
    // The spike of the warm-up would flatten the rest: it is cut.
    const measured = figure.curves.flatMap(({ points }) =>
      points.flatMap(([x, y]) => (x >= figure.from && y !== null ? [y] : [])),
    );
    const most = measured.reduce((largest, y) => Math.max(largest, y), 0) || 1;
    const path = (points: Silhouette["curves"][number]["points"]): string => {
      let pen = "M";
      return points
        .map(([x, y]) => {
          if (y === null) {
            pen = "M";
            return "";
          }
          const level = HEIGHT - 2 - Math.min(1, y / most) * (HEIGHT - 5);
          // A line of no length with round ends is a dot.
          const to = `${place(x).toFixed(1)} ${level.toFixed(1)}`;
          const step = pen === "M" ? `M${to}h0` : `L${to}`;
          pen = "L";
          return step;
        })
        .join("");
    };
    this.element.replaceChildren(
      svg(
        "svg",
        { width: this.#length, height: HEIGHT, "aria-hidden": "true" },
        ...figure.rules.map((at) =>
          svg("path", { class: "rule", d: `M${place(at).toFixed(1)} 0v${HEIGHT}` }),
        ),
        ...figure.curves.map(({ points, colour }) => svg("path", { d: path(points), stroke: colour })),
      ),
      this.#shown,
    );
    Object.assign(this.element.style, { marginLeft: `${figure.left}px`, width: `${this.#length}px` });
    this.follow();
  }

  /** Marks the window of the page. */
  follow(): void {
    const [from, to] = this.#window;
    const share = (at: number): number =>
      Math.min(1, Math.max(0, (at - this.#range[0]) / (this.#range[1] - this.#range[0])));
    Object.assign(this.#shown.style, {
      left: `${100 * share(from)}%`,
      width: `${100 * (share(to) - share(from))}%`,
    });
    this.#times.textContent =
      this.time.window === null ? "" : `${quantity(from, "s", 4)} to ${quantity(to, "s", 4)}`;
  }

  get #window(): Window {
    return this.time.window ?? this.#range;
  }

  #at(event: PointerEvent): number {
    const x = event.clientX - this.element.getBoundingClientRect().left;
    return this.#range[0] + (x / this.#length) * (this.#range[1] - this.#range[0]);
  }

  #partAt(event: PointerEvent): Part {
    const at = this.#at(event);
    const grip = (GRIP / this.#length) * (this.#range[1] - this.#range[0]);
    const [from, to] = this.#window;
    if (Math.abs(at - to) <= grip) return "to";
    if (Math.abs(at - from) <= grip) return "from";
    return this.time.window !== null && from < at && at < to ? "all" : "new";
  }

  #drag(down: PointerEvent): void {
    if (down.button !== 0) return;
    down.preventDefault();
    const part = this.#partAt(down);
    const before = this.#window;
    const start = this.#at(down);
    const least = (LEAST / this.#length) * (this.#range[1] - this.#range[0]);
    const end = this.time.hold();
    this.element.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      const [from, to] = dragged(part, before, start, this.#at(event), this.#range, least);
      const isWhole = from <= this.#range[0] && to >= this.#range[1];
      this.time.move(isWhole ? null : [from, to]);
    };
    const up = (): void => {
      this.element.removeEventListener("pointermove", move);
      end();
    };
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("lostpointercapture", up, { once: true });
  }
}
