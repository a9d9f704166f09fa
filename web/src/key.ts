/** Keys of figures: samples of strokes and marks, and the entries beside which they stand. */
import { h } from "./dom";
import type { KeyEntry, KeyGroup } from "./figure";
import { xml } from "./xml";

/** Returns the sample of a key entry, 26 by 12 pixels: a stroke as in the figure, a swatch, or a dot. */
export function sample(entry: KeyEntry): string {
  const colour = xml(entry.colour);
  if (entry.kind === "swatch" && entry.dash) {
    const fill = entry.hollow === undefined ? "none" : colour;
    return `<rect x="7" y="1" width="12" height="10" fill="${fill}" fill-opacity="0.25" stroke="${colour}" stroke-width="1.5" stroke-dasharray="${entry.dash.map((length) => length / 2).join(" ")}"/>`;
  }
  if (entry.kind === "swatch") return `<rect x="7" y="1" width="12" height="10" rx="1.5" fill="${colour}"/>`;
  if (entry.kind === "dot")
    return `<circle cx="13" cy="6" r="4.5" fill="none" stroke="${colour}" stroke-width="2.5"/>`;
  const dash = entry.dash ? ` stroke-dasharray="${entry.dash.join(" ")}"` : "";
  const bare = entry.dash?.[0] !== undefined && entry.dash[0] < 0.1;
  const line = bare
    ? ""
    : `<line x1="1" y1="6" x2="25" y2="6" stroke="${colour}" stroke-width="${entry.width ?? (entry.thin ? 1 : 2)}"${dash}/>`;
  const paint =
    entry.hollow === undefined
      ? `fill="${colour}"`
      : `fill="${xml(entry.hollow)}" stroke="${colour}" stroke-width="1.6"`;
  return line + mark(entry.mark ?? null, paint);
}

function mark(name: string | null, paint: string): string {
  switch (name) {
    case null:
      return "";
    case "pin":
      return `<path d="M13 11 L9.8 5.4 A3.6 3.6 0 1 1 16.2 5.4 Z" ${paint}/>`;
    case "arrow":
      return `<path d="M13 1 L17 11 L13 8.5 L9 11 Z" ${paint}/>`;
    case "triangle":
      return `<path d="M13 2 L17 10 L9 10 Z" ${paint}/>`;
    case "rect":
      return `<rect x="9.5" y="2.5" width="7" height="7" ${paint}/>`;
    case "diamond":
      return `<path d="M13 1 L17 6 L13 11 L9 6 Z" ${paint}/>`;
    default:
      return `<circle cx="13" cy="6" r="3.5" ${paint}/>`;
  }
}

/** Returns the sample of a key entry as an element. */
export function drawSample(entry: KeyEntry): HTMLElement {
  const picture = h("span", { class: "sample", "aria-hidden": "true" });
  // Safe as HTML: the text is built from colours and numbers, never from names.
  picture.innerHTML = `<svg width="26" height="12" viewBox="0 0 26 12">${sample(entry)}</svg>`;
  return picture;
}

/** Draws the key of a figure. Entries that name a flow are buttons that show it alone. */
export function drawKey(groups: readonly KeyGroup[], solo: (flow: string) => void): HTMLElement[] {
  return groups
    .filter((group) => group.entries.length > 0)
    .map((group) =>
      h(
        "span",
        { class: "group" },
        group.label === "" ? null : h("span", { class: "group-name" }, group.label),
        ...group.entries.map((entry) => {
          const picture = drawSample(entry);
          const { flow } = entry;
          return flow === undefined
            ? h("span", { class: "entry" }, picture, h("span", { class: "name" }, entry.label))
            : h(
                "button",
                {
                  type: "button",
                  class: "entry",
                  title: `Show ${flow} alone; again: show what was shown`,
                  onclick: () => solo(flow),
                },
                picture,
                h("span", { class: "name" }, entry.label),
              );
        }),
      ),
    );
}
