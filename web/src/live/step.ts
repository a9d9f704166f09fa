/** One step of a knob, up or down: a quarter more or a fifth less, the unit as it was; or the next choice. */
export function step(value: string | null, choices: readonly string[], up: boolean): string | null {
  if (value === null) return null;
  if (choices.length > 0) {
    const at = Math.max(0, choices.indexOf(value));
    return choices[(at + (up ? 1 : choices.length - 1)) % choices.length] ?? null;
  }
  if (value === "true" || value === "false") return value === "true" ? "false" : "true";
  const parts = /^(\d+(?:\.\d+)?)(.*)$/s.exec(value);
  if (!parts) return null;
  const [, digits = "", unit = ""] = parts;
  const number = Number(digits);
  if (!digits.includes(".")) {
    const stepped = up ? number + Math.max(1, Math.floor(number / 4)) : number - Math.max(1, Math.floor(number / 5));
    // Zero is another thing than little of something.
    return stepped > 0 ? `${stepped}${unit}` : null;
  }
  return `${Number((up ? number * 1.25 : number / 1.25).toFixed(3))}${unit}`;
}
