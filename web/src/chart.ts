/** The charting library, reduced to the parts that several figures use, and the style that all charts share. */
import type { EChartsOption } from "echarts";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { type ECharts, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Ink } from "./palette";

use([
  AxisPointerComponent,
  BarChart,
  CustomChart,
  GridComponent,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  SVGRenderer,
  ScatterChart,
  TooltipComponent,
]);

/** Single quotes inside, because the library copies the text unescaped into attributes of exported SVG. */
export const FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/** Creates a chart in an element. Animations are off, so that the final picture is measured and printed. */
export function makeChart(element: HTMLElement, width: number, height: number): ECharts {
  return init(element, null, { renderer: "svg", width, height });
}

/** Sets an option, and leaves painting to the next animation frame: both together are too long for one task. */
export function setUnpainted(chart: ECharts, option: EChartsOption): void {
  const zr = chart.getZr();
  const { flush } = zr;
  // The library paints at once otherwise; what is to be painted is marked, and the frame paints what is marked.
  zr.flush = () => {};
  try {
    chart.setOption(option, { notMerge: true });
  } finally {
    zr.flush = flush;
  }
}

/** Returns the common part of every chart's option. */
export function base(ink: Ink): EChartsOption {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: FONT, color: ink.text },
  };
}

/** Returns the outline of a label in the colour of the page: lines below it do not strike it through. */
export function haloed(ink: Ink): object {
  return { textBorderColor: ink.panel, textBorderWidth: 3 };
}

/** Returns a tooltip in the colours of the page, kept within the chart. */
export function tooltip(ink: Ink): object {
  return {
    confine: true,
    transitionDuration: 0,
    backgroundColor: ink.panel,
    borderColor: ink.rule,
    borderWidth: 1,
    padding: 8,
    textStyle: { color: ink.text, fontSize: 12, fontFamily: FONT },
    extraCssText: "box-shadow:0 2px 10px rgba(0,0,0,.18);border-radius:4px;max-width:min(90vw,560px)",
  };
}

/** Renders an option as SVG text of a fixed size, without the page. */
export function chartToSvg(option: EChartsOption, width: number, height: number): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption(option);
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}
