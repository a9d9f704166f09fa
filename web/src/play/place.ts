/**
 * The page's address behind its `#`: parts joined by `&`, in any order.
 *
 *     v1....            the text, as the difference from an example (`link.ts`)
 *     example=home      an example as it is
 *     at=0.0207,1       a step of a port: its time in seconds, and its place among those of that time, from 0
 *     port=modem:isp    the port whose steps are shown; without it the busiest one
 *     embed=figure      only this part, within another page (`embed.ts`)
 *     lesson=1          a lesson
 *
 * Parts of other names are left alone by older pages, and never an error.
 */

/** A step of a run. */
export interface StepPlace {
  /** Time in seconds. */
  at: number;
  /** Place among the steps of that time, from 0. */
  nth: number;
}

/** Everything that an address says. */
export interface Place {
  /** `#v1....`, or null. */
  link: string | null;
  example: string | null;
  step: StepPlace | null;
  port: string | null;
  embed: string | null;
  lesson: number | null;
}

export function readPlace(hash: string): Place {
  const parts = hash.replace(/^#/, "").split("&");
  const named = new Map<string, string>();
  let link: string | null = null;
  for (const part of parts) {
    if (/^v\d/.test(part)) link = `#${part}`;
    const [, name, value = ""] = /^([a-z]+)(?:=(.*))?$/.exec(part) ?? [];
    if (name !== undefined) named.set(name, decoded(value));
  }
  const [, at, nth = "0"] = /^(\d+(?:\.\d+)?)(?:,(\d+))?$/.exec(named.get("at") ?? "") ?? [];
  const lesson = Number(named.get("lesson") || Number.NaN);
  return {
    link,
    example: named.get("example") || null,
    step: at === undefined ? null : { at: Number(at), nth: Number(nth) },
    port: named.get("port") || null,
    embed: named.has("embed") ? named.get("embed") || "figure" : null,
    lesson: Number.isInteger(lesson) ? lesson : null,
  };
}

/** Writes an address; empty if it says nothing. */
export function writtenPlace({ link, example, step, port, embed, lesson }: Partial<Place>): string {
  const parts = [
    embed && `embed=${encodeURIComponent(embed)}`,
    lesson && `lesson=${lesson}`,
    link?.replace(/^#/, ""),
    !link && example && `example=${encodeURIComponent(example)}`,
    step && `at=${step.at}${step.nth === 0 ? "" : `,${step.nth}`}`,
    step && port && `port=${port.split(":").map(encodeURIComponent).join(":")}`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
