/** Numbers for readers: SI prefixes, significant digits, grouped thousands. */

/** Narrow no-break space, between a number and its unit and between groups of three digits. */
export const THIN = "\u202f";
/** Text for a missing number. */
export const NONE = "–";

const PREFIXES: [factor: number, prefix: string][] = [
  [1e-12, "p"],
  [1e-9, "n"],
  [1e-6, "µ"],
  [1e-3, "m"],
  [1, ""],
  [1e3, "k"],
  [1e6, "M"],
  [1e9, "G"],
  [1e12, "T"],
];

/** A unit with its prefix: `label` is the unit of a value divided by `factor`. */
interface Scale {
  factor: number;
  label: string;
}

/**
 * Returns the prefixes of a unit: only small ones for time (kiloseconds are not in use), only large ones for
 * data, none for counts.
 */
function prefixes(unit: string): [number, string][] {
  if (unit === "s") return PREFIXES.filter(([factor]) => factor <= 1);
  if (unit === "bit/s" || unit === "B/s" || unit === "bit" || unit === "B" || unit === "Hz") {
    return PREFIXES.filter(([factor]) => factor >= 1);
  }
  return [[1, ""]];
}

/** Units that are not shown behind a number: its heading names what is counted. */
const SILENT = ["packets", "fraction"];

/**
 * Returns the scale that suits a value of this magnitude: 0.012 s in ms, 9.98e6 bit/s in Mbit/s, a ratio in
 * %.
 */
export function scaleFor(magnitude: number, unit: string): Scale {
  const canonical = SILENT.includes(unit) ? "" : unit;
  if (canonical === "ratio") return { factor: 0.01, label: "%" };
  const known = prefixes(canonical);
  const size = Math.abs(magnitude);
  let best = known.find(([factor]) => factor === 1) ?? [1, ""];
  if (size > 0 && Number.isFinite(size)) {
    // With three digits 999.6 is shown as 1000, which belongs to the next prefix.
    best = known[0] ?? best;
    for (const entry of known) if (size >= entry[0] * 0.9995) best = entry;
  }
  return { factor: best[0], label: best[1] + canonical };
}

/** Groups the digits of the whole part in threes. */
function grouped(digits: string): string {
  const [whole = "", fraction] = digits.split(".");
  const sign = whole.startsWith("-") ? "−" : "";
  const bare = whole.replace("-", "");
  const parts = bare.length > 4 ? bare.replace(/\B(?=(\d{3})+$)/g, THIN) : bare;
  return sign + parts + (fraction === undefined ? "" : `.${fraction}`);
}

/**
 * Formats a number with `digits` significant digits, in exponent form only below 1e-4 and from 1e15; `padded`
 * keeps zeros at the end.
 */
export function significant(value: number | null | undefined, digits = 3, padded = false): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) {
    const [mantissa = "", exponent = "0"] = value.toExponential(digits - 1).split("e");
    return `${grouped(String(Number(mantissa)))}×10${superscript(String(Number(exponent)))}`;
  }
  const rounded = Number(value.toPrecision(digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  // Whole digits are never rounded: 12 345 packets are not 12 300.
  const shown = size >= 10 ** digits ? value.toFixed(0) : rounded.toFixed(Math.min(decimals, 20));
  return grouped(!padded && shown.includes(".") ? shown.replace(/\.?0+$/, "") : shown);
}

/** Writes digits, which may have a minus sign, as an exponent. */
export function superscript(digits: string): string {
  return [...digits].map((digit) => (digit === "-" ? "⁻" : ("⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? digit))).join("");
}

/** Formats a value with its unit and a suitable prefix: `12.3 ms`, `9.98 Mbit/s`, `0.12 %`. */
export function quantity(value: number | null | undefined, unit: string, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const scale = scaleFor(value, unit);
  const shown = significant(value / scale.factor, digits);
  return scale.label === "" ? shown : `${shown}${THIN}${scale.label}`;
}

/**
 * Returns the scale of a whole column or group of columns: that of a quarter of the largest value. No number
 * then has more than four whole digits, and 1.2 s beside 20 ms reads 1200 ms.
 */
export function columnScale(values: readonly (number | null)[], unit: string): Scale {
  return scaleFor(values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0) / 4, unit);
}

/** Formats `2026-11-21T05:00:00Z` as `21 November 2026, 05:00 UTC`; other texts are returned unchanged. */
export function date(iso: string): string {
  const time = new Date(iso);
  if (iso === "" || Number.isNaN(time.getTime())) return iso;
  const months =
    "January February March April May June July August September October November December".split(" ");
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${time.getUTCDate()} ${months[time.getUTCMonth()] ?? ""} ${time.getUTCFullYear()}, ${two(time.getUTCHours())}:${two(time.getUTCMinutes())} UTC`;
}

/** Formats a count with its noun: `1 flow`, `3 flows`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${grouped(String(count))} ${count === 1 ? noun : many}`;
}

/** Shortens a long text in its middle, because both ends of a path say more than its start. */
export function shortened(text: string, most: number): string {
  const symbols = [...text];
  if (symbols.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${symbols.slice(0, most - 1 - tail).join("")}…${tail > 0 ? symbols.slice(-tail).join("") : ""}`;
}

/** Returns a text with plain spaces, as readers type them and programs read them. */
export const spaced = (text: string): string => text.replaceAll("\u00a0", " ");

/** Returns a sentence with the sign of microseconds, which terminals and files have in ASCII. */
export const micro = (sentence: string): string => sentence.replace(/(\d[ \u202f])us\b/g, "$1µs");

/** Converts a name to a part of a file name: letters, digits and hyphens. */
export function slug(text: string): string {
  const bare = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return bare === "" ? "figure" : bare;
}
