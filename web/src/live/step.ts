/**
 * Returns the next value of a knob: a quarter more or a fifth less, with the same unit; null if the value has
 * no such step.
 */
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
    // No step to zero, which has another meaning than a small value.
    return stepped > 0 ? `${stepped}${unit}` : null;
  }
  return `${Number((up ? number * 1.25 : number / 1.25).toFixed(3))}${unit}`;
}
