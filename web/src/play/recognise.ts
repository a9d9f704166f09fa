/** Recognition of texts that are not scenarios: commands of `tc`, what it prints, and configurations of SQM. */

const TC = /^\s*(sudo\s+)?(\/\w+)*\/?(tc|\$TC|\$\{TC\})\s+(-\w+\s+)*(qdisc|class|filter|-batch)\b/m;
const PRINTED = /^qdisc \S+ [0-9a-f]*: (dev \S+ )?(root|parent|ingress)/m;
const SQM = /^\s*config\s+queue\b|^\s*option\s+(qdisc|script|download|upload|interface)\s/m;

/** Returns what a text is, in words, or null if it is to be taken as it is. */
export function recognised(text: string): string | null {
  if (TC.test(text)) return "commands of tc";
  if (PRINTED.test(text)) return "what tc prints";
  return SQM.test(text) ? "a configuration of SQM" : null;
}
