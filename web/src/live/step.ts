/** One step of a knob, up or down: a quarter more or a fifth less, the unit as it was; null where there is none. */
export function step(value: string | null, up: boolean): string | null {
  if (value === null) return null;
  if (value === "true" || value === "false") return value === "true" ? "false" : "true";
  const parts = /^(\d+(?:\.\d+)?)(.*)$/s.exec(value);
  if (!parts) return null;
  const [, digits = "", unit = ""] = parts;
  const number = Number(digits);
  if (!digits.includes(".")) {
    const stepped = up
      ? number + Math.max(1, Math.floor(number / 4))
      : number - Math.max(1, Math.floor(number / 5));
    // Zero is another thing than little of something.
    return stepped > 0 ? `${stepped}${unit}` : null;
  }
  return `${Number((up ? number * 1.25 : number / 1.25).toFixed(3))}${unit}`;
}
