/** What the live page shows of a run, now and over time, in a real browser. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { executable } from "./browser";
import { queue, sample, status } from "./live-sample";
import { LivePages, Player } from "./player";

describe.skipIf(executable === undefined)("what the live page shows", () => {
  const pages = new LivePages();

  it("shows every direction of a link with its own rate and load", async () => {
    const player = new Player(pages.html);
    player.sample = (number) => {
      const [forth, back] = sample(number).ports;
      return {
        ...sample(number),
        ports: [forth, { ...back, sent_bps: 2.5e7, queues: [queue("fifo", 0, null, 7)] }],
      };
    };
    const { page, complaints } = await pages.open(player, 1400, "light");
    await expect
      .poll(() => page.locator("svg text", { hasText: "bit/s" }).allTextContents())
      .toEqual(["9.00 M/10.00 Mbit/s", "25.00 M/100.00 Mbit/s"]);
    const ends = (name: string): Promise<string[]> =>
      page
        .locator(".queue-mark")
        .evaluateAll((marks, of) => marks.map((mark) => mark.getAttribute(of) ?? ""), name);
    expect(await ends("aria-label")).toEqual([
      expect.stringMatching(/^a->b: \d+ packets wait, 9.00 Mbit\/s of 10.00 Mbit\/s$/),
      "b->a: 7 packets wait, 25.00 Mbit/s of 100.00 Mbit/s",
    ]);
    const loads = await page.locator("svg line.load").evaluateAll((lines) => {
      const length = (line: Element): number =>
        Math.abs(Number(line.getAttribute("x2")) - Number(line.getAttribute("x1")));
      const whole = lines[0]?.parentElement?.querySelector("line:not(.load)");
      return lines.map((line) => length(line) / length(whole as Element));
    });
    expect(loads.map((load) => Number(load.toFixed(2)))).toEqual([0.9, 0.25]);
    expect(complaints).toEqual([]);
    player.close();
  });

  it("keeps the table of a few flows up to date also below the screen", async () => {
    const player = new Player(pages.html);
    player.sample = (number) => {
      const whole = sample(number);
      return { ...whole, flows: whole.flows.map((flow) => ({ ...flow, offered_bps: number * 1e6 })) };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await page.setViewportSize({ width: 1280, height: 200 });
    const offered = (): Promise<string | null> => page.locator(".flows td").first().textContent();
    const top = await page.locator(".flows table").evaluate((table) => table.getBoundingClientRect().top);
    expect(top).toBeGreaterThan(400);
    // Some pictures later the table is known to be out of sight.
    const first = player.number;
    await expect.poll(() => player.number).toBeGreaterThan(first + 10);
    const before = await offered();
    await expect.poll(offered).not.toBe(before);
    expect(complaints).toEqual([]);
    player.close();
  });

  it("keeps the queues of before a swap in the picture, and says what was swapped", async () => {
    const player = new Player(pages.html);
    const swapped = {
      at_s: 11,
      kind: "change",
      path: "port.a->b.root",
      value: "fair",
      moved_packets: 30,
      forced_out_packets: 0,
      text: "",
      before: ["port.a->b.root=q"],
    };
    player.sample = (number) => {
      const before = sample(number);
      if (number <= 110) return before;
      return {
        ...before,
        ports: [{ ...before.ports[0], queues: [queue("fair", 0, null, 3)] }, before.ports[1]],
        events: number === 111 ? [swapped] : [],
      };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await expect
      .poll(() => page.locator(".strips .key").textContent())
      .toBe("q until 11 sone until 11 sfair".replaceAll("11 s", "11\u202fs"));
    expect(await page.locator("tr.selected th").textContent()).toBe("a->b fair");
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([
    [390, "light"],
    [1400, "dark"],
  ] as const)("shows delays between intervals without a packet: %i pixels, %s", async (width, scheme) => {
    const player = new Player(pages.html);
    player.sample = (number) => {
      const whole = sample(number);
      const silent = number % 2 === 1 || (number >= 30 && number < 60);
      const none = { sojourn_p50_s: null, sojourn_p99_s: null };
      return {
        ...whole,
        ports: whole.ports.map((port) => ({
          ...port,
          queues: port.queues.map((one) => (silent || one.name !== "q" ? { ...one, ...none } : one)),
        })),
      };
    };
    const { page, complaints } = await pages.open(player, width, scheme);
    const blue = (): Promise<number[]> =>
      page.locator(".strip canvas").evaluateAll((canvases) =>
        (canvases as HTMLCanvasElement[]).map((canvas) => {
          const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
          let count = 0;
          for (let at = 0; at < data.length; at += 4)
            if ((data[at + 3] ?? 0) > 99 && (data[at + 2] ?? 0) - (data[at] ?? 0) > 60) count += 1;
          return count;
        }),
      );
    await expect.poll(async () => (await blue())[0]).toBeGreaterThan(100);
    if (process.env["SCREENSHOTS"])
      await page.locator(".strips").screenshot({
        path: join(process.env["SCREENSHOTS"], `live-dots-${width}-${scheme}.png`),
      });
    expect(complaints).toEqual([]);
    player.close();
  });

  const judged = (value: string, holds: boolean, used: number) => ({
    that: "flow.f.owd.p99",
    subject: "f",
    quantity: "delay p99",
    value,
    wanted: "below 30 ms",
    holds,
    used_ratio: used,
    margin: "",
  });

  it("shows an hour of which the server has the past, and what a change did", async () => {
    const player = new Player(pages.html);
    player.sample = (number) => ({ ...sample(number), number: number + 40_000, at_s: 4000 + number / 10 });
    const past = (value: number | null) => Array.from({ length: 720 }, () => value);
    player.answer = (path) =>
      path === "/api/past?port=0"
        ? {
            at_s: Array.from({ length: 720 }, (_, at) => 400 + 5 * at),
            queues: [
              {
                queue: "q",
                sent_bps: past(8e6),
                offered_bps: past(9e6),
                delay_s: past(0.7),
                median_s: past(0.2),
                packets: past(3),
                peak_packets: past(9),
                dropped_packets: past(2),
                marked_packets: past(0),
              },
            ],
          }
        : {};
    const { page, complaints } = await pages.open(player, 1280, "light");
    const ticks = (): Promise<string[]> =>
      page.evaluate(() => {
        const strips = [...document.querySelectorAll(".strip")];
        return strips.map((strip) => strip.getAttribute("data-points") ?? "");
      });
    await page.getByLabel("Time shown").selectOption("3600");
    await expect.poll(async () => Number((await ticks())[0])).toBeGreaterThan(720);
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 390])("counts expectations along, and ends with the verdict: %i pixels", async (width) => {
    const player = new Player(pages.html);
    player.status = { ...status, warmup_s: 4, expectations: 2 };
    const now = { holds: true };
    player.sample = (number) => ({
      ...sample(number),
      judged: number < 100 ? [] : [judged(`${number} ms`, now.holds, number / 200)],
    });
    const { page, complaints } = await pages.open(player, width, "light");
    const strip = page.locator(".expected");
    await expect
      .poll(() => strip.locator(".note").textContent())
      .toBe("1 of 1 hold so far; 1 more at the end");
    now.holds = false;
    await expect
      .poll(() => strip.locator("li.bad").textContent())
      .toMatch(/^✗f delay p99[1-9]\d\d msbelow 30 ms$/);
    await expect
      .poll(() => strip.locator(".note").textContent())
      .toBe("0 of 1 hold so far; 1 more at the end");
    // What the page shows of the past is what was judged then.
    await page.locator(".live h1").click();
    for (let step = 0; step < 9; step += 1) await page.keyboard.press("[");
    await expect.poll(() => strip.locator("li").count()).toBe(0);
    await page.locator("button", { hasText: "Live" }).last().click();
    const verdict = {
      outcome: "missed",
      headline: "1 of 2 missed: f delay p99 40 ms.",
      findings: ["Longest wait: 40 ms (p99) in the <b>fifo</b> at a:b, nothing dropped there."],
      rows: [judged("40 ms", false, 1.33), { ...judged("7 ms", true, 0.2), subject: "g" }],
    };
    const ended = { ...player.status, ended: true, verdict, results: "runs/two" };
    for (const stream of player.streams) stream.write(`event: status\ndata: ${JSON.stringify(ended)}\n\n`);
    await expect
      .poll(() => page.locator(".ending").innerText())
      .toContain("✗ 1 of 2 missed: f delay p99 40 ms.");
    const card = await page.locator(".ending").innerText();
    for (const words of ["the <b>fifo</b> at a:b", "runs/two/report.html", "Save the report"])
      expect(card).toContain(words);
    await expect.poll(() => strip.locator("li").count()).toBe(2);
    expect(await strip.innerText()).toContain("7 ms");
    expect(await strip.locator(".note").textContent()).toBe("1 of 2 hold");
    for (const gone of ["Pause", "Hold", "Mark"])
      expect(await page.locator(".bar button", { hasText: gone }).isVisible(), gone).toBe(false);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(complaints).toEqual([]);
    player.close();
  });

  it("shows a flow over time at a click, and the queues again", async () => {
    const player = new Player(pages.html);
    const { page, complaints } = await pages.open(player, 1280, "light");
    const first = page.locator(".strip figcaption").first();
    expect(await first.textContent()).toContain("Delay p99 (thin: median)");
    await page.locator(".flows th button", { hasText: "f" }).click({ delay: 350 });
    await expect.poll(() => first.textContent()).toContain("One-way delay p99");
    expect(await page.locator(".strips .key").textContent()).toBe("flow f");
    await page.locator(".strip").nth(0).hover();
    await expect
      .poll(() => page.locator(".strip").nth(0).locator(".values").textContent())
      .toContain("40\u202fms");
    await page.locator("button", { hasText: "back to the queues" }).click();
    await expect.poll(() => first.textContent()).toContain("Delay p99 (thin: median)");
    expect(complaints).toEqual([]);
    player.close();
  });
});
