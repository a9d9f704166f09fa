/**
 * Export of a figure as one self-contained SVG file: title, key, picture, caption with configuration and
 * date.
 */
import { chartToSvg, FONT } from "./chart";
import type { Figure, KeyGroup } from "./figure";
import { sample } from "./key";
import { type Ink, LIGHT } from "./palette";
import { xml } from "./xml";

const WIDTH = 960;
const MARGIN = 20;

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
