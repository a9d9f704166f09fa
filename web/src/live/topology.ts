/**
 * Diagram of the network: the width of a link shows its rate, its fill the load, and the mark at its
 * start the backlog.
 */
import { svg, update } from "../dom";
import { fastestOf, places, rateFrom } from "../figures/topology";
import type { Sample, Status } from "../generated/lockgate";
import type { Ink } from "../palette";
import { portAt } from "./parts";

const bits = (bps: number): string =>
  bps >= 1e9
    ? `${(bps / 1e9).toFixed(2)} G`
    : bps >= 1e6
      ? `${(bps / 1e6).toFixed(2)} M`
      : bps >= 1e3
        ? `${(bps / 1e3).toFixed(0)} k`
        : `${bps.toFixed(0)} `;

/** Draws the network of a sample. A click on a link's queue selects its port. */
export function drawTopology(
  into: SVGSVGElement,
  status: Status,
  sample: Sample | undefined,
  ink: Ink,
  selected: number,
  select: (port: number) => void,
): void {
  const [width, height] = [Math.max(300, into.clientWidth || 600), into.clientHeight || 170];
  into.setAttribute("viewBox", `0 0 ${width} ${height}`);
  // At the same positions as in the report.
  const found = places(
    status.nodes.map((name) => ({ name, x: null, y: null })),
    status.links,
  );
  const ys = [...found.values()].map(({ y }) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  // Room for the marks above the highest node, and for the name below the lowest.
  const down = (y: number): number =>
    high > low ? 18 + ((height - 48) * (y - low)) / (high - low) : height / 2;
  const at = new Map(
    [...found].map(([name, place]) => [name, { x: 60 + (width - 120) * place.x, y: down(place.y) }]),
  );
  const parts: SVGElement[] = [];
  for (const link of status.links) {
    const [from, to] = [at.get(link.from), at.get(link.to)];
    if (!from || !to) continue;
    const thick = Math.min(14, Math.max(4, 2 * Math.log10(Math.max(10, fastestOf(link) / 1e4))));
    parts.push(
      svg("line", {
        x1: from.x,
        y1: from.y,
        x2: to.x,
        y2: to.y,
        stroke: ink.rule,
        "stroke-width": thick,
        "stroke-linecap": "round",
      }),
    );
    status.ports.forEach((port, index) => {
      if (port.link !== link.name) return;
      const [start, end] = port.from === link.from ? [from, to] : [to, from];
      const shown = portAt(sample, index);
      const root = shown?.queues[0];
      const rate = rateFrom(link, port.from);
      // Without a rate there is no load.
      const load = Math.min(1, (shown?.sent_bps ?? 0) / Math.max(1, rate ?? Infinity));
      const idle = root === undefined || root.total.offered_packets === 0;
      const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
      // Each direction has the right-hand half of the line, and its label on that side.
      const [aside, below] = [
        (-(end.y - start.y) / length) * thick * 0.25,
        ((end.x - start.x) / length) * thick * 0.25,
      ];
      if (load > 0)
        parts.push(
          svg("line", {
            class: "load",
            x1: start.x + aside,
            y1: start.y + below,
            x2: start.x + aside + (end.x - start.x) * load,
            y2: start.y + below + (end.y - start.y) * load,
            stroke: ink.accent,
            "stroke-width": thick * 0.45,
            "stroke-linecap": "round",
          }),
        );
      if (idle && index !== selected) return;
      // On a short link the marks of both directions are smaller, and nearer to the nodes.
      const away = Math.min(34, Math.max(16, 0.28 * length));
      const radius = length < 90 ? 9 : 12;
      const [x, y] = [
        start.x + ((end.x - start.x) * away) / length,
        start.y + ((end.y - start.y) * away) / length,
      ];
      const dropping = (root?.dropped_packets ?? 0) > 0;
      const name = `${port.name}: ${root?.packets ?? 0} packets wait, ${bits(shown?.sent_bps ?? 0)}bit/s${rate === null ? "" : ` of ${bits(rate)}bit/s`}${dropping ? ", dropping" : ""}`;
      const mark = svg(
        "g",
        {
          class: "queue-mark",
          role: "button",
          tabindex: 0,
          "aria-label": name,
          "aria-pressed": String(index === selected),
          "data-port": index,
        },
        svg("title", {}, name),
        svg("circle", {
          cx: x,
          cy: y,
          r: radius,
          fill: ink.page,
          stroke: dropping ? ink.bad : index === selected ? ink.accent : ink.soft,
          "stroke-width": dropping || index === selected ? 3 : 1.5,
        }),
        svg(
          "text",
          { x, y: y + 4, "text-anchor": "middle", "font-size": 11, fill: ink.text },
          String(root?.packets ?? 0),
        ),
      );
      parts.push(mark);
      if (!idle) {
        // Without room, the rate of the direction is shown only by its name, and drops only by the ring.
        const sent = bits(shown?.sent_bps ?? 0);
        const whole = rate === null ? `${sent}bit/s` : `${sent.trimEnd()}/${bits(rate)}bit/s`;
        const labels = [`${whole}${dropping ? " drops" : ""}`, whole, `${sent}bit/s`];
        const room = Math.abs(end.x - start.x) - 8;
        const label = labels.find((text) => text.length * 6 <= room) ?? sent.trimEnd();
        // Between the marks at both ends of the link, or beyond them.
        const gap = label.length * 6 <= room - 84 ? 15 : 21;
        parts.push(
          svg(
            "text",
            {
              x: (start.x + end.x) / 2,
              y: (start.y + end.y) / 2 + (port.from === link.from ? -1 : 1) * gap + 5,
              "text-anchor": "middle",
              "font-size": 11,
              fill: ink.soft,
            },
            label,
          ),
        );
      }
    });
  }
  for (const [name, { x, y }] of at) {
    parts.push(
      svg("circle", { cx: x, cy: y, r: 6, fill: ink.text }),
      svg("text", { x, y: y + 22, "text-anchor": "middle", "font-size": 12, fill: ink.text }, name),
    );
  }
  const portOf = (event: Event): number => {
    const mark = (event.target as Element).closest(".queue-mark");
    return Number(mark?.getAttribute("data-port") ?? Number.NaN);
  };
  into.onclick = (event) => {
    const port = portOf(event);
    if (!Number.isNaN(port)) select(port);
  };
  into.onkeydown = (event) => {
    const port = portOf(event);
    if (event.key === "Enter" && !Number.isNaN(port)) select(port);
  };
  // After an update, the focused mark may belong to another port.
  const focused = document.activeElement?.getAttribute("aria-label")?.split(":")[0];
  update(into, parts);
  if (focused !== undefined && focused !== "") {
    for (const mark of into.querySelectorAll<SVGGElement>(".queue-mark"))
      if (mark.getAttribute("aria-label")?.startsWith(`${focused}:`)) mark.focus();
  }
}
