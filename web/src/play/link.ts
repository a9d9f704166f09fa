/**
 * Links that carry a scenario: `#v1.` and, in base64url, raw deflate of
 *
 *     {"b": name of the example, "c": checksum of its text, "t": checksum of the text, "d": [[line, removed, [line...]]...]}
 *
 * `d` are the lines of the text that differ from the example: before the line with this index of the example, from 0,
 * `removed` lines of it are replaced by these. Without `b` the example is empty. Format 1 is fixed: links stay readable. A
 * changed example keeps its former text in `former/` (`examples.ts`).
 */

/** A text that links refer to. */
export interface Base {
  name: string;
  text: string;
}

type Hunk = [number, number, string[]];
interface Carried {
  b?: string;
  c?: string;
  t: string;
  d: Hunk[];
}

const START = "#v1.";
/** Limit on the size of a text in a link, in bytes: a short link could unpack to more than a page holds. */
const MOST = 1_000_000;

/** Returns the checksum of a text (CRC-32), in hexadecimal digits. */
export function checksum(text: string): string {
  let sum = 0xffff_ffff;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb8_8320 : 0);
  }
  return (~sum >>> 0).toString(16).padStart(8, "0");
}

/**
 * Returns the end of an address that carries a text, as the difference from an example or by itself.
 *
 * @throws if the text is longer than a link may carry.
 */
export async function linkOf(text: string, base: Base | null): Promise<string> {
  const alone: Carried = { t: checksum(text), d: [[0, 0, text.split("\n")]] };
  const from = base && { b: base.name, c: checksum(base.text), t: alone.t, d: hunks(base.text, text) };
  const texts = [...(from ? [from] : []), alone]
    .map((one) => JSON.stringify(one))
    .filter((one) => utf8Length(one) <= MOST);
  const links = await Promise.all(texts.map(async (one) => START + base64url(await packed(one))));
  // Of equal ones the first.
  const [shortest] = links.sort((one, other) => one.length - other.length);
  if (shortest === undefined) throw new Error("the text is too long for a link");
  return shortest;
}

/**
 * Returns the text of a link, with the example that it refers to.
 *
 * @throws if the link is damaged, or refers to a text that is not among `bases`.
 */
export async function readLink(
  hash: string,
  bases: readonly Base[],
): Promise<{ text: string; base: string | null }> {
  if (!hash.startsWith(START)) {
    const version = /^#v(\d+)/.exec(hash)?.[1] ?? "?";
    throw new Error(version === "1" ? "it is damaged" : `its format ${version} is unknown to this page`);
  }
  const carried = await unpacked(hash.slice(START.length));
  const base = bases.find(({ name, text }) => name === carried.b && checksum(text) === carried.c);
  if (carried.b !== undefined && !base)
    throw new Error(`its example \`${carried.b}\` is unknown to this page`);
  const text = applied(base?.text ?? "", carried.d);
  if (checksum(text) !== carried.t) throw new Error("it is damaged: its checksum differs");
  return { text, base: base?.name ?? null };
}

/** Returns the lines that differ: the shortest by Myers' algorithm would be shorter, these are found fast. */
export function hunks(before: string, after: string): Hunk[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const found: Hunk[] = [];
  const differ = (fromA: number, toA: number, fromB: number, toB: number): void => {
    while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) [fromA, fromB] = [fromA + 1, fromB + 1];
    while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) [toA, toB] = [toA - 1, toB - 1];
    if (fromA === toA && fromB === toB) return;
    const common = unique(a, b, fromA, toA, fromB, toB);
    if (common === null) {
      found.push([fromA, toA - fromA, b.slice(fromB, toB)]);
      return;
    }
    differ(fromA, common[0], fromB, common[1]);
    differ(common[0], toA, common[1], toB);
  };
  differ(0, a.length, 0, b.length);
  return found;
}

/** Returns the middle one of the lines that both ranges have exactly once. */
function unique(
  a: string[],
  b: string[],
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
): [number, number] | null {
  const placesOf = (lines: string[], from: number, to: number): Map<string, number> => {
    const places = new Map<string, number>();
    for (let at = from; at < to; at++)
      places.set(lines[at] as string, places.has(lines[at] as string) ? -1 : at);
    return places;
  };
  const others = placesOf(b, fromB, toB);
  const pairs = [...placesOf(a, fromA, toA)]
    .map(([line, at]): [number, number] => [at, others.get(line) ?? -1])
    .filter(([at, other]) => at >= 0 && other >= 0);
  return pairs[Math.floor(pairs.length / 2)] ?? null;
}

function applied(before: string, changes: readonly Hunk[]): string {
  // A text without an example has no lines, not an empty one.
  const lines = before === "" ? [] : before.split("\n");
  const result: string[] = [];
  let at = 0;
  for (const [line, removed, inserted] of changes) {
    if (line < at || line + removed > lines.length) throw new Error("it is damaged: a line is missing");
    result.push(...lines.slice(at, line), ...inserted);
    at = line + removed;
  }
  return [...result, ...lines.slice(at)].join("\n");
}

function isCarried(value: unknown): value is Carried {
  const { b, c, t, d } = (value ?? {}) as Record<string, unknown>;
  const isIndex = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0;
  const isHunk = (one: unknown): boolean =>
    Array.isArray(one) &&
    one.length === 3 &&
    isIndex(one[0]) &&
    isIndex(one[1]) &&
    Array.isArray(one[2]) &&
    one[2].every((line) => typeof line === "string");
  const isText = (one: unknown): boolean => one === undefined || typeof one === "string";
  return isText(b) && isText(c) && typeof t === "string" && Array.isArray(d) && d.every(isHunk);
}

const utf8Length = (text: string): number => new Blob([text]).size;

async function packed(json: string): Promise<Uint8Array> {
  const stream = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpacked(text: string): Promise<Carried> {
  let value: unknown;
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) =>
      letter.charCodeAt(0),
    );
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let json = "";
    for (let size = 0; ; ) {
      const { done, value: chunk } = await reader.read();
      if (done) break;
      size += chunk.length;
      if (size > MOST) throw new Error("too long");
      json += decoder.decode(chunk, { stream: true });
    }
    value = JSON.parse(json + decoder.decode());
  } catch {
    throw new Error("it is damaged");
  }
  if (!isCarried(value)) throw new Error("it is damaged");
  return value;
}

function base64url(bytes: Uint8Array): string {
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
