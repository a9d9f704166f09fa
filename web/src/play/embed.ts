/**
 * The page within another page: `<iframe src="play.html#embed=figure&example=home">` shows one part of it.
 *
 *     embed=figure    verdict, figure over time, and the sliders
 *     embed=verdict   verdict, table of the expectations, and the sliders
 *     embed=step      the steps of a port
 *
 * Any other name shows the figure. A link below leads to the whole page.
 */
import { h } from "../dom";

const PARTS = ["figure", "verdict", "step"] as const;

/** Leaves only a part of the page, if its address asks for one. `link` returns the address of the whole page. */
export function embedded(root: HTMLElement, asked: string | null, link: () => Promise<string>): void {
  if (asked === null) return;
  const part = PARTS.find((one) => one === asked) ?? "figure";
  document.documentElement.dataset["embed"] = part;
  const whole = h("a", { href: location.href, target: "_blank", rel: "noopener" }, "Open in the playground");
  const lead = async (): Promise<void> => {
    // A text that no link carries leaves that of the part.
    whole.href = await link().catch(() => whole.href);
  };
  // The address changes with every slider: it is made when the link is about to be followed.
  for (const event of ["pointerenter", "focus", "pointerdown"])
    whole.addEventListener(event, () => void lead());
  root.append(h("p", { class: "whole-page note" }, whole));
}
