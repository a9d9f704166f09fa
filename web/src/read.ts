/** Tolerant reading of JSON: a value of the wrong type counts as missing. */

/** A column of a series: a missing sample is null, and is drawn as a gap. */
export type Numbers = (number | null)[];

export type Raw = Record<string, unknown>;

/** Fields of a value that should be a `T`: the compiler checks their names; their contents are unknown. */
export type Fields<T> = { [name in keyof T]?: unknown };

export const record = <T = Raw>(value: unknown): Fields<T> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields<T>) : {};
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const text = (value: unknown, otherwise = ""): string =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : otherwise;
export const number = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;
export const numbers = (value: unknown): Numbers => list(value).map(number);
export const texts = (value: unknown): string[] =>
  list(value)
    .map((item) => text(item))
    .filter((item) => item !== "");

/** Returns a sentence with the sign of microseconds, which the command writes in ASCII for terminals and files. */
export const micro = (sentence: string): string => sentence.replace(/(\d[ \u202f])us\b/g, "$1µs");
/** Reads a sentence, or a number with its unit, that was made for a reader. */
export const words = (value: unknown): string => micro(text(value));

export function mapValues<T>(value: unknown, read: (item: unknown) => T): Record<string, T> {
  // A flow may be called `__proto__`, so properties are not assigned by name.
  return Object.fromEntries(Object.entries(record(value)).map(([name, item]) => [name, read(item)]));
}

export function counts(value: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(record(value)).flatMap(([name, item]) => {
      const count = number(item);
      return count === null ? [] : [[name, count]];
    }),
  );
}
