// Drives the module for tests in other languages, and measures it.
//
//   node module.mjs MODULE            answers requests of standard input, a JSON document a line
//   node module.mjs MODULE measure FILE...   sizes of the module, and packet-hops a second of each scenario
//
// request: { call, head, files: [base64...] }     answer: { head, parts: { name: text } }, or { trap: text }
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [path, what, ...scenarios] = process.argv.slice(2);
const bytes = readFileSync(path);
const { instance } = await WebAssembly.instantiate(bytes, {});
const { memory, alloc, free, panic_text: panicText, ...calls } = instance.exports;
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

/** Divides a number into pointer and length. */
const unpacked = (packed) => [Number(BigInt.asUintN(64, packed) >> 32n), Number(packed & 0xffffffffn)];

/** Returns the answer to a request: its head as JSON, its parts as bytes. */
function call(name, head, files = []) {
  const text = encoder.encode(JSON.stringify(head));
  const length = 4 + text.length + files.reduce((sum, file) => sum + file.length, 0);
  const request = alloc(length);
  const view = new Uint8Array(memory.buffer, request, length);
  new DataView(memory.buffer).setUint32(request, text.length, true);
  view.set(text, 4);
  let at = 4 + text.length;
  for (const file of files) {
    view.set(file, at);
    at += file.length;
  }
  const [pointer, size] = unpacked(calls[name](request, length));
  const answer = new Uint8Array(memory.buffer, pointer, size).slice();
  free(pointer, size);
  const headLength = new DataView(answer.buffer).getUint32(0, true);
  const answered = JSON.parse(decoder.decode(answer.subarray(4, 4 + headLength)));
  const parts = {};
  let start = 4 + headLength;
  for (const [part, partLength] of answered.parts ?? []) {
    parts[part] = answer.subarray(start, start + partLength);
    start += partLength;
  }
  return { head: answered, parts };
}

function measure() {
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
  });
  const kb = (size) => `${(size / 1000).toFixed(0)} kB`;
  console.log(`${path}: ${kb(bytes.length)}, gzip ${kb(gzipSync(bytes, { level: 9 }).length)}, brotli ${kb(brotli.length)}`);
  for (const file of scenarios) {
    const head = { scenario: { text: readFileSync(file, "utf8"), name: file } };
    // The first runs compile the module's code. Processor time, because other programs run beside.
    const times = [0, 1, 2, 3, 4, 5].map(() => {
      const start = process.cpuUsage();
      const seconds = () => process.cpuUsage(start).user / 1e6;
      const { head: begun } = call("begin", { run: head });
      if (begun.wrong) throw new Error(`${file}: ${begun.wrong.message}`);
      const read = seconds();
      call("step", { job: begun.value.job, events: Number.MAX_SAFE_INTEGER });
      const run = seconds() - read;
      const { head: ran } = call("finish", { job: begun.value.job });
      return { hops: ran.value.packet_hops, run, all: seconds() };
    });
    const { hops, run, all } = times.reduce((best, one) => (one.all < best.all ? one : best));
    const rate = (hops / run / 1e6).toFixed(2);
    const ms = (s) => `${(s * 1000).toFixed(0)} ms`;
    console.log(`${file}: ${hops} packet-hops in ${ms(run)}, ${rate} M a second; with reading and report ${ms(all)}`);
  }
}

if (what === "measure") measure();
else
  for await (const line of createInterface({ input: process.stdin })) {
    const { call: name, head, files = [] } = JSON.parse(line);
    let answer;
    try {
      const { head: answered, parts } = call(name, head, files.map((file) => Buffer.from(file, "base64")));
      const text = ([part, content]) => [part, decoder.decode(content)];
      answer = { head: answered, parts: Object.fromEntries(Object.entries(parts).map(text)) };
    } catch (error) {
      const [pointer, size] = unpacked(panicText());
      answer = { trap: `${error}: ${decoder.decode(new Uint8Array(memory.buffer, pointer, size))}` };
    }
    console.log(JSON.stringify(answer));
  }
