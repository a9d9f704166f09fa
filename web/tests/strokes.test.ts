/** Lines that are told apart without colour, in figures, keys and files: checked without a browser. */
import { describe, expect, it } from "vitest";
import type { Figure } from "../src/figure";
import { ccdfFigure, cdfFigure } from "../src/figures/distribution";
import { extraFigure } from "../src/figures/extra";
import { timeFigure } from "../src/figures/time";
import { quantity } from "../src/format";
import type { FigureSeries, Origin } from "../src/generated/lockgate";
import { sample } from "../src/key";
import { COLOURS, LIGHT } from "../src/palette";
import { EMPTY } from "../src/report";
import { Selection, type View } from "../src/selection";
import { flowData, queueData, runOf } from "./sample";

interface Line {
  id?: string;
  name?: string;
  type: string;
  symbol?: string;
  lineStyle?: { color: string; type: unknown };
}

const names = Array.from({ length: COLOURS }, (_, at) => `flow${at}`);

/** Returns the view of runs of these modes, all with the same flows. */
function viewOf(modes: readonly Origin[], flows: readonly string[] = names): View {
  const time_s = [1, 2, 3];
  const series = { time_s, received_bps: [1, 2, 3], owd_p50_s: [0.1, 0.2, 0.3] };
  const owd_cdf = { value_s: [0.1, 0.2], fraction: [0, 1] };
  const runs = modes.map((mode, at) =>
    runOf({
      label: `run ${at}`,
      mode,
      flows: flows.map((name) => flowData(name, series, { owd_cdf })),
      ports: [
        {
          name: "a:b",
          queues: flows.map((name) => queueData(`queue of ${name}`, { time_s, backlog_packets: [1, 2, 3] })),
        },
      ],
    }),
  );
  return new Selection({ ...EMPTY, runs }).view();
}

function linesOf(figure: Figure): Line[] {
  const { option } = figure.draw(LIGHT, 1200) as unknown as { option: { series: Line[] } };
  return option.series;
}

/** Returns the look of each thick line whose id or name matches: stroke and mark, without its colour. */
function looksOf(figure: Figure, wanted: RegExp): string[] {
  const all = linesOf(figure);
  const called = (line: Line): string => line.id ?? line.name ?? "";
  return all
    .filter((line) => line.type === "line" && wanted.test(called(line)))
    .map((line) => {
      const marked = all.find(
        (other) => other.type === "scatter" && [`${called(line)} marks`, line.name].includes(called(other)),
      );
      return JSON.stringify([line.lineStyle?.type, marked?.symbol ?? null]);
    });
}

const entriesOf = (figure: Figure, group: string): string[] =>
  figure
    .key(LIGHT)
    .filter(({ label }) => label.startsWith(group))
    .flatMap(({ entries }) => entries.map((entry) => sample({ ...entry, colour: "#000" })));

const isDistinct = (looks: readonly string[], count: number): void => {
  expect(looks).toHaveLength(count);
  expect(new Set(looks).size, looks.join("\n")).toBe(count);
};

describe("without colour", () => {
  const view = viewOf(["sim"]);

  it.each([
    ["delays over time", timeFigure(view, {}), /p50 /],
    ["rates over time", timeFigure(view, {}), /received /],
    ["queues over time", timeFigure(view, {}), /backlog /],
    ["distributions", cdfFigure(view, {}), /flow/],
  ] as const)("flows of a run have a stroke each: %s", (_, figure, wanted) => {
    isDistinct(looksOf(figure, wanted), COLOURS);
  });

  it("keys show the strokes of the curves", () => {
    isDistinct(entriesOf(timeFigure(view, {}), "Flow"), COLOURS);
    isDistinct(entriesOf(timeFigure(view, {}), "Queue"), COLOURS);
    const dashes = linesOf(timeFigure(view, {}))
      .filter(({ id }) => id?.includes("p50 "))
      .map(({ lineStyle }) => lineStyle?.type);
    const [flows] = timeFigure(view, {}).key(LIGHT);
    expect(new Set(flows?.entries.map(({ dash }) => dash ?? "solid"))).toEqual(new Set(dashes));
  });

  it("flows of further runs of one mode have marks beside their strokes", () => {
    const two = cdfFigure(viewOf(["sim", "sim"]), {});
    isDistinct(looksOf(two, /flow/), 2 * COLOURS);
    isDistinct(entriesOf(two, "Run"), 2);
  });

  it("flows of a simulation beside a live run have marks, and the modes their strokes", () => {
    const twin = cdfFigure(viewOf(["sim", "live"]), {});
    isDistinct(looksOf(twin, /flow/), 2 * COLOURS);
    isDistinct(entriesOf(twin, "Flow"), COLOURS);
    isDistinct(entriesOf(twin, "Run"), 2);
  });

  it("many runs of one flow are told by marks, and by strokes when these start again", () => {
    const many = cdfFigure(viewOf(Array(2 * COLOURS).fill("sim"), ["flow"]), {});
    isDistinct(looksOf(many, /flow/), 2 * COLOURS);
    isDistinct(entriesOf(many, "Run"), 2 * COLOURS);
  });

  it.each([
    ["one mode", ["sim"]],
    ["simulation and theory", ["sim", "theory"]],
  ] as const)("series of an experiment: %s", (_, modes) => {
    const series = modes.flatMap((mode) =>
      ["w", "x", "y", "z"].map((name) => ({ name, mode, x: [1, 2], y: [1, 2] })),
    );
    const axis = { label: "", unit: "", log: false };
    const drawn = extraFigure(
      { id: "f", title: "f", caption: "", kind: "line", x: axis, y: axis, series },
      {},
    );
    const looks = looksOf(drawn, /^[wxyz]/);
    if (modes.length === 1) isDistinct(looks, 4);
    else isDistinct(looks.slice(0, 4), 4);
    isDistinct(entriesOf(drawn, "").slice(0, 4), 4);
  });

  it("bounds among points are named with their values, and leave the points as they are", () => {
    const points = ["keeps", "breaks"].map((name) => ({
      name,
      mode: "sim" as const,
      x: [1e6, 9e6],
      y: [0.01, 0.02],
    }));
    const bounds = [
      { name: "most", of: { is_of_x: false, is_lower: false, value: 0.05 }, x: [1e6, 9e6], y: [0.05, 0.05] },
      { name: "least", of: { is_of_x: true, is_lower: true, value: 8e6 }, x: [8e6, 8e6], y: [0.01, 0.02] },
    ].map(({ of, ...series }) => ({ ...series, mode: "theory" as const, bound: of }));
    // Lines of theory without the field are no bounds, whatever their name.
    const curve = { name: "at most", mode: "theory" as const, x: [1e6, 9e6], y: [0.03, 0.03] };
    const of = (series: FigureSeries[]): Figure =>
      extraFigure(
        {
          id: "f",
          title: "f",
          caption: "",
          kind: "scatter",
          x: { label: "goodput", unit: "bit/s", log: false },
          y: { label: "delay", unit: "s", log: false },
          series,
        },
        {},
      );
    const drawn = of([...points, ...bounds]);
    expect(looksOf(drawn, /^(keeps|breaks)/)).toEqual(looksOf(of(points), /^(keeps|breaks)/));
    const entries = drawn.key(LIGHT)[0]?.entries.map(({ label }) => label);
    const [most, least] = [quantity(0.05, "s"), quantity(8e6, "bit/s")];
    expect(entries).toEqual(["keeps", "breaks", `most ${most}`, `least ${least}`]);
    const { series } = (drawn.draw(LIGHT, 800) as { option: object }).option as {
      series: { markArea?: { data: object[][] } }[];
    };
    const { series: plain } = (of([...points, curve]).draw(LIGHT, 800) as { option: object }).option as {
      series: { markArea?: object }[];
    };
    expect(plain.filter(({ markArea }) => markArea !== undefined)).toEqual([]);
    expect(series.flatMap(({ markArea }) => markArea?.data ?? [])).toMatchObject([
      [{ name: `misses ≤ ${most}`, coord: [-Infinity, 0.05] }, { coord: [Infinity, Infinity] }],
      [{ name: `misses ≥ ${least}`, coord: [-Infinity, -Infinity] }, { coord: [8e6, Infinity] }],
    ]);
  });

  it("numbers of points lie over no point and no other number", () => {
    const x = [1, 1.01, 1.02, 1.3, 2];
    const series = [
      { name: "tried", mode: "sim" as const, x, y: x.map(() => 5), labels: x.map((_, at) => `${at + 10}`) },
    ];
    const figure = extraFigure(
      {
        id: "f",
        title: "f",
        caption: "",
        kind: "scatter",
        x: { label: "rate", unit: "", log: false },
        y: { label: "delay", unit: "", log: false },
        series,
      },
      {},
    );
    const { series: drawn } = (figure.draw(LIGHT, 800) as { option: object }).option as {
      series: { data: { value: number[]; label?: { formatter: string } }[] }[];
    };
    const shown = drawn.flatMap(({ data }) => data.map(({ label }) => label?.formatter));
    // The next point is nearer than a number is wide, except behind the last of three and of all.
    expect(shown).toEqual(["", "", "12", "13", "14"]);
  });

  it("a single point of each flow is no distribution", () => {
    const run = runOf({
      label: "a",
      mode: "sim",
      flows: ["one", "two"].map((name) =>
        flowData(name, {}, { owd_cdf: { value_s: [0.0111], fraction: [1] } }),
      ),
    });
    const view = new Selection({ ...EMPTY, runs: [run] }).view();
    for (const make of [cdfFigure, ccdfFigure]) expect(make(view, {}).empty).not.toBeNull();
    expect(cdfFigure(viewOf(["sim"]), {}).empty).toBeNull();
  });
});
