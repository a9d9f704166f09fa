// Copies a WebAssembly module without its custom sections (names of functions, producers), which no page reads.
//
//   node crates/wasm/strip.mjs FROM TO

import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const bytes = readFileSync(from);
/** Length of the magic number and the version. */
const HEAD = 8;
const CUSTOM = 0;

/** Returns the number in LEB128 at `at`, and the offset behind it. */
function number(at) {
  for (let value = 0, shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, at];
  }
}

const kept = [bytes.subarray(0, HEAD)];
for (let at = HEAD; at < bytes.length; ) {
  const [length, content] = number(at + 1);
  if (bytes[at] !== CUSTOM) kept.push(bytes.subarray(at, content + length));
  at = content + length;
}
writeFileSync(to, Buffer.concat(kept));
