/** Laws of a page's layout, read from the page as a reader sees it: no text over text, none cut off, nothing too wide. */
import type { Page } from "playwright-core";

/** Widths from a small phone to a large screen; four of them unless `LOCKGATE_WIDTHS=all`. */
export const WIDTHS: readonly number[] =
  process.env["LOCKGATE_WIDTHS"] === "all"
    ? Array.from({ length: 19 }, (_, at) => Math.round(320 + (1600 * at) / 18))
    : [320, 764, 1031, 1476];

/** Times that a test may take at all widths in place of four, on a busy machine. */
export const LONGER = WIDTHS.length > 4 ? 12 : 1;

/** Time that a page has to follow a width, in ms: figures are drawn again in the browser's own time. */
const SETTLES_MS = 10_000;

/** Returns what breaks the laws at this moment. */
const faultsNow = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts: { of: Element; text: string; box: DOMRect }[] = [];
    const found: string[] = [];
    const over = document.documentElement.scrollWidth - innerWidth;
    if (over > 0) found.push(`the page is ${over} pixels wider than the screen`);
    const isHidden = (element: Element): boolean => {
      const style = getComputedStyle(element);
      return style.visibility === "hidden" || Number(style.opacity) === 0 || style.position === "sticky";
    };
    /** Edge at which a text is cut: that of the next box that hides what is beyond it; none in a box that scrolls. */
    const edgeOf = (of: Element): { left: number; right: number } | null => {
      for (let one: Element | null = of; one; one = one.parentElement) {
        const { overflowX, textOverflow } = getComputedStyle(one);
        // What ends in an ellipsis says so, and has a title.
        if (textOverflow === "ellipsis" || overflowX === "auto" || overflowX === "scroll") return null;
        if (overflowX === "hidden" || overflowX === "clip") return one.getBoundingClientRect();
      }
      return { left: 0, right: innerWidth };
    };
    const walker = document.createTreeWalker(document.querySelector("main") as Element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const of = node.parentElement;
      const text = node.textContent?.trim() ?? "";
      if (!of || text === "" || isHidden(of)) continue;
      // Folded, for readers of screens alone, or in a box that scrolls.
      if (of.closest("title, .skip, .offscreen, details:not([open]) > :not(summary), .brush")) continue;
      const scrolls = of.closest(".scroll, .wide, .cm-scroller, pre, .events") !== null;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        if (box.width <= 2 || box.height <= 2) continue;
        if (!scrolls) texts.push({ of, text, box });
        const edge = scrolls ? null : edgeOf(of);
        // A box of a pixel, or one far beyond the screen, is for readers of screens.
        if (box.right < -100) continue;
        if (
          edge &&
          edge.right - edge.left > 2 &&
          (box.right > edge.right + 1.5 || box.left < edge.left - 1.5)
        )
          found.push(`“${text}” is cut`);
      }
    }
    texts.forEach((one, at) => {
      for (const other of texts.slice(at + 1)) {
        if (one.of === other.of || one.of.contains(other.of) || other.of.contains(one.of)) continue;
        const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        if (wide > 2 && high > 4) found.push(`“${one.text}” over “${other.text}”`);
      }
    });
    return [...new Set(found)];
  });

/** Returns what breaks the laws once the page stands: pairs of texts over each other, texts cut off, a page too wide. */
export async function layoutFaults(page: Page): Promise<string[]> {
  const end = Date.now() + SETTLES_MS;
  let found = await faultsNow(page);
  while (found.length > 0 && Date.now() < end) {
    await page.waitForTimeout(100);
    found = await faultsNow(page);
  }
  return found;
}

/** Brings every figure of a page near the screen in turn, until it is drawn; none has to stand still meanwhile. */
export const drawFigures = (page: Page): Promise<void> =>
  page.evaluate(async (settles) => {
    /** Whether nothing is left to draw: a figure may also be hidden, or replaced, while the page follows a width. */
    const isDone = (figure: Element): boolean =>
      !figure.checkVisibility() ||
      !figure.matches("[data-figure]") ||
      figure.querySelector(".picture :is(svg, .nothing)") !== null;
    for (const figure of document.querySelectorAll("main figure")) {
      const end = performance.now() + settles;
      do {
        figure.scrollIntoView({ block: "center" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      } while (!isDone(figure) && performance.now() < end);
    }
  }, SETTLES_MS);

/** Sets the width of a page, and waits two frames. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.evaluate(
    () =>
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))),
  );
}
