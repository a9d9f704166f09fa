/** Button that saves the card of a run: one picture of its verdict, its delay and its command, made in Rust. */
import { announce, download, h } from "../dom";
import { slug } from "../format";
import type { Report } from "../report";

/** Returns a PNG of an SVG document, at its own size. */
async function pngOf(card: string): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(card)}`;
  await image.decode();
  const canvas = h("canvas", { width: image.naturalWidth, height: image.naturalHeight });
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Saves a blob as a file. */
function save(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Returns the button with its two forms; null for a report without a card. */
export function share({ card = "", title }: Report): HTMLElement | null {
  if (card === "") return null;
  const name = `${slug(title)}-card`;
  const png = async (): Promise<void> => {
    const blob = await pngOf(card).catch(() => null);
    if (blob) save(`${name}.png`, blob);
    else announce("This browser draws no PNG: take the SVG.");
  };
  return h(
    "details",
    { class: "share" },
    h("summary", {}, "Share"),
    h(
      "div",
      {},
      h("button", { type: "button", onclick: () => void png() }, "Picture (PNG)"),
      h(
        "button",
        { type: "button", onclick: () => download(`${name}.svg`, "image/svg+xml", card) },
        "Picture (SVG)",
      ),
    ),
  );
}
