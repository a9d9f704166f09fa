/**
 * Parts in elements of the one file: gzip, seven bits a letter, the highest first. A group of seven bits is the letter
 * of that code, except three that HTML does not keep or that could end an element: such a group and the next one are
 * one letter of two bytes, so that eight bytes of the file carry seven, whatever they are. Base64 would take a sixth
 * more, and 85 letters an eleventh.
 */

/** Groups that are no letters of their own: NUL becomes another one, a carriage return a line feed; `<`. */
const UNFIT = [0, 13, 60] as const;
/** First letter of an unfit group and the next one; first letter of an unfit group that is the last. */
const [PAIR, LAST] = [0x100, 0x100 + UNFIT.length * 128] as const;

/** Returns the bytes that are written in these letters. */
export function decoded(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((text.length * 14) / 8));
  let [to, held, bits] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    let groups = code;
    if (code >= LAST) groups = UNFIT[code - LAST] ?? 0;
    else if (code >= PAIR) groups = ((UNFIT[(code - PAIR) >> 7] ?? 0) << 7) | (code & 127);
    const count = code >= PAIR && code < LAST ? 14 : 7;
    held = (held << count) | groups;
    bits += count;
    while (bits >= 8) {
      bits -= 8;
      bytes[to++] = held >> bits;
    }
    held &= (1 << bits) - 1;
  }
  return bytes.subarray(0, to);
}

/** Returns the content of a part. */
export async function unpacked(text: string): Promise<ArrayBuffer> {
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Returns the letters for these bytes, as the build writes them. */
export function encoded(bytes: Uint8Array): string {
  const count = Math.ceil((bytes.length * 8) / 7);
  const group = (at: number): number => {
    const [from, shift] = [Math.floor((at * 7) / 8), (at * 7) % 8];
    const two = ((bytes[from] ?? 0) << 8) | (bytes[from + 1] ?? 0);
    return (two >> (9 - shift)) & 127;
  };
  const letters: string[] = [];
  for (let at = 0; at < count; at++) {
    const unfit = (UNFIT as readonly number[]).indexOf(group(at));
    if (unfit < 0) letters.push(String.fromCharCode(group(at)));
    else if (at + 1 === count) letters.push(String.fromCharCode(LAST + unfit));
    else letters.push(String.fromCharCode(PAIR + unfit * 128 + group(++at)));
  }
  return letters.join("");
}
