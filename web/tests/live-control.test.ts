/** What a reader sets, undoes, notes and pauses on the live page, in a real browser. */
import { describe, expect, it } from "vitest";
import { executable } from "./browser";
import { LivePages, Player } from "./player";

describe.skipIf(executable === undefined)("controls of the live page", () => {
  const pages = new LivePages();

  it("sets what is typed, by the keyboard alone", async () => {
    const player = new Player(pages.html);
    const { page } = await pages.open(player, 1280, "light");
    await page.keyboard.press("ArrowDown");
    const field = page.getByLabel("port.a->b.queue.one.limit, limit");
    await field.fill("20p");
    await field.press("Enter");
    await page.waitForSelector(".knob[data-state=set]");
    expect(player.asked).toEqual([{ path: "/api/set", body: '{"set":["port.a->b.queue.one.limit=20p"]}' }]);
    await page.getByRole("button", { name: /^raise port\.a->b\.queue\.one\.limit/ }).click();
    await expect.poll(() => player.asked.length).toBe(2);
    expect(player.asked[1]?.body).toContain("limit=62p");
    player.close();
  });

  it("undoes a change and notes a moment", async () => {
    const player = new Player(pages.html);
    const { page, complaints } = await pages.open(player, 1280, "light");
    await page.getByRole("button", { name: "undo: set link.l.rate=5mbit" }).click();
    await expect
      .poll(() => player.asked.at(-1))
      .toEqual({ path: "/api/set", body: '{"set":["link.l.rate=5mbit"]}' });
    await page.locator(".live h1").click();
    await page.keyboard.press("m");
    await expect.poll(() => player.asked.at(-1)).toEqual({ path: "/api/mark", body: '{"text":""}' });
    expect(await page.locator(".flows tbody tr").first().textContent()).toContain("14.5 kB");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("takes a click for one though samples arrive while the button is down", async () => {
    const player = new Player(pages.html);
    const { page, complaints } = await pages.open(player, 1280, "light");
    const slowly = { delay: 350 };
    await page.locator("#queues tbody tr", { hasText: "one" }).click(slowly);
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("one");
    await page.locator(".queue-mark").first().click(slowly);
    await expect.poll(() => page.locator("tr.selected th").textContent()).toBe("a->b q");
    expect(complaints).toEqual([]);
    player.close();
  });

  it("stands still when paused, and says when its stream is cut", async () => {
    const player = new Player(pages.html);
    const { page } = await pages.open(player, 1280, "light");
    await page.locator(".live h1").click();
    await page.keyboard.press("Space");
    await page.waitForFunction(() =>
      /paused, [1-9]/.test(document.querySelector(".state")?.textContent ?? ""),
    );
    // The time of the run, without the pace, which is of the run as it goes on.
    const shown = () => page.evaluate(() => document.querySelector(".clock")?.textContent?.split(" ·")[0]);
    const clock = await shown();
    await page.waitForFunction(() =>
      /paused, ([3-9]|\d\d)/.test(document.querySelector(".state")?.textContent ?? ""),
    );
    expect(await shown()).toBe(clock);
    await page.keyboard.press("Space");
    await expect.poll(shown).not.toBe(clock);
    player.cut();
    await page.waitForSelector(".state[data-state=cut]", { timeout: 15_000 });
    expect(await page.locator(".state").textContent()).toContain("cut");
    player.close();
  });
});
