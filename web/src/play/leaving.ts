/** Forms in which a scenario leaves the page: a command, Markdown, the page of a report. */
import type { Report } from "../report";
import { answering } from "../sections/answer";
import type { Files } from "./engine";

const decoder = new TextDecoder();

/** Returns a word that is no line of any text, to end them. */
function endOf(texts: readonly string[]): string {
  let word = "LOCKGATE";
  while (texts.some((text) => text.split("\n").includes(word))) word += "_";
  return word;
}

const whole = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);

/** Returns the commands that write a scenario and its files, and run it. */
export function commandOf(name: string, text: string, files: Files): string {
  const all = [
    ...Object.entries(files).map(([file, bytes]): [string, string] => [file, decoder.decode(bytes)]),
    [`${name}.toml`, text] as const,
  ];
  const end = endOf(all.map(([, content]) => content));
  const written = all.map(([file, content]) => `cat > ${file} <<'${end}'\n${whole(content)}${end}\n`);
  return `${written.join("")}lockgate run ${name}.toml\n`;
}

/** Returns title, verdict, expectations and text as Markdown, with a link to the page. */
export function markdownOf(report: Report | null, text: string, link: string): string {
  const verdict = report && answering(report)?.verdict;
  const cell = (content: string): string => content.replace(/\|/g, "\\|");
  const rows = (verdict?.rows ?? []).map(
    ({ holds, subject, quantity, value, wanted }) =>
      `| ${holds ? "✓" : "✗"} | ${cell(`${subject} ${quantity}`.trim())} | ${cell(value)} | ${cell(wanted)} |`,
  );
  const fence = text.includes("```") ? "~~~~" : "```";
  return [
    `### ${report?.title || "Scenario"}`,
    ...(verdict ? [`**${verdict.headline}**`] : []),
    ...(rows.length > 0
      ? [["| | expectation | value | wanted |", "| --- | --- | --- | --- |", ...rows].join("\n")]
      : []),
    ...(link === "" ? [] : [`[Open it in the playground](${link})`]),
    `${fence}toml\n${whole(text)}${fence}`,
    "",
  ].join("\n\n");
}

const MARKER = '<script type="application/json" id="lockgate-data">{}</script>';

/** Returns the page of a report with its data, which contain no `<`. */
export function reportPage(template: string, report: Report): string {
  const data = JSON.stringify(report).replace(/</g, "\\u003c");
  return template.replace(MARKER, () => MARKER.replace("{}", () => data));
}
