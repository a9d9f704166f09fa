/** A figure on the page: title, choices, key, picture, caption, its data as a table, and its download. */
import type { ECharts } from "echarts/core";
import { Brush } from "./brush";
import { makeChart, setUnpainted } from "./chart";
import { download, h } from "./dom";
import { figureSvg } from "./export";
import type { Choice, Figure, Make, Settings } from "./figure";
import { slug } from "./format";
import { drawKey } from "./key";
import type { Selection } from "./selection";
import type { SharedWindow, Window } from "./shared-window";
import { makeTable } from "./table";
import type { Theme } from "./theme";

/** Data that all frames of a page share. */
export interface Context {
  selection: Selection;
  theme: Theme;
  /** Window of all figures over time. */
  time: SharedWindow;
  /** Calls a function in a task of its own; without it, figures are drawn at once. */
  later?: (work: () => void) => void;
  /** Configuration and date: the end of every caption in a file and on paper. */
  configuration: string;
}

/** Distance in pixels below the screen at which a figure is drawn. */
const AHEAD = 600;
/** Length in pixels from which a drag selects a part of the time. */
const DRAG = 5;

export class Frame {
  readonly element: HTMLElement;
  readonly #title = h("h3");
  readonly #choices = h("span", { class: "choices" });
  readonly #key = h("div", { class: "key" });
  readonly #picture = h("div", { class: "picture" });
  readonly #data = h("div", { class: "data", hidden: true });
  readonly #caption = h("figcaption");
  readonly #tableButton = h(
    "button",
    { type: "button", "aria-expanded": "false", onclick: () => this.#toggleTable() },
    "Data",
  );
  readonly #settings: Settings = {};
  #figure: Figure;
  #chart: ECharts | null = null;
  #width = 0;
  /** Strip below the picture; null if it is not over time, or draws none. */
  #brush: Brush | null = null;
  /** Frame in which the figure follows the window of the page; 0 if none is asked for. */
  #pending = 0;
  /** True if the figure has been near the screen, and is drawn. */
  #seen = false;
  #isNear = false;
  /** True if the window of the page is another than the one drawn, or was drawn coarsely. */
  #isBehind = false;
  /** True if the selection or the theme changed since it was drawn. */
  #stale = true;
  /** True while a task that makes it again is awaited. */
  #isAwaited = false;

  constructor(
    readonly make: Make,
    readonly context: Context,
  ) {
    this.#figure = make(context.selection.view(), this.#settings);
    const saving = h(
      "button",
      {
        type: "button",
        class: "save",
        title: "Download this figure as an SVG file",
        onclick: () => this.save(),
      },
      "SVG",
    );
    const tools = h("span", { class: "buttons" }, this.#zoomButtons(), this.#tableButton, saving);
    this.element = h(
      "figure",
      { id: `figure-${this.#figure.id}`, "data-figure": this.#figure.id },
      h("header", {}, this.#title, h("span", { class: "tools" }, this.#choices, tools)),
      this.#key,
      this.#picture,
      this.#data,
      this.#caption,
    );
    if (this.#figure.brush) {
      this.#brush = new Brush(context.time);
      this.#picture.after(this.#brush.element);
    }
    context.selection.onChange(() => this.refreshSoon());
    context.theme.onChange(() => this.refresh());
    context.selection.onLight((flows) => this.#light(flows));
    new ResizeObserver(() => this.fit()).observe(this.#picture);
    this.#whenNear();
    if (this.#figure.zoom) {
      this.#picture.addEventListener("keydown", (event) => this.#press(event));
      this.#picture.addEventListener("pointerdown", (event) => this.#drag(event));
      this.#picture.addEventListener("dblclick", () => this.context.time.back());
      this.#picture.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
      context.time.onChange(() => this.#follow());
    }
    this.#dress();
  }

  /** Draws the figure when it comes near the screen, and again if the page's window moved while it was far. */
  #whenNear(): void {
    const observer = new IntersectionObserver(
      (entries) => {
        this.#isNear = entries.at(-1)?.isIntersecting === true;
        if (!this.#isNear) return;
        if (!this.#seen) this.show();
        else if (this.#isBehind) this.#cut();
        if (!this.#figure.zoom) observer.disconnect();
      },
      { rootMargin: `${AHEAD}px` },
    );
    observer.observe(this.element);
  }

  /** Draws the figure wherever it is, as for paper. */
  show(): void {
    if (this.#seen) return;
    this.#seen = true;
    this.fit();
  }

  /** Makes the figure again from the current selection, and draws it unless it has never been near the screen. */
  refresh(): void {
    this.#remake();
    this.fit();
  }

  /** Does `refresh`, in three tasks if the page wants short ones. */
  refreshSoon(): void {
    const { later } = this.context;
    if (!later) {
      this.refresh();
      return;
    }
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    later(() => {
      this.#isAwaited = false;
      this.#remake();
      // A change of the width is observed: to read it here would lay the page out.
      later(() => this.fit(this.#width || this.width));
    });
  }

  #remake(): void {
    this.#stale = true;
    this.#figure = this.make(this.context.selection.view(), this.#settings);
    this.#dress();
  }

  /** Width in pixels that the picture has on the page. */
  get width(): number {
    return Math.floor(this.#picture.clientWidth);
  }

  /** Redraws if the width has changed. */
  fit(width = this.width): void {
    if (width < 40 || (width === this.#width && !this.#stale)) return;
    this.#width = width;
    this.#keepRoom();
    this.#stale = !this.#seen;
    if (this.#seen) this.#draw();
  }

  /** Keeps room for the picture before it is drawn, so that what is below never moves from under a pointer. */
  #keepRoom(): void {
    const { empty } = this.#figure;
    this.#picture.style.minHeight = empty === null ? `${this.#figure.height(this.#width)}px` : "";
  }

  /** Draws at once, because a printer does not wait for the next animation frame. */
  flush(): void {
    this.#chart?.getZr().flush();
  }

  save(): void {
    const { title } = this.context.selection.report;
    download(
      `${slug(title)}-${slug(this.#figure.id)}.svg`,
      "image/svg+xml",
      figureSvg(this.#figure, this.context.configuration, this.context.time.window ?? this.#figure.range),
    );
  }

  /** Shows everything but the picture: title, choices, key and caption. */
  #dress(): void {
    const figure = this.#figure;
    const { ink } = this.context.theme;
    this.#title.textContent = figure.title;
    this.#caption.replaceChildren(
      figure.caption,
      " ",
      h("span", { class: "configuration" }, this.context.configuration),
    );
    this.#choices.replaceChildren(
      ...(figure.empty === null ? figure.choices.map((choice) => this.#choice(choice)) : []),
    );
    this.#key.replaceChildren(
      ...(figure.empty === null ? drawKey(figure.key(ink), (flow) => this.context.selection.solo(flow)) : []),
    );
    this.element.classList.toggle("empty", figure.empty !== null);
    if (figure.empty !== null) this.#caption.replaceChildren();
    if (!this.#data.hidden) this.#fillTable();
    this.#keepRoom();
    if (figure.empty === null) return;
    this.#dispose();
    this.#picture.replaceChildren(h("p", { class: "nothing" }, figure.empty));
  }

  #draw(): void {
    const figure = this.#figure;
    if (figure.empty !== null) return;
    const { ink } = this.context.theme;
    const height = figure.height(this.#width);
    const drawing = figure.draw(ink, this.#width, this.#window ?? undefined);
    if ("element" in drawing) {
      this.#dispose();
      drawing.element.setAttribute("role", "img");
      drawing.element.setAttribute("aria-label", `${figure.title}. ${figure.caption}`);
      this.#picture.replaceChildren(drawing.element);
      return;
    }
    if (!this.#chart) {
      this.#picture.replaceChildren();
      this.#chart = makeChart(this.#picture, this.#width, height);
    } else if (this.#chart.getWidth() !== this.#width || this.#chart.getHeight() !== height) {
      // Draws what it has anew: not needed, and as long as the picture itself, if only the data are others.
      this.#chart.resize({ width: this.#width, height });
    }
    const { later } = this.context;
    const chart = this.#chart;
    if (later)
      later(() => {
        // The figure may be another one by now, or none.
        if (this.#chart === chart && this.#figure === figure) setUnpainted(chart, drawing.option);
        this.#drawn(figure);
      });
    else {
      chart.setOption(drawing.option, { notMerge: true });
      this.#drawn(figure);
    }
  }

  /** Completes a picture: its words, and the strip below it. */
  #drawn(figure: Figure): void {
    this.#isBehind = false;
    this.#describe(figure);
    const { ink } = this.context.theme;
    if (figure.brush && figure.range)
      this.#brush?.draw(figure.brush(ink, this.#width), figure.range, this.#width);
  }

  #describe(figure: Figure): void {
    const picture = this.#picture;
    picture.setAttribute("role", figure.zoom ? "application" : "img");
    const keys = figure.zoom
      ? " Arrow keys move along the time axis, plus and minus zoom, 0 shows all of it."
      : "";
    picture.setAttribute(
      "aria-label",
      `${figure.title}. ${figure.caption}${keys} The numbers are in the table under “Data”.`,
    );
    if (figure.zoom) picture.tabIndex = 0;
    picture.querySelector("svg")?.setAttribute("aria-hidden", "true");
  }

  #dispose(): void {
    this.#chart?.dispose();
    this.#chart = null;
    this.#brush?.element.replaceChildren();
  }

  #choice(choice: Choice): HTMLElement {
    const buttons = choice.options.map((option) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(option === choice.chosen),
          onclick: () => {
            this.#settings[choice.name] = option;
            const had = this.#choices.contains(document.activeElement);
            this.refresh();
            if (had)
              this.#choices
                .querySelector<HTMLElement>(`[data-choice="${choice.name}"] [aria-pressed="true"]`)
                ?.focus();
          },
        },
        option,
      ),
    );
    return h(
      "span",
      { class: "choice", role: "group", "aria-label": choice.label, "data-choice": choice.name },
      h("span", {}, choice.label),
      ...buttons,
    );
  }

  // Table of the data behind the picture.

  #toggleTable(): void {
    this.#data.hidden = !this.#data.hidden;
    this.#tableButton.setAttribute("aria-expanded", String(!this.#data.hidden));
    if (!this.#data.hidden) this.#fillTable();
  }

  #fillTable(): void {
    const { columns, rows } = this.#figure.table();
    this.#data.replaceChildren(
      makeTable({ name: "points", columns: columns.map((title) => ({ title })), rows, limit: 60 }),
    );
  }

  // Controls of the window of the time axis.

  #zoomButtons(): HTMLElement | null {
    if (!this.#figure.zoom) return null;
    const button = (label: string, name: string, key: string): HTMLElement =>
      h(
        "button",
        { type: "button", "aria-label": name, title: `${name} (${key})`, onclick: () => this.#step(key) },
        label,
      );
    return h(
      "span",
      { class: "zoom" },
      button("◂", "Earlier", "ArrowLeft"),
      button("▸", "Later", "ArrowRight"),
      button("−", "Zoom out", "-"),
      button("+", "Zoom in", "+"),
      button("All", "Show all of the time", "0"),
    );
  }

  #press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.#step(event.key)) event.preventDefault();
  }

  #step(key: string): boolean {
    const range = this.#figure.range;
    if (!range) return false;
    const [from, to] = this.context.time.window ?? range;
    const span = to - from;
    const middle = (from + to) / 2;
    const moved = (by: number): Window => {
      const start = Math.min(Math.max(range[0], from + by), range[1] - span);
      return [start, start + span];
    };
    const sized = (by: number): Window => [
      Math.max(range[0], middle - (span * by) / 2),
      Math.min(range[1], middle + (span * by) / 2),
    ];
    const next: Record<string, Window> = {
      ArrowLeft: moved(-span / 5),
      ArrowRight: moved(span / 5),
      "+": sized(0.5),
      "=": sized(0.5),
      "-": sized(2),
      "0": range,
    };
    const window = next[key];
    if (!window || !this.#chart) return false;
    this.context.time.show(window[0] === range[0] && window[1] === range[1] ? null : window);
    return true;
  }

  /** Window of the page, or the whole range of a figure over time. */
  get #window(): Window | null {
    return this.#figure.zoom ? (this.context.time.window ?? this.#figure.range ?? null) : null;
  }

  /** Shows the window of the page in the next animation frame; far from the screen, when the figure comes near. */
  #follow(): void {
    this.#isBehind = true;
    if (!this.#chart || !this.#isNear || this.#pending !== 0) return;
    this.#pending = requestAnimationFrame(() => {
      this.#pending = 0;
      this.#cut();
    });
  }

  #cut(): void {
    const window = this.#window;
    if (!this.#figure.zoom || !window || !this.#chart) return;
    const { isMoving } = this.context.time;
    this.#isBehind = isMoving;
    const option = this.#figure.zoom(this.context.theme.ink, window, isMoving);
    // Series that a moving window leaves out are removed, because each costs time in every picture, drawn or not.
    const replaceMerge = this.#figure.zoomsSeries ? ["series"] : [];
    this.#chart.setOption(option, { silent: true, replaceMerge });
    // In this frame, and not in the next one, in which the pointer may have moved again.
    this.#chart.getZr().flush();
  }

  #light(flows: readonly string[] | null): void {
    const option = this.#isNear ? this.#figure.light?.(this.context.theme.ink, flows) : undefined;
    if (option) this.#chart?.setOption(option, { silent: true });
  }

  /** Zooms around the pointer by Ctrl and the wheel. */
  #wheel(event: WheelEvent): void {
    const { range } = this.#figure;
    const window = this.#window;
    if (!event.ctrlKey || !this.#chart || !range || !window) return;
    event.preventDefault();
    const x = event.clientX - this.#picture.getBoundingClientRect().left;
    const at = Math.min(
      window[1],
      Math.max(window[0], Number(this.#chart.convertFromPixel({ xAxisIndex: 0 }, x))),
    );
    const by = 2 ** (event.deltaY / 240);
    const [from, to] = [
      Math.max(range[0], at - (at - window[0]) * by),
      Math.min(range[1], at + (window[1] - at) * by),
    ];
    if (!(to - from > (range[1] - range[0]) * 1e-6)) return;
    this.context.time.move(from <= range[0] && to >= range[1] ? null : [from, to]);
  }

  /** Selects a part of the time by a drag over the curves; a double click leads back. */
  #drag(down: PointerEvent): void {
    const chart = this.#chart;
    const { range } = this.#figure;
    if (!chart || !range || down.button !== 0 || down.pointerType === "touch") return;
    const box = this.#picture.getBoundingClientRect();
    const at = (event: PointerEvent): number => event.clientX - box.left;
    if (!chart.containPixel({ gridIndex: "all" }, [at(down), down.clientY - box.top])) return;
    const from = at(down);
    const band = h("div", { class: "drag", "aria-hidden": "true" });
    const move = (event: PointerEvent): void => {
      if (Math.abs(at(event) - from) < DRAG) return;
      if (!band.isConnected) this.#picture.append(band);
      band.style.left = `${Math.min(from, at(event))}px`;
      band.style.width = `${Math.abs(at(event) - from)}px`;
    };
    const up = (event: PointerEvent): void => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      band.remove();
      if (Math.abs(at(event) - from) < DRAG) return;
      const ends = [from, at(event)].map((x) => Number(chart.convertFromPixel({ xAxisIndex: 0 }, x)));
      const [low, high] = [Math.min(...ends), Math.max(...ends)];
      const window: Window = [Math.max(range[0], low), Math.min(range[1], high)];
      if (window[0] < window[1]) this.context.time.show(window, true);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }
}
