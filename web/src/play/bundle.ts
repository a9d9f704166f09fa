/**
 * The parts that a page brings along: beside it as files, or in elements of its one file. An element has base64 of
 * gzip, or a script as text.
 */
import type { Ending } from "./supervised";

/** Names of the parts as files, and the identifiers of their elements. */
const MODULE = ["lockgate.wasm", "lockgate-module"] as const;
const WORKER = ["worker.js", "lockgate-worker"] as const;
const TEMPLATE = ["report.html", "lockgate-template"] as const;

const carried = (id: string): string | null => document.getElementById(id)?.textContent ?? null;

async function part([file, id]: readonly [string, string]): Promise<ArrayBuffer> {
  const text = carried(id);
  if (text === null) {
    const answer = await fetch(file);
    if (!answer.ok) throw new Error(`${file}: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
  }
  // Three million letters: a loop takes a tenth of the time of `Uint8Array.from`.
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Returns the bytes of the simulator. */
export const moduleBytes = (): Promise<ArrayBuffer> => part(MODULE);

/** Returns the page of a report without data. */
export const reportTemplate = async (): Promise<string> => new TextDecoder().decode(await part(TEMPLATE));

/** Starts a worker with the simulator's client. */
export function startWorker(): Ending {
  const text = carried(WORKER[1]);
  if (text === null) return new Worker(WORKER[0]) as Ending;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  return new Worker(address) as Ending;
}
