/**
 * Export of a figure as one self-contained SVG file: title, key, picture, caption with configuration and
 * date.
 */
import { chartToSvg, FONT } from "./chart";
import type { Figure, KeyEntry, KeyGroup } from "./figure";
import { type Ink, LIGHT } from "./palette";

const WIDTH = 960;
const MARGIN = 20;

/** Characters that XML 1.0 does not allow: control characters, and halves of surrogate pairs. */
const NOT_XML =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Escapes text for XML; characters that XML does not allow are removed. */
export function xml(text: string): string {
  return text
    .replace(NOT_XML, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Breaks a text into lines of at most `most` characters, at spaces if there are any. */
export function wrap(text: string, most: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    if (line !== "" && line.length + 1 + word.length > most) {
      lines.push(line);
      line = "";
    }
    let rest = line === "" ? word : `${line} ${word}`;
    while (rest.length > most) {
      lines.push(rest.slice(0, most));
      rest = rest.slice(most);
    }
    line = rest;
  }
  if (line !== "") lines.push(line);
  return lines;
}

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
    : `<line x1="1" y1="6" x2="25" y2="6" stroke="${colour}" stroke-width="${entry.thin ? 1 : 2}"${dash}/>`;
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

function keySvg(groups: readonly KeyGroup[], ink: Ink, top: number): { svg: string; height: number } {
  const parts: string[] = [];
  let x = MARGIN;
  let y = top;
  const advance = (width: number): void => {
    if (x > MARGIN && x + width > WIDTH - MARGIN) {
      x = MARGIN;
      y += 20;
    }
  };
  for (const group of groups) {
    if (group.entries.length === 0) continue;
    if (group.label !== "") {
      advance(group.label.length * 6.4 + 60);
      parts.push(`<text x="${x}" y="${y + 10}" fill="${ink.soft}" font-size="12">${xml(group.label)}</text>`);
      x += group.label.length * 6.4 + 10;
    }
    for (const entry of group.entries) {
      const width = 32 + entry.label.length * 6.6 + 12;
      advance(width);
      parts.push(
        `<g transform="translate(${x} ${y})">${sample(entry)}<text x="31" y="10" fill="${ink.text}" font-size="12">${xml(entry.label)}</text></g>`,
      );
      x += width;
    }
    x += 10;
  }
  return { svg: parts.join(""), height: parts.length === 0 ? 0 : y - top + 24 };
}

/**
 * Returns the whole file, of the visible window of the time axis. Its colours are always the light ones,
 * because it is meant for paper and documents.
 */
export function figureSvg(figure: Figure, configuration: string, window = figure.range): string {
  const ink = LIGHT;
  const inner = WIDTH - 2 * MARGIN;
  const drawing = figure.draw(ink, inner, window);
  const tall = figure.height(inner);
  const picture =
    "option" in drawing
      ? chartToSvg(drawing.option, inner, tall)
      : new XMLSerializer().serializeToString(drawing.element);
  const key = keySvg(figure.key(ink), ink, 44);
  const top = 48 + key.height;
  const lines = [...wrap(figure.caption, 150), ...wrap(figure.aside ?? "", 150), ...wrap(configuration, 150)];
  const height = top + tall + 14 + lines.length * 16 + 10;
  const placed = picture.replace(/^[\s\S]*?<svg/, `<svg x="${MARGIN}" y="${top}"`);
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n` +
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="${xml(FONT)}">` +
    `<title>${xml(figure.title)}</title><desc>${xml(`${figure.caption} ${configuration}`)}</desc>` +
    `<rect width="${WIDTH}" height="${height}" fill="${ink.page}"/>` +
    `<text x="${MARGIN}" y="30" font-size="17" font-weight="600" fill="${ink.text}">${xml(figure.title)}</text>` +
    key.svg +
    placed +
    lines
      .map(
        (line, index) =>
          `<text x="${MARGIN}" y="${top + tall + 22 + index * 16}" font-size="12" fill="${ink.soft}">${xml(line)}</text>`,
      )
      .join("") +
    `</svg>\n`
  );
}
