/**
 * A discipline put onto a port: the change of the text. The tree that was there stays, as an alternative, and so does
 * everything else: comments, order, spacing.
 */
import type { Leaf } from "../generated/lockgate";
import { insertion, keyOf, placeOf, places, set } from "./toml";

/** Returns a text in which a tree of a port that is in it already is the root. */
export const withRoot = (text: string, port: string, root: string): string =>
  set(text, `port."${spelling(text, port)}".root`, root);

/** Returns a text in which a port has a discipline as its only queue. `roots` are the names of its trees now. */
export function withDiscipline(text: string, port: string, leaf: Leaf, roots: readonly string[]): string {
  const name = spelling(text, port);
  const path = `port."${name}"`;
  const known = queuesOf(text, port);
  // One that was put there before, or that the file has ready.
  const ready = [...known].find(([queue, kind]) => kind === leaf.kind && roots.includes(queue));
  if (ready) return withRoot(text, port, ready[0]);
  let queue = leaf.kind;
  for (let number = 2; known.has(queue); number++) queue = `${leaf.kind}-${number}`;
  const lines = leaf.example.split("\n").filter((line) => line !== "");
  let fresh = inserted(text, `${path}.queue`, queue, [`kind = "${leaf.kind}"`, ...lines]);
  const before = roots.filter((root) => known.has(root));
  fresh = set(fresh, `${path}.root`, queue);
  return withAlternatives(fresh, `${path}.alternatives`, before);
}

/** Returns the name of a port as the text spells it, which may be with an arrow. */
function spelling(text: string, port: string): string {
  const same = ([first, name]: readonly string[]): boolean =>
    first === "port" && name?.replace("->", ":") === port;
  return places(text).find(({ path }) => same(path))?.path[1] ?? port;
}

/** Returns the kinds of the queues of a port that the text defines, by their names. */
function queuesOf(text: string, port: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path, from, to } of places(text)) {
    const [first, name, of, queue, key] = path;
    if (first !== "port" || name?.replace("->", ":") !== port || of !== "queue" || !queue) continue;
    if (key === "kind") found.set(queue, text.slice(from + 1, to - 1));
    else if (!found.has(queue)) found.set(queue, "");
  }
  return found;
}

/** Adds a table: inside the table of its parent if the text has it in braces, otherwise at the end. */
function inserted(text: string, parent: string, name: string, lines: readonly string[]): string {
  const change = insertion(text, parent, name, `{ ${lines.join(", ")} }`);
  if (change) return text.slice(0, change.from) + change.insert + text.slice(change.to);
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  const header = `[${parent}.${keyOf(name)}]`;
  return `${text}${gap}\n${header}\n${lines.join("\n")}\n`;
}

/** Adds trees to those that stand ready, so that none is unused. */
function withAlternatives(text: string, path: string, names: readonly string[]): string {
  const list = placeOf(text, path);
  const inside = list === null ? "" : text.slice(list.from + 1, list.to - 1);
  const missing = names.filter((name) => !inside.includes(JSON.stringify(name)));
  if (missing.length === 0) return text;
  const written = missing.map((name) => JSON.stringify(name)).join(", ");
  if (list !== null) return appended(text, list, inside, written);
  // Behind the root, which is there by now.
  const root = placeOf(text, path.replace(/alternatives$/, "root"));
  const line = root === null ? "" : text.slice(text.lastIndexOf("\n", root.from) + 1, root.from);
  if (root !== null && !line.includes("{"))
    return `${text.slice(0, root.to)}\n${line.replace(/root\s*=\s*$/, "alternatives = ")}[${written}]${text.slice(root.to)}`;
  const change = insertion(text, path.replace(/\.alternatives$/, ""), "alternatives", `[${written}]`);
  return change === null ? text : text.slice(0, change.from) + change.insert + text.slice(change.to);
}

function appended(text: string, list: { from: number }, inside: string, written: string): string {
  const end = list.from + 1 + inside.trimEnd().length;
  const before = inside.trim() === "" ? "" : inside.trimEnd().endsWith(",") ? " " : ", ";
  return text.slice(0, end) + before + written + text.slice(end);
}

/** Returns the one change between two texts. */
export function changeOf(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let back = 0;
  while (back < most - from && before.at(-1 - back) === after.at(-1 - back)) back++;
  return { from, to: before.length - back, insert: after.slice(from, after.length - back) };
}
