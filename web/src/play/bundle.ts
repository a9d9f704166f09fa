/** The parts that a page brings along: beside it as files, or in elements of its one file (`carried.ts`). */
import { unpacked } from "./carried";
import type { Ending } from "./supervised";

/** Names of the parts as files, and the identifiers of their elements. */
const MODULE = ["lockgate.wasm", "lockgate-module"] as const;
const WORKER = ["worker.js", "lockgate-worker"] as const;
const TEMPLATE = ["report.html", "lockgate-template"] as const;

const carried = (id: string): string | null => document.getElementById(id)?.textContent ?? null;

/** Returns the scenario that `lockgate play FILE` put into the page; null if there is none. */
export function carriedScenario(): { name: string; text: string; files: Record<string, Uint8Array> } | null {
  const text = carried("lockgate-scenario");
  if (text === null) return null;
  const { name, text: scenario, files } = JSON.parse(text);
  const encoder = new TextEncoder();
  const encoded = Object.entries(files as Record<string, string>).map(([file, content]) => [
    file,
    encoder.encode(content),
  ]);
  return { name, text: scenario, files: Object.fromEntries(encoded) };
}

async function part([file, id]: readonly [string, string]): Promise<ArrayBuffer> {
  const text = carried(id);
  if (text === null) {
    const answer = await fetch(file);
    if (!answer.ok) throw new Error(`${file}: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
  }
  return unpacked(text);
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
