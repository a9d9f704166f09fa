/** Empty line of a panel over time that carries its vertical rules, its bounds, and the shading of its warm-up. */
import { haloed } from "../chart";
import type { Ink } from "../palette";

interface Carried {
  ink: Ink;
  panel: number;
  /** Lines of the panel: of bounds (`boundLook`), or at times. */
  lines: object[];
  /** Opacity of lines at times. */
  opacity: number;
  /** End of the warm-up in seconds, and the words in its shading. */
  warmup: number;
  words: string;
}

/** Returns the series of a panel without data that carries its lines and its shading. */
export function carrier({ ink, panel, lines, opacity, warmup, words }: Carried): object {
  return {
    id: `rules-${panel}`,
    type: "line",
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: [],
    silent: true,
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      // By default the library rounds to hundredths, and would draw a bound of 15 ms at 10.
      precision: -1,
      lineStyle: { color: ink.soft, width: 1, type: "solid", opacity },
      label: {
        show: true,
        position: "end",
        // Above the title of the axis, also where a rule is near its start.
        distance: 28,
        color: ink.text,
        fontSize: 11,
        fontWeight: 600,
        formatter: "{b}",
      },
      data: lines,
    },
    markArea: {
      silent: true,
      itemStyle: { color: ink.text, opacity: 0.05 },
      label: {
        show: true,
        position: "insideTopLeft",
        color: ink.soft,
        fontSize: 11,
        ...haloed(ink),
      },
      data: warmup > 0 ? [[{ name: words, xAxis: 0 }, { xAxis: warmup }]] : [],
    },
  };
}

/** Returns the look of a bound's line, with its words at its end, on the side where no curve is wanted. */
export function boundLook(ink: Ink, words: string): object {
  const isLower = words.includes(" > ");
  return {
    name: words,
    lineStyle: { color: ink.bad, width: 1.5, type: [5, 3], opacity: 1 },
    label: {
      show: true,
      position: isLower ? "insideEndBottom" : "insideEndTop",
      // Letters end lower than the library takes them to; below a line there is the next panel's title.
      distance: isLower ? 2 : 5,
      color: ink.bad,
      fontSize: 11,
      fontWeight: 600,
      align: "right",
      ...haloed(ink),
    },
  };
}

/** Returns the look of the line at the rate of a link, with its words at its start, where no bound has its own. */
export function capacityLook(ink: Ink, words: string): object {
  return {
    name: words,
    lineStyle: { color: ink.soft, width: 1, type: [2, 3], opacity: 1 },
    label: {
      show: true,
      position: "insideStartBottom",
      distance: 2,
      color: ink.soft,
      fontSize: 11,
      fontWeight: 400,
      align: "left",
      ...haloed(ink),
    },
  };
}
