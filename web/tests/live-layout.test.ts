/** Layout of the live page in a real browser: widths, themes, shifts, keyboard, and readers who see or point otherwise. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { QueueSample, Sample } from "../src/generated/lockgate";
import { executable, seriousFaults, shiftsOf, watchShifts } from "./browser";
import { queue, sample, status } from "./live-sample";
import { LivePages, Player } from "./player";

describe.skipIf(executable === undefined)("the layout of the live page", () => {
  const pages = new LivePages();

  it.each([
    [390, "light"],
    [1400, "dark"],
  ] as const)("fits %i pixels, %s", async (width, scheme) => {
    const player = new Player(pages.html);
    const { page, complaints } = await pages.open(player, width, scheme);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(await page.locator(".strip canvas").count()).toBe(4);
    expect(await page.locator(".wide tbody tr").count()).toBe(3);
    expect(await page.locator(".events li").first().textContent()).toContain("link.l.rate 5mbit → 10mbit");
    if (process.env["SCREENSHOTS"])
      await page.screenshot({
        path: join(process.env["SCREENSHOTS"], `live-${width}-${scheme}.png`),
        fullPage: true,
      });
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 820, 390])("lets no rate cover another, nor the bar the title: %i pixels", async (width) => {
    const player = new Player(pages.html);
    const nodes = [..."abcdef"];
    const chain = nodes.slice(1).map((to, index) => ({ from: nodes[index] as string, to }));
    const ends = chain.flatMap(({ from, to }, link) => [
      { from, to, link: `l${link}` },
      { from: to, to: from, link: `l${link}` },
    ]);
    player.status = {
      ...status,
      nodes,
      links: chain.map((link, index) => ({ ...status.links[0], ...link, name: `l${index}` })),
      ports: ends.map((port) => ({ ...port, name: `${port.from}->${port.to}`, root: null, queues: [] })),
    };
    const ports = ends.map(({ from, to }, index) => ({
      name: `${from}->${to}`,
      index,
      sent_bps: 9.47e6,
      ring_packets: 0,
      queues: [{ ...queue("fifo", 0, null, 3), dropped_packets: 0 }],
    }));
    player.sample = (number) => ({ ...sample(number), ports });
    const { page, complaints } = await pages.open(player, width, "light");
    const rates = page.locator("svg text", { hasText: /^9\.47 M/ });
    await expect.poll(() => rates.count()).toBe(10);
    const covered = await rates.evaluateAll((texts) => {
      const boxes = texts.map((text) => text.getBoundingClientRect());
      return boxes.flatMap((a, at) =>
        boxes
          .slice(at + 1)
          .filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
      ).length;
    });
    expect(covered).toBe(0);
    const bar = await page.locator(".live .bar").boundingBox();
    const controls = await page.locator(".live .bar .end").boundingBox();
    expect((controls?.y ?? 0) + (controls?.height ?? 0)).toBeLessThanOrEqual(
      (bar?.y ?? 0) + (bar?.height ?? 0),
    );
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 1024, 390])("lets no rate lie over a mark or a name: %i pixels", async (width) => {
    const player = new Player(pages.html);
    const chain = [
      ["phone", "router"],
      ["console", "router"],
      ["laptop", "router"],
      ["router", "modem"],
      ["modem", "isp"],
    ] as const;
    const ends = chain.flatMap(([from, to], link) => [
      { from, to, link: `l${link}` },
      { from: to, to: from, link: `l${link}` },
    ]);
    player.status = {
      ...status,
      nodes: [...new Set(chain.flat())],
      links: chain.map(([from, to], index) => ({ ...status.links[0], from, to, name: `l${index}` })),
      ports: ends.map((port) => ({ ...port, name: `${port.from}:${port.to}`, root: null, queues: [] })),
    };
    const ports = ends.map(({ from, to }, index) => ({
      name: `${from}:${to}`,
      index,
      sent_bps: 9.47e6,
      ring_packets: 0,
      queues: [{ ...queue("fifo", 0, null, 3), dropped_packets: 0 }],
    }));
    player.sample = (number) => ({ ...sample(number), ports });
    const { page } = await pages.open(player, width, "light");
    const rates = page.locator("svg text", { hasText: /^9\.47 M/ });
    await expect.poll(() => rates.count()).toBeGreaterThan(0);
    const over = await rates.evaluateAll((texts) => {
      const boxes = [...document.querySelectorAll(".queue-mark circle, svg text")].filter(
        (other) => !texts.includes(other as SVGElement) && other.closest("svg") === texts[0]?.closest("svg"),
      );
      return texts.flatMap((text) => {
        const a = text.getBoundingClientRect();
        return boxes.filter((box) => {
          const b = box.getBoundingClientRect();
          return a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
        }).length;
      });
    });
    expect(
      over.every((count) => count === 0),
      String(over),
    ).toBe(true);
    player.close();
  });

  it.each([
    [1280, "light"],
    [1280, "dark"],
    [820, "light"],
    [820, "dark"],
    [360, "light"],
    [360, "dark"],
  ] as const)(
    "has no serious fault for those who see or point otherwise: %i pixels, %s",
    async (width, scheme) => {
      const player = new Player(pages.html);
      const { page } = await pages.open(player, width, scheme);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      // A picture that stands still while it is looked at.
      await page.locator(".live h1").click();
      await page.keyboard.press("Space");
      expect(await seriousFaults(page)).toEqual([]);
      player.close();
    },
  );

  it("shows no table of flows of a router, and no space in a rate of none", async () => {
    const player = new Player(pages.html);
    player.status = { ...status, mode: "route", duration_s: 0, flows: [] };
    player.sample = (number) => {
      const [forth, back] = sample(number).ports;
      return { ...sample(number), flows: [], ports: [{ ...forth, sent_bps: 0 }, back] };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await expect.poll(() => page.locator(".state").textContent()).toBe("● routing");
    await expect
      .poll(() => page.locator("svg text", { hasText: "bit/s" }).allTextContents())
      .toEqual(["0/10.00 Mbit/s"]);
    expect(await page.locator("section.flows").isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    player.close();
  });

  it("shows operators a kernel's delays, limits and reasons, and no box without anything in it", async () => {
    const player = new Player(pages.html);
    player.readOnly = true;
    player.status = {
      ...status,
      mode: "kernel",
      title: "eth0 of host; a look takes 58.8 us",
      duration_s: 0,
      flows: [],
      links: [],
      ports: [],
    };
    let worst = "one";
    player.sample = (number) => {
      const one = sample(number);
      const untimed = { sojourn_p50_s: null, sojourn_p99_s: null, sojourn_mean_s: 0.139 };
      const queues = (one.ports[0]?.queues ?? []).map(
        (each, at): QueueSample => ({
          ...each,
          ...untimed,
          pain: "wait",
          why: at === 1 ? "limited by its ceil 8mbit" : "",
        }),
      );
      const port = {
        ...one.ports[0],
        name: "eth0",
        index: 0,
        sent_bps: 7.9e6,
        rate_bps: 8e6,
        is_full: true,
        ring_packets: 0,
        queues,
      };
      return { ...one, flows: [], ports: [port], hurts: `\`${worst}\` of port eth0: packets waited 139 ms` };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await expect.poll(() => page.locator("#queues thead th").allTextContents()).toContain("delay");
    const heads = await page.locator("#queues thead th").allTextContents();
    const cell = (row: number, head: string): Promise<string | null> =>
      page.locator("#queues tbody tr").nth(row).locator("th, td").nth(heads.indexOf(head)).textContent();
    expect(await cell(1, "delay")).toBe("139.0 ms");
    expect(await cell(1, "why it waits")).toBe("limited by its ceil 8mbit");
    expect(await page.locator("#queues .note").textContent()).toContain("--sojourn");
    expect(await page.locator(".live h1").textContent()).toBe("eth0 of host");
    expect(await page.locator(".facts").textContent()).toContain("eth0 7.90 Mbit/s of 8.00 Mbit/s, full");
    const hurts = page.locator(".hurts.bad");
    expect(await hurts.textContent()).toMatch(
      /^Has hurt for \d{2,} s: one of port eth0: packets waited 139 ms/,
    );
    // What another queue begins with is its own.
    worst = "two";
    await expect.poll(() => hurts.textContent()).toMatch(/^Hurts: two of port eth0/);
    for (const box of [".log", ".knobs", "section.flows"])
      expect(await page.locator(box).isVisible(), box).toBe(false);
    expect(complaints).toEqual([]);
    player.close();
  });

  it("says of a router its policy, the time until it goes back, and its alerts", async () => {
    const player = new Player(pages.html);
    player.status = { ...status, mode: "route", duration_s: 0, flows: [] };
    const router = {
      mode: "bridge",
      interfaces: [],
      policy: 3,
      is_on_trial: true,
      revert_s: 251.4,
      alerts: ["slow"],
      lost_by: [],
      bypassed_frames: 0,
      bypass: "",
    } satisfies Sample["router"];
    player.sample = (number) => ({ ...sample(number), flows: [], router });
    const { page, complaints } = await pages.open(player, 1280, "light");
    const facts = page.locator(".facts");
    await expect.poll(() => facts.textContent()).toContain("policy 3 on trial, goes back in 4:12");
    expect(await facts.textContent()).toContain("alert slow");
    expect(await page.locator("#queues h2 small").textContent()).toBe("in the last 100\u202fms");
    expect(await page.locator(".hurts").textContent()).toBe("No queue hurts.");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("is worked by the keyboard alone", async () => {
    const player = new Player(pages.html);
    const { page } = await pages.open(player, 1280, "light");
    const reached = new Set<string>();
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      reached.add(
        await page.evaluate(() => {
          const focus = document.activeElement;
          const outline =
            focus === null ? "" : getComputedStyle(focus).outlineStyle + getComputedStyle(focus).boxShadow;
          return `${focus?.getAttribute("aria-label") ?? focus?.textContent ?? ""}|${outline === "nonenone" ? "unseen" : "seen"}`;
        }),
      );
    }
    for (const name of [
      "Pause",
      "Mark",
      "Save scenario",
      "Interval of samples",
      "Events, newest first",
      "Scrub over the last minutes",
      "undo: set link.l.rate=5mbit",
      "port.a->b.root, limit",
    ]) {
      expect(
        [...reached].some((one) => one.startsWith(name) && one.endsWith("|seen")),
        `${name} in ${[...reached].join("; ")}`,
      ).toBe(true);
    }
    player.close();
  });

  it.each([1400, 390])("moves nothing from the first samples to the end: %i pixels", async (width) => {
    const player = new Player(pages.html);
    player.status = { ...status, warmup_s: 4, expectations: 4 };
    const context = await pages.browser.newContext({ viewport: { width, height: 900 } });
    const page = await context.newPage();
    await watchShifts(page);
    await page.goto(await player.listen());
    await page.waitForSelector(".live:not(.waiting) tr.selected");
    await page.waitForFunction(() =>
      /(1[3-9]|[2-5]\d)\.\d\d s/.test(document.querySelector(".clock")?.textContent ?? ""),
    );
    await player.end(page);
    expect(await shiftsOf(page)).toBeLessThan(0.02);
    await context.close();
    player.close();
  });

  it("draws a part of the page when it comes near the screen, and not before", async () => {
    const player = new Player(pages.html);
    // More flows than are drawn wherever they are.
    const many = (number: number, lost_packets: number): object => {
      const whole = sample(number);
      const flows = Array.from({ length: 41 }, (_, of) => `f${of}`);
      return { ...whole, flows: flows.map((name) => ({ ...whole.flows[0], name, lost_packets })) };
    };
    player.sample = (number) => many(number, 1);
    const { page, complaints } = await pages.open(player, 390, "light");
    const cells = page.locator(".flows td");
    await expect.poll(() => cells.count()).toBeGreaterThan(0);
    const texts = (): Promise<string> => page.locator(".flows tbody").innerText();
    // The first picture has all parts; then the far ones stand still.
    const clock = (): Promise<string> => page.locator(".clock").innerText();
    await page.evaluate(() => {
      const seen: number[] = [];
      Object.assign(window, { seen });
      const body = document.querySelector(".flows tbody");
      if (body)
        new MutationObserver(() => seen.push(1)).observe(body, {
          childList: true,
          characterData: true,
          subtree: true,
        });
    });
    player.sample = (number) => many(number, number);
    const before = await clock();
    await expect.poll(clock).not.toBe(before);
    await page.waitForTimeout(600);
    expect(await page.evaluate(() => (window as unknown as { seen: number[] }).seen.length)).toBe(0);
    const old = await texts();
    await page.locator(".flows").scrollIntoViewIfNeeded();
    await expect.poll(texts).not.toBe(old);
    expect(complaints).toEqual([]);
    player.close();
  });
});
