/**
 * Scenarios that the page brings along: those of the repository and experiments of the papers, with the files that they
 * name and what they show.
 */
import table from "../../../scenarios/README.md?raw";
import type { Files } from "./engine";
import type { Base } from "./link";

/** A scenario with its files. */
export interface Example extends Base {
  /** What it shows, in a sentence. */
  shows: string;
  files: Files;
}

const texts = import.meta.glob<string>("../../../scenarios/*.toml", {
  query: "?raw",
  import: "default",
  eager: true,
});
/** Experiments of the papers that need no values from their claims. */
const experiments = import.meta.glob<string>(
  [
    "../../../papers/{altq-wfq,caqt,linux-router}/{altq-wfq,caqt,linux-router}.toml",
    "../../../papers/cbq-clock/{borrow,gaps,tcp-flood}.toml",
  ],
  { query: "?raw", import: "default", eager: true },
);
const beside = import.meta.glob<string>("../../../scenarios/*.{txt,csv}", {
  query: "?raw",
  import: "default",
  eager: true,
});
/** Former texts of examples, `NAME.CHECKSUM.toml`, for links that refer to them. */
const former = import.meta.glob<string>("./former/*.toml", { query: "?raw", import: "default", eager: true });

const nameOf = (path: string): string => path.replace(/^.*\//, "").replace(/\.toml$/, "");

function filesOf(text: string): Files {
  const named = Object.entries(beside).map(([path, content]): [string, string] => [nameOf(path), content]);
  const used = named.filter(([name]) => text.includes(`"${name}"`));
  return Object.fromEntries(used.map(([name, content]) => [name, new TextEncoder().encode(content)]));
}

/** Returns what the table of the scenarios' page says of each, without its links and the mark of the demo. */
function sentences(): Map<string, string> {
  const rows = table.matchAll(/^\| \[([\w-]+)\.toml\]\(.*?\) \| (.*?) \|/gm);
  return new Map(
    [...rows].map(([, name = "", shows = ""]) => [
      name,
      shows
        .replace(/ \(the demo\)$/, "")
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/`/g, ""),
    ]),
  );
}

/** Experiments of the papers; the first sentence of a file says what it shows. */
export const EXPERIMENTS: readonly Example[] = Object.entries(experiments).map(([path, text]) => {
  const [, shows = ""] = /^# (.*?)(?: \(.*\))?\.(?:\s|$)/m.exec(text) ?? [];
  return { name: nameOf(path), text, shows, files: filesOf(text) };
});

/** Scenarios of the repository, in the order of the table; without a row there last. */
export const EXAMPLES: readonly Example[] = (() => {
  const told = sentences();
  const order = [...told.keys()];
  const rank = ({ name }: Base): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(texts)
    .map(([path, text]) => {
      const name = nameOf(path);
      return { name, text, shows: told.get(name) ?? "", files: filesOf(text) };
    })
    .sort((a, b) => rank(a) - rank(b));
})();

/** Name of the example that runs unasked: small, missed as it is, and cured by a choice. */
export const FIRST = "voice-beside-bulk";

export const exampleOf = (name: string | null): Example | null =>
  [...EXAMPLES, ...EXPERIMENTS].find((one) => one.name === name) ?? null;

/** Texts that links refer to. */
export const BASES: readonly Base[] = [
  ...EXAMPLES,
  ...EXPERIMENTS,
  ...Object.entries(former).map(([path, text]) => ({
    name: nameOf(path).replace(/\.[0-9a-f]{8}$/, ""),
    text,
  })),
];
