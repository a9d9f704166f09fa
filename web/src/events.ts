/**
 * Events as text: in full for tables, short for the rules of a figure, and the placement of the short labels.
 */
import { quantity, shortened } from "./format";

/** Fields of an event that its text needs, in a report and on the page of a running run. */
interface EventFields {
  kind: string;
  path: string;
  value: string;
  text: string;
}

/** Returns an event in one line: the setting and its new value, or the message. */
export function eventText(event: EventFields): string {
  const setting =
    event.path !== "" ? `${event.path}${event.value !== "" ? ` = ${event.value}` : ""}` : event.value;
  return [setting, event.text].filter((part) => part !== "").join(" — ") || event.kind;
}

const segments = (path: string): string[] =>
  (path.match(/"[^"]*"|'[^']*'|[^.]+/g) ?? []).map((segment) => segment.replace(/^["']|["']$/g, ""));

/** Longest short label, in characters. */
const SHORT = 34;

/** Step of a controller: `port wan: 7mbit -> 3mbit: the line is queueing: less is …; delay 9 ms above its usual`; with `would be set`, it is only observed. */
const STEP = /^port \S+: ([\d.]+)([kmg]?)bit -> ([\d.]+)([kmg]?)bit( would be set)?: ([^:;]+)/;
const UNITS: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9 };

/** A step of a controller: its rates in bits per second, and its reason in a few words. */
export interface Step {
  from: number;
  to: number;
  why: string;
  applied: boolean;
}

/** Returns a controller's step from its event; null for any other event. */
export function stepOf({ path, text }: EventFields): Step | null {
  const found = STEP.exec(path === "" ? text : "");
  if (found === null) return null;
  const [, from, fromUnit = "", to, toUnit = "", observed, why = ""] = found;
  const rate = (number: string | undefined, unit: string) => Number(number) * (UNITS[unit] ?? 1);
  return { from: rate(from, fromUnit), to: rate(to, toUnit), why, applied: observed === undefined };
}

/**
 * Returns the label of an event's rule: `router:client → fair`, `voice limit → 20p`, `web.owd.p95 missed`, of a controller's step
 * `3 Mbit/s: the line is queueing`, or `would be 3 Mbit/s`.
 */
export function eventLabel(event: EventFields): string {
  const step = stepOf(event);
  if (step !== null) {
    const rate = quantity(step.to, "bit/s");
    return step.applied ? shortened(`${rate}: ${step.why}`, SHORT) : `would be ${rate}`;
  }
  if (event.path === "") return shortened(event.text || event.value || event.kind, SHORT);
  if (event.kind === "expect")
    return shortened(`${event.path.replace(/^(flow|port|group)\./, "")} missed`, SHORT);
  // Settings that were made together are joined: the first is shown, and the others are counted.
  const [path = "", ...others] = event.path.split(", ");
  const [key = "", owner = ""] = segments(path).reverse();
  const value = others.length > 0 ? event.value.split(", ")[0] : event.value;
  return `${shortened(`${key === "root" ? owner : `${owner} ${key}`} → ${value}`, SHORT)}${others.length > 0 ? ` +${others.length}` : ""}`;
}

/** A label with room: the rule beside which it stands, and whether it ends there instead of beginning. */
export interface Placed {
  index: number;
  text: string;
  ends: boolean;
}

/** Widths in pixels, with a margin: of a character at a font size of 11 pixels, and of ` +9`. */
const LETTER = 6.4;
const MORE = 3;

/** Returns a label without the count of settings behind it, and how many settings it stands for. */
function counted(text: string): [stem: string, settings: number] {
  const [, stem = text, more = "0"] = /^(.*) \+(\d+)$/.exec(text) ?? [];
  return [stem, 1 + Number(more)];
}

/**
 * Places labels beside rules at `xs`, which must not decrease. A label that would cover its neighbour is
 * counted there instead: `root → fair +2`.
 */
export function placeLabels(texts: readonly string[], xs: readonly number[], width: number): Placed[] {
  const placed: (Placed & { end: number; settings: number })[] = [];
  texts.forEach((text, index) => {
    const x = xs[index] ?? -1;
    if (x < 0 || x > width) return;
    const size = ([...text].length + MORE) * LETTER;
    const ends = x + size > width;
    const last = placed.at(-1);
    const [stem, settings] = counted(text);
    if (last && (ends ? x - size : x) < last.end) last.settings += settings;
    else placed.push({ index, text: stem, ends, end: ends ? x : x + size, settings });
  });
  return placed.map(({ index, text, ends, settings }) => ({
    index,
    text: settings > 1 ? `${text} +${settings - 1}` : text,
    ends,
  }));
}
