/** Axes: one prefix for all ticks of an axis, round numbers, and logarithmic axes limited to the data. */
import { quantity, scaleFor, significant, superscript, THIN } from "./format";
import type { Ink } from "./palette";
import type { Numbers } from "./report";

/** Smallest and largest of some values; null if there are none. */
export type Extent = readonly [number, number] | null;

/** Returns the extent of all values; with `positive`, of those above zero, for a logarithmic axis. */
export function extent(columns: Iterable<Numbers>, positive = false): Extent {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null || !Number.isFinite(value) || (positive && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/** Returns whether a spread is so wide that a linear axis would hide the small values. */
export function wantsLog(range: Extent): boolean {
  return range !== null && range[0] > 0 && range[1] / range[0] > 50;
}

/**
 * Returns whether the values of variants spread so wide that those near the smallest would overlap on a
 * linear axis.
 */
export function variantsWantLog(range: Extent): boolean {
  return range !== null && range[0] > 0 && range[1] / range[0] > 8;
}

/** Returns a step of 1, 2, 2.5 or 5 times a power of ten that divides the span into about `parts` parts. */
export function niceStep(span: number, parts: number): number {
  if (!(span > 0) || !Number.isFinite(span)) return 1;
  const raw = span / Math.max(1, parts);
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 2.5 ? 2.5 : lead <= 5 ? 5 : 10) * power;
}

/**
 * Returns limits of a linear axis at multiples of its step: from zero unless `zero` is false, without
 * fractions if `whole`.
 */
export function linearLimits(
  range: Extent,
  parts: number,
  zero = true,
  whole = false,
): { min: number; max: number; interval: number } {
  let [low, high] = range ?? [0, 1];
  if (zero && low > 0) low = 0;
  if (high === low) high = low === 0 ? 1 : low + Math.abs(low) * 0.1;
  const interval = Math.max(niceStep(high - low, parts), whole ? 1 : 0);
  const steps = (value: number): number => Number((value / interval).toPrecision(12));
  return { min: Math.floor(steps(low)) * interval, max: Math.ceil(steps(high)) * interval, interval };
}

/** Returns limits of a logarithmic axis: 1, 2 or 5 times a power of ten, at least a factor of ten apart. */
export function logLimits(range: Extent): { min: number; max: number } {
  const [low, high] = range ?? [1, 10];
  const min = rounded(low, false);
  const max = rounded(high, true);
  if (max >= min * 9.99) return { min, max };
  const decade = 10 ** powerOf(low);
  return max <= decade * 10 * 1.001
    ? { min: decade, max: decade * 10 }
    : { min, max: rounded(min * 10, true) };
}

function rounded(value: number, up: boolean): number {
  const power = 10 ** powerOf(value);
  const lead = value / power;
  const steps = [1, 2, 5, 10];
  const step = up ? steps.find((item) => item >= lead - 1e-6) : steps.findLast((item) => item <= lead + 1e-6);
  return Number(((step ?? 1) * power).toPrecision(3));
}

/** Returns the title of an axis: its name, and the unit of its ticks. */
function axisTitle(name: string, unit: string, range: Extent, log: boolean): string {
  if (log) return name;
  const label = scaleFor(Math.max(Math.abs(range?.[0] ?? 0), Math.abs(range?.[1] ?? 0)), unit).label;
  return label === "" ? name : `${name}, ${label}`;
}

/** Largest factor between the ends of a logarithmic axis that has room for ends that are no decades. */
const ROOMY = 1000.1;

/**
 * Returns a formatter of ticks: bare numbers in the axis's prefix or, on a logarithmic axis, each with its
 * own prefix. There only decades have a label, because the ends of a long axis are too near to them.
 */
export function tickFormatter(unit: string, range: Extent, log: boolean): (value: number) => string {
  if (log) {
    const isRoomy = range !== null && range[1] / range[0] <= ROOMY;
    const label = (value: number): string =>
      unit === "fraction" || unit === "" ? tidy(value) : quantity(value, unit, 2);
    return (value) => (isRoomy || leadOf(value) === 1 ? label(value) : "");
  }
  const { factor } = scaleFor(Math.max(Math.abs(range?.[0] ?? 0), Math.abs(range?.[1] ?? 0)), unit);
  // Digits that tell neighbours apart, where the axis is a small part of its values.
  const [low, high] = range ?? [0, 1];
  const parts = Math.max(Math.abs(low), Math.abs(high)) / Math.max(high - low, Number.MIN_VALUE);
  const digits = Math.min(9, Math.max(4, Math.ceil(Math.log10(parts)) + 2));
  return (value) => significant(Number((value / factor).toPrecision(digits + 2)), digits);
}

/** Returns the power of ten of a value, without error at a power. */
const powerOf = (value: number): number => Math.floor(Math.log10(value) + 1e-9);

/** Returns the leading digits of a value: a number from 1 to 10. */
const leadOf = (value: number): number => Number((value / 10 ** powerOf(value)).toPrecision(6));

/** Formats a tick without unit, of large or small values as a power of ten: `0.05`, `5×10⁻⁵`, `10⁻⁴`. */
function tidy(value: number): string {
  if (value >= 0.001 && value <= 10_000) return significant(value, 2);
  const lead = leadOf(value);
  return `${lead === 1 ? "" : `${significant(lead, 2)}×`}10${superscript(String(powerOf(value)))}`;
}

/** Returns the style that all axes share. */
export function axisLook(ink: Ink): object {
  return {
    axisLine: { show: true, lineStyle: { color: ink.rule } },
    axisTick: { show: true, length: 4, lineStyle: { color: ink.rule } },
    axisLabel: { color: ink.soft, fontSize: 11, hideOverlap: true },
    splitLine: { show: true, lineStyle: { color: ink.grid } },
    nameTextStyle: { color: ink.soft, fontSize: 11 },
    minorTick: { show: false },
  };
}

interface AxisRequest {
  name: string;
  unit: string;
  range: Extent;
  log?: boolean;
  ink: Ink;
  /** Desired number of ticks on a linear axis. */
  parts?: number;
  /** True for counts, which have no ticks between whole numbers. */
  whole?: boolean;
  /** False if a linear axis need not start at zero. */
  zero?: boolean;
}

/** Axis of values: its limits and its title, among the rest of its look. */
interface ValueAxis extends Record<string, unknown> {
  min: number;
  max: number;
  interval?: number;
  name: string;
  axisLabel: { formatter: (value: number) => string } & Record<string, unknown>;
}

/** Returns a vertical axis with its title above it, left-aligned. */
export function yAxis(request: AxisRequest): ValueAxis {
  return {
    ...valueAxis(request, 4),
    nameLocation: "end",
    nameGap: 10,
    nameTextStyle: { color: request.ink.text, fontSize: 12, align: "left", padding: [0, 0, 0, -44] },
  };
}

/** Returns a horizontal axis with its title below its middle. */
export function xAxis(request: AxisRequest): object {
  return { ...valueAxis(request, 6), nameLocation: "middle", nameGap: 26 };
}

/** Returns an axis of values in either direction, in about so many parts unless the request says more. */
function valueAxis(request: AxisRequest, usual: number): ValueAxis {
  const { name, unit, range, log = false, ink, parts = usual, zero = true, whole = false } = request;
  const limits = log ? logLimits(range) : linearLimits(range, parts, zero, whole);
  return {
    ...axisLook(ink),
    type: log ? "log" : "value",
    ...limits,
    name: axisTitle(name, unit, [limits.min, limits.max], log),
    axisLabel: {
      color: ink.soft,
      fontSize: 11,
      hideOverlap: true,
      formatter: tickFormatter(unit, [limits.min, limits.max], log),
    },
  };
}

/** Time axis of one of several panels below each other, of which only the last has ticks and a title. */
interface TimeAxisRequest {
  panel: number;
  isLast: boolean;
  window: readonly [number, number];
  /** Range of the whole run, which decides the unit and the format of the ticks. */
  range: readonly [number, number];
  ink: Ink;
}

/** Returns the time axis of a panel. */
export function timeAxis({ panel, isLast, window, range, ink }: TimeAxisRequest): object {
  return {
    ...axisLook(ink),
    gridIndex: panel,
    type: "value",
    min: window[0],
    max: window[1],
    name: isLast ? axisTitle("Time", "s", range, false) : "",
    nameLocation: "middle",
    nameGap: 24,
    axisLabel: {
      show: isLast,
      color: ink.soft,
      fontSize: 11,
      hideOverlap: true,
      formatter: tickFormatter("s", range, false),
    },
    axisPointer: { label: { show: false } },
  };
}

/** Formats the value at the pointer for tooltips. */
export function pointed(value: number | null | undefined, unit: string): string {
  return value === null || value === undefined ? "–" : quantity(value, unit).replaceAll(THIN, "\u00a0");
}
