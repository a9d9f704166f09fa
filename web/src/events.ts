/** Events of a run in words: in full for tables, short for the rules in a picture, and where those short labels have room. */
import { shortened } from "./format";

/** What is said of an event, in a report as on the page of a running run. */
export interface Told {
  kind: string;
  path: string;
  value: string;
  text: string;
}

/** An event in a line: what was set to what, or what was said. */
export function eventText(event: Told): string {
  const setting =
    event.path !== "" ? `${event.path}${event.value !== "" ? ` = ${event.value}` : ""}` : event.value;
  return [setting, event.text].filter((part) => part !== "").join(" — ") || event.kind;
}

const segments = (path: string): string[] =>
  (path.match(/"[^"]*"|'[^']*'|[^.]+/g) ?? []).map((segment) => segment.replace(/^["']|["']$/g, ""));

/** Letters of a short label at most. */
const SHORT = 30;

/** An event as it stands beside its rule: `root → fair`, `voice limit → 20p`, `web.owd.p95 missed`. */
export function eventLabel(event: Told): string {
  if (event.path === "") return shortened(event.text || event.value || event.kind, SHORT);
  if (event.kind === "expect")
    return shortened(`${event.path.replace(/^(flow|port|group)\./, "")} missed`, SHORT);
  // Several that were set at once stand joined; the first is shown and the others are counted.
  const [path = "", ...others] = event.path.split(", ");
  const [key = "", owner = ""] = segments(path).reverse();
  const value = others.length > 0 ? event.value.split(", ")[0] : event.value;
  return `${shortened(`${key === "root" ? key : `${owner} ${key}`} → ${value}`, SHORT)}${others.length > 0 ? ` +${others.length}` : ""}`;
}

/** A label that has room: beside which rule it stands, and whether it ends there instead of beginning. */
export interface Placed {
  index: number;
  text: string;
  ends: boolean;
}

/** Width of a letter at 11 pixels, on the safe side, and of ` +9`. */
const LETTER = 6.4;
const MORE = 3;

/** Labels beside rules at `xs`, which do not decrease; one that would cover its neighbour is counted there: `root → fair +2`. */
export function placeLabels(texts: readonly string[], xs: readonly number[], width: number): Placed[] {
  const placed: (Placed & { end: number; more: number })[] = [];
  texts.forEach((text, index) => {
    const x = xs[index] ?? -1;
    if (x < 0 || x > width) return;
    const size = ([...text].length + MORE) * LETTER;
    const ends = x + size > width;
    const last = placed.at(-1);
    if (last && (ends ? x - size : x) < last.end) last.more += 1;
    else placed.push({ index, text, ends, end: ends ? x : x + size, more: 0 });
  });
  return placed.map(({ index, text, ends, more }) => ({
    index,
    text: more > 0 ? `${text} +${more}` : text,
    ends,
  }));
}
