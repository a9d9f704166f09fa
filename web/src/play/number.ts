/** Numbers of sliders as values of a scenario: `9500000` bit/s is written `9.5mbit`. */

/** Units of an ending, from the largest. */
const UNITS: Record<string, readonly [number, string][]> = {
  bit: [
    [1e9, "gbit"],
    [1e6, "mbit"],
    [1e3, "kbit"],
    [1, "bit"],
  ],
  s: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "us"],
    [1e-9, "ns"],
  ],
  B: [
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
};
const DIGITS = 3;

/** Rounds to the digits that a slider sets. */
export function rounded(number: number, isWhole: boolean): number {
  const short = Number(number.toPrecision(DIGITS));
  return isWhole ? Math.round(short) : short;
}

/** Writes a number of units with its ending. */
export function written(number: number, ending: string): string {
  const units = UNITS[ending];
  if (!units || number === 0) return `${plain(number)}${ending}`;
  const [size, name] = units.find(([size]) => Math.abs(number) >= size) ?? (units.at(-1) as [number, string]);
  return `${plain(number / size)}${name}`;
}

/** Returns a number without an exponent. */
const plain = (number: number): string =>
  number
    .toFixed(9)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

/** Steps of a slider. */
export const STEPS = 400;

/** Scale between the steps of a slider and its numbers: logarithmic over more than a decade. */
export class Scale {
  readonly #log: boolean;

  constructor(
    readonly least: number,
    readonly most: number,
    readonly isWhole: boolean,
  ) {
    this.#log = least > 0 && most / least > 12;
  }

  numberOf(step: number): number {
    if (step <= 0) return this.least;
    if (step >= STEPS) return this.most;
    const part = step / STEPS;
    const number = this.#log
      ? this.least * (this.most / this.least) ** part
      : this.least + (this.most - this.least) * part;
    return Math.min(this.most, Math.max(this.least, rounded(number, this.isWhole)));
  }

  stepOf(number: number): number {
    const part = this.#log
      ? Math.log(Math.max(number, this.least) / this.least) / Math.log(this.most / this.least)
      : (number - this.least) / (this.most - this.least);
    return Math.round(Math.min(1, Math.max(0, part)) * STEPS);
  }
}
