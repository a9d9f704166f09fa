/** Links to texts of the playground: of the first format, and damaged ones. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** A link, the name of its example, and the checksum of its text. */
interface Link {
  hash: string;
  base: string | null;
  text: string;
}
/** Links of the first format, made once: they are never made again, because people have sent them. */
export const LINKS: Link[] = JSON.parse(readFileSync(resolve(import.meta.dirname, "links-v1.json"), "utf8"));

/** Returns a damaged link of each kind. */
export function damaged(): string[] {
  const cut = LINKS.slice(0, 10).map(({ hash }, at) => hash.slice(0, hash.length - 1 - ((7 * at) % 30)));
  // Each flips a letter of the compressed text.
  const flipped = LINKS.slice(15, 29).map(({ hash }, at) => {
    const place = 8 + ((11 * at) % (hash.length - 10));
    return hash.slice(0, place) + (hash[place] === "A" ? "B" : "A") + hash.slice(place + 1);
  });
  return [...cut, ...flipped, "#v1.", "#v1", "#v2.abc", "#v1.%%%", "#v1.AAAA", `#v1.${"q".repeat(4000)}`];
}
