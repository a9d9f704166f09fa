/** The live page of large networks in a real browser: every queue is found, and members are shown as bands. */
import { describe, expect, it } from "vitest";
import { executable, shiftsOf, watchShifts } from "./browser";
import { knob, queue, sample, status } from "./live-sample";
import { LivePages, Player } from "./player";

describe.skipIf(executable === undefined)("the live page of a large network", () => {
  const pages = new LivePages();

  it("has its charts near, however many ports there are, and finds each", async () => {
    const player = new Player(pages.html);
    const names = Array.from({ length: 200 }, (_, index) => `hub->s${index + 1}`);
    const [port] = status.ports;
    player.status = {
      ...status,
      nodes: ["hub", ...names],
      ports: names.map((name) => ({ ...port, name, from: "hub", to: name })),
      links: [],
    };
    player.sample = (number) => ({
      ...sample(number),
      ports: names.map((name, index) => ({
        name,
        index,
        sent_bps: 1,
        ring_packets: 0,
        queues: [queue("q", 0, null, index % 50), queue("one", 1, 0, 1), queue("two", 2, 0, 1)],
      })),
    });
    const { page, complaints } = await pages.open(player, 1280, "light");
    expect((await page.locator(".strips").boundingBox())?.y).toBeLessThan(1000);
    expect(await page.locator("#queues tbody tr").count()).toBe(40 + 2);
    expect(await page.locator("#queues").textContent()).toContain("40 of 200 ports");
    await page.getByLabel("Filter queues").fill("s117");
    await expect.poll(() => page.locator("#queues tbody tr", { hasText: "hub->s117" }).count()).toBe(1);
    await page.locator("#queues tbody tr", { hasText: "hub->s117" }).click();
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("hub->s117 q");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("writes only the values of its table that change, and makes no row again", async () => {
    const player = new Player(pages.html);
    const names = Array.from({ length: 30 }, (_, index) => `hub->s${index + 1}`);
    player.status = { ...status, nodes: ["hub", ...names], ports: [], links: [] };
    player.sample = (number) => ({
      ...sample(number),
      // Only the seventh port counts on.
      ports: names.map((name, index) => ({
        name,
        index,
        sent_bps: 1,
        ring_packets: 0,
        queues: [{ ...queue("q", 0, null, 90), marked_packets: index === 6 ? number : 0 }],
      })),
    });
    const { page, complaints } = await pages.open(player, 1280, "light");
    await expect.poll(() => page.locator("#queues tbody tr").count()).toBe(30);
    await page.evaluate(() => {
      const written: string[] = [];
      Object.assign(window, { written });
      new MutationObserver((all) => {
        for (const { type, target } of all)
          written.push(`${type} ${target.parentElement?.closest("tr")?.textContent?.slice(0, 7) ?? "body"}`);
      }).observe(document.querySelector("#queues tbody") as Element, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
      });
    });
    const written = (): Promise<string[]> =>
      page.evaluate(() => (window as unknown as { written: string[] }).written);
    await expect.poll(async () => (await written()).length).toBeGreaterThan(3);
    expect(new Set(await written())).toEqual(new Set(["characterData hub->s7"]));
    expect(complaints).toEqual([]);
    player.close();
  });

  it("finds each queue of a network that is too large to show, with its knobs", async () => {
    const player = new Player(pages.html);
    const asked: string[] = [];
    player.answer = (path) => {
      asked.push(path);
      if (!path.startsWith("/api/knobs")) return [];
      const [port] = status.ports;
      return {
        port: { ...port, name: "bng:olt", queues: [["plan/77", [knob("rate", "50mbit")]]] },
        link: status.links[0],
      };
    };
    player.status = { ...status, is_large: true, nodes: [], links: [], ports: [], flows: [] };
    const worst = Array.from({ length: 100 }, (_, index) =>
      queue(`plan/${901 + index}`, 2 + index, 0, 101 + index),
    );
    player.sample = (number) => {
      const isFollowed = asked.some((path) => path.includes("plan%2F77"));
      const found = isFollowed ? [queue("plan/77", 500, 0, 1)] : [];
      return {
        ...sample(number),
        left_out: { ports: 9_000, queues: 19_899 - found.length, flows: 5_000 },
        ports: [
          {
            name: "bng:olt",
            index: 4,
            sent_bps: 9e9,
            ring_packets: 0,
            queues: [queue("shaper", 0, null, 900), ...found, ...worst],
          },
        ],
      };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    expect(await page.locator("#queues").textContent()).toContain("101 of 20000 queues, the worst");
    await page.getByLabel("Order of queues").selectOption("backlog");
    await expect.poll(() => page.locator("#queues tbody th").first().textContent()).toBe("bng:olt plan/1000");
    await page.getByLabel("Filter queues").fill("plan/77");
    await page.locator("#queues tbody tr", { hasText: "plan/77" }).click();
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("bng:olt plan/77");
    await expect.poll(() => page.locator(".knobs caption").allTextContents()).toContain("Queue plan/77");
    expect(asked).toContain("/api/knobs?port=bng%3Aolt&queue=plan%2F77");
    expect(complaints).toEqual([]);
    player.close();
  });

  it.each([1400, 820, 390])("moves nothing from its opening to its end: %i pixels", async (width) => {
    const player = new Player(pages.html);
    player.number = 2;
    player.answer = () => [];
    player.status = {
      ...status,
      is_large: true,
      nodes: [],
      links: [],
      ports: [],
      flows: [],
      warmup_s: 1,
      expectations: 3,
    };
    // At first nothing, then more queues, worse members, and expectations that are judged.
    player.sample = (number) => {
      const [flow] = sample(number).flows;
      const worst = Array.from({ length: Math.min(5, number) }, (_, at) => `download/${1000 + number - at}`);
      const queues = Array.from({ length: Math.min(100, 3 * number) }, (_, at) =>
        queue(`plan/${at}`, 1 + at, 0, (number * 7 + at) % 90),
      );
      const ports = [
        {
          name: "bng:olt",
          index: 4,
          sent_bps: 9e9,
          ring_packets: 0,
          queues: [queue("shaper", 0, null, 9), ...queues],
        },
      ];
      const delay = number < 4 ? null : number / 1000;
      const groups = ["call", "download"].map((name) => ({
        name,
        members: 2000,
        receiving: number * 20,
        received_bps: 1e8,
        lost_packets: number,
        owd_p50_s: delay,
        owd_p95_s: delay,
        owd_p99_s: delay,
        owd_max_s: delay,
        worst,
      }));
      const judged = Array.from({ length: number < 10 ? 0 : 3 }, (_, at) => ({
        that: `group.${at}.owd.p99`,
        subject: "download",
        quantity: "delay p99 of 95 % of them",
        value: `${number} ms`,
        wanted: "below 300 ms",
        holds: true,
        used_ratio: 0.5,
        margin: "",
      }));
      const flows = worst.map((name, at) => ({ ...flow, name, owd_p99_s: (number + at) / 100 }));
      return {
        ...sample(number),
        left_out: { ports: 0, queues: 900, flows: 995 },
        ports,
        flows,
        groups,
        judged,
      };
    };
    const context = await pages.browser.newContext({ viewport: { width, height: 900 } });
    const page = await context.newPage();
    await watchShifts(page);
    await page.goto(await player.listen());
    await page.waitForSelector(".live:not(.waiting) tr.selected");
    await page.waitForFunction(() =>
      /([5-9]|\d\d)\.\d\d s/.test(document.querySelector(".clock")?.textContent ?? ""),
    );
    await player.end(page);
    expect(await shiftsOf(page)).toBeLessThan(0.02);
    await context.close();
    player.close();
  });

  it("shows bands over the members of a large network, and keeps the worst five", async () => {
    const player = new Player(pages.html);
    player.answer = () => [];
    player.status = { ...status, is_large: true, nodes: [], links: [], ports: [], flows: [] };
    player.sample = (number) => {
      const [flow] = sample(number).flows;
      // Each is the worst for a while; call/0 was it most of all, at the start.
      const names = [0, 1, 2, 3, 4].map((place) => `call/${(number + place) % 9}`);
      const flows = names.map((name) => ({ ...flow, name, owd_p99_s: name === "call/0" ? 0.9 : 0.1 }));
      const group = {
        name: "call",
        members: 1000,
        receiving: 998,
        received_bps: 1e8,
        lost_packets: 3,
        owd_p50_s: 0.01,
        owd_p95_s: 0.03,
        owd_p99_s: 0.07,
        owd_max_s: 0.9,
        worst: names,
      };
      return { ...sample(number), left_out: { ports: 0, queues: 900, flows: 995 }, flows, groups: [group] };
    };
    const { page, complaints } = await pages.open(player, 1280, "light");
    await expect.poll(() => page.locator(".bands canvas").count()).toBe(1);
    expect(await page.locator(".bands figcaption").textContent()).toContain(
      "998 of 1000 receive: p50 10.0 ms, p99 70.0 ms, max 900.0 ms; 3 lost",
    );
    await expect.poll(() => page.locator(".bands .worst button").count()).toBe(5);
    const worst = page.locator(".bands .worst button").first();
    expect(await worst.textContent()).toMatch(/^call\/0 900.0 ms at /);
    await worst.click({ delay: 350 });
    await expect.poll(() => page.locator(".strips .key").textContent()).toBe("flow call/0");
    expect(complaints).toEqual([]);
    player.close();
  });
});
