/**
 * Values in the text of a scenario: their places by path, so that one is set without moving anything else. Reads just
 * enough TOML for that, and stops at the first mistake, which `check` explains.
 */

/** A value in a text. */
export interface Place {
  /** Segments of its path; members of lists are numbers from 0. */
  path: string[];
  /** First index of the value, and the one behind it. */
  from: number;
  to: number;
  kind: "text" | "bare" | "list" | "table";
}

/** Headers and values of a text. */
interface Read {
  values: Place[];
  /** Tables with a header, and the index behind the header's line. */
  headers: { path: string[]; after: number }[];
}

const BARE = /[A-Za-z0-9_-]/;

/** Reads the places of a text, up to its first mistake. */
class Reader {
  at = 0;
  readonly read: Read = { values: [], headers: [] };
  readonly #counts = new Map<string, number>();

  constructor(readonly text: string) {}

  document(): Read {
    let table: string[] = [];
    while (this.#blank(true) && this.at < this.text.length) {
      if (this.text[this.at] === "[") {
        const header = this.#header();
        if (header === null) break;
        table = header;
      } else if (!this.#pair(table)) break;
    }
    return this.read;
  }

  /** Skips blanks and comments; line ends too if `lines`. */
  #blank(lines: boolean): true {
    for (; this.at < this.text.length; this.at++) {
      const letter = this.text[this.at] as string;
      if (letter === "#") {
        while (this.at < this.text.length && this.text[this.at] !== "\n") this.at++;
        this.at--;
      } else if (!(letter === " " || letter === "\t" || (lines && (letter === "\n" || letter === "\r"))))
        break;
    }
    return true;
  }

  #header(): string[] | null {
    const many = this.text.startsWith("[[", this.at);
    this.at += many ? 2 : 1;
    const path = this.#key();
    const close = many ? "]]" : "]";
    if (path === null || !this.text.startsWith(close, this.at)) return null;
    this.at += close.length;
    const end = this.text.indexOf("\n", this.at);
    const after = end < 0 ? this.text.length : end + 1;
    const name = path.join("\0");
    const count = this.#counts.get(name) ?? 0;
    if (many) this.#counts.set(name, count + 1);
    // A table below a member of a list is of the last one.
    const whole = path.flatMap((segment, index) => {
      const members = this.#counts.get(path.slice(0, index + 1).join("\0"));
      return members === undefined ? [segment] : [segment, String(members - 1)];
    });
    this.read.headers.push({ path: whole, after });
    return whole;
  }

  /** Reads a key with its dots, and the blanks around it. */
  #key(): string[] | null {
    const path: string[] = [];
    for (;;) {
      this.#blank(false);
      const letter = this.text[this.at];
      if (letter === '"' || letter === "'") {
        const from = this.at;
        if (!this.#quoted()) return null;
        path.push(unquoted(this.text.slice(from, this.at)));
      } else {
        const from = this.at;
        while (this.at < this.text.length && BARE.test(this.text[this.at] as string)) this.at++;
        if (this.at === from) return null;
        path.push(this.text.slice(from, this.at));
      }
      this.#blank(false);
      if (this.text[this.at] !== ".") return path;
      this.at++;
    }
  }

  #pair(table: readonly string[]): boolean {
    const key = this.#key();
    if (key === null || this.text[this.at] !== "=") return false;
    this.at++;
    this.#blank(false);
    return this.#value([...table, ...key]);
  }

  #value(path: string[]): boolean {
    const from = this.at;
    const letter = this.text[from];
    const place: Place = { path, from, to: from, kind: "bare" };
    this.read.values.push(place);
    let isWhole = true;
    if (letter === '"' || letter === "'") {
      place.kind = "text";
      isWhole = this.#quoted();
    } else if (letter === "[" || letter === "{") {
      place.kind = letter === "[" ? "list" : "table";
      isWhole = this.#members(path, letter === "[");
    } else {
      while (this.at < this.text.length && !/[\s,#\]}]/.test(this.text[this.at] as string)) this.at++;
      isWhole = this.at > from;
    }
    place.to = this.at;
    if (!isWhole) this.read.values.splice(this.read.values.indexOf(place), 1);
    return isWhole;
  }

  #members(path: readonly string[], isList: boolean): boolean {
    const close = isList ? "]" : "}";
    this.at++;
    for (let index = 0; ; index++) {
      this.#blank(true);
      if (this.text[this.at] === close) break;
      if (!(isList ? this.#value([...path, String(index)]) : this.#pair(path))) return false;
      this.#blank(true);
      if (this.text[this.at] === ",") this.at++;
      else if (this.text[this.at] !== close) return false;
    }
    this.at++;
    return true;
  }

  #quoted(): boolean {
    const quote = this.text[this.at] as string;
    const long = this.text.startsWith(quote.repeat(3), this.at);
    const end = long ? quote.repeat(3) : quote;
    for (this.at += end.length; this.at < this.text.length; this.at++) {
      if (quote === '"' && this.text[this.at] === "\\") this.at++;
      else if (!long && this.text[this.at] === "\n") return false;
      else if (this.text.startsWith(end, this.at)) {
        this.at += end.length;
        return true;
      }
    }
    return false;
  }
}

/** Returns the text in quotes. */
export function unquoted(text: string): string {
  if (text.startsWith("'")) return text.replace(/^'+|'+$/g, "");
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1);
  }
}

/** Returns the places of all values in a text. */
export const places = (text: string): Place[] => new Reader(text).document().values;

/** Splits a path such as `port.a:b.root` or `port."a.b".root`. */
export function segments(path: string): string[] {
  return [...path.matchAll(/"([^"]*)"|[^.]+/g)].map((found) => found[1] ?? found[0]);
}

/** Writes segments as a path. */
export const joined = (path: readonly string[]): string =>
  path.map((segment) => (/[."]/.test(segment) ? `"${segment}"` : segment)).join(".");

/** Ports are written with a colon or an arrow. */
const canonical = (path: readonly string[]): string =>
  path
    .map((segment, at) => (at === 1 && path[0] === "port" ? segment.replace("->", ":") : segment))
    .join("\0");

/** Returns the place of a path's value; null if it is not in the text. */
export function placeOf(text: string, path: string): Place | null {
  const wanted = canonical(segments(path));
  return places(text).find((place) => canonical(place.path) === wanted) ?? null;
}

/** A change of a text: the range that `insert` replaces. */
export interface Edit {
  from: number;
  to: number;
  insert: string;
}

/** Returns the change that sets the value of a path; without a table for it, one is added at the end. */
export function edit(text: string, path: string, value: string): Edit {
  const { values } = new Reader(text).document();
  const wanted = segments(path);
  const name = canonical(wanted);
  const found = values.find((place) => canonical(place.path) === name);
  if (found) {
    const bare = found.kind === "bare" && isBare(value);
    const quote = found.kind === "text" ? (text[found.from] as string) : '"';
    const one = quote === "'" ? `'${value}'` : JSON.stringify(value);
    return {
      from: found.from,
      to: found.to,
      insert: bare ? value : found.kind === "text" ? one : written(value),
    };
  }
  const [parent, key] = [wanted.slice(0, -1), wanted.at(-1) as string];
  const inside = insertion(text, joined(parent), key, written(value));
  if (inside) return inside;
  const table = parent.map(keyOf).join(".");
  const insert = `${text.endsWith("\n") || text === "" ? "" : "\n"}[${table}]\n${keyOf(key)} = ${written(value)}\n`;
  return { from: text.length, to: text.length, insert };
}

/** Returns the change that adds a key with a value to a table of the text; null if the text has no such table. */
export function insertion(text: string, parent: string, name: string, value: string): Edit | null {
  const { values, headers } = new Reader(text).document();
  const wanted = canonical(segments(parent));
  const key = keyOf(name);
  const table = values.find((place) => place.kind === "table" && canonical(place.path) === wanted);
  if (table) {
    const inside = text.slice(table.from + 1, table.to - 1).trimEnd();
    const at = table.from + 1 + inside.length;
    const before = inside.trim() === "" ? " " : inside.endsWith(",") ? " " : ", ";
    return { from: at, to: table.to - 1, insert: `${before}${key} = ${value} ` };
  }
  const header = headers.find((one) => canonical(one.path) === wanted);
  if (!header) return null;
  const newline = text[header.after - 1] === "\n" ? "" : "\n";
  return { from: header.after, to: header.after, insert: `${newline}${key} = ${value}\n` };
}

/** Returns a text with a path's value set. */
export function set(text: string, path: string, value: string): string {
  const change = edit(text, path, value);
  return text.slice(0, change.from) + change.insert + text.slice(change.to);
}

const isBare = (value: string): boolean => /^[+-]?\d+(\.\d+)?$|^(true|false)$/.test(value);
const written = (value: string): string => (isBare(value) ? value : JSON.stringify(value));
/** Writes a segment as a key. */
export const keyOf = (segment: string): string =>
  /^[A-Za-z0-9_-]+$/.test(segment) ? segment : JSON.stringify(segment);

/** A value that differs between two texts. */
export interface Difference {
  path: string;
  values: [string, string];
}

/**
 * Returns the values that differ between two texts, as a comparison takes them; or in words why they differ by more than
 * single values.
 */
export function differences(before: string, after: string): Difference[] | string {
  const leaves = (text: string): Map<string, { path: string; value: string }> =>
    new Map(
      places(text)
        .filter(({ kind }) => kind === "text" || kind === "bare")
        .map(({ path, from, to, kind }) => {
          const raw = text.slice(from, to);
          return [canonical(path), { path: joined(path), value: kind === "text" ? unquoted(raw) : raw }];
        }),
    );
  // Variations of the scenario itself, and its title, are not part of a run.
  const isOfRun = (path: string): boolean => !/^(vary\.|title$)/.test(path);
  const [old, fresh] = [leaves(before), leaves(after)];
  const found: Difference[] = [];
  for (const [name, { path, value }] of fresh) {
    if (!isOfRun(path)) continue;
    const other = old.get(name)?.value;
    if (other === undefined) return `\`${path}\` is only in one of them`;
    if (other === value) continue;
    if (/[,\n]/.test(other + value)) return `\`${path}\` is a value with a comma`;
    found.push({ path, values: [other, value] });
  }
  const missing = [...old].find(([name, { path }]) => isOfRun(path) && !fresh.has(name));
  return missing ? `\`${missing[1].path}\` is only in one of them` : found;
}
