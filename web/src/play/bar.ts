/** The bar at the top: pin, link, and the forms in which a scenario leaves the page. */
import { copyText, download, h } from "../dom";
import type { Report } from "../report";
import { type Theme, themeButton } from "../theme";
import type { Files } from "./engine";
import { commandOf, markdownOf, reportPage } from "./leaving";
import { messageOf } from "./problems";

/** The page as the bar uses it. */
export interface Page {
  name(): string;
  text(): string;
  files(): Files;
  /** Returns the last result; null if there is none yet. */
  whole(): Report | null;
  /** Returns the page's address with the text. */
  link(): Promise<string>;
  /** Copies that address. */
  copyLink(): Promise<void>;
  /** Returns the page of a report without data. */
  template(): Promise<string>;
  say(message: string): void;
}

/** Creates the bar. `first` are its first controls. */
export function bar(theme: Theme, page: Page, first: readonly HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "bar" },
    h("strong", {}, "Lockgate"),
    h("span", { class: "wide soft" }, "playground: runs here, sends nothing"),
    h(
      "span",
      { class: "end" },
      ...first,
      h("button", { type: "button", id: "link", onclick: () => void page.copyLink() }, "Copy link"),
      takeAway(page),
      themeButton(theme),
    ),
  );
}

function takeAway(page: Page): HTMLElement {
  const item = (name: string, title: string, act: () => unknown): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        title,
        onclick: (event: Event) => {
          (event.currentTarget as HTMLElement).closest("details")?.removeAttribute("open");
          void act();
        },
      },
      name,
    );
  const menu = h(
    "details",
    { class: "picker share" },
    h("summary", {}, "Take away"),
    h(
      "div",
      { class: "panel" },
      item("Copy as Markdown", "Verdict, expectations and text", () => copyMarkdown(page)),
      item("Copy as command", "Commands for a shell that write the file and run it", () =>
        copyText(commandOf(page.name(), page.text(), page.files()), "Command"),
      ),
      item("Save scenario", "The text as a TOML file", () =>
        download(`${page.name()}.toml`, "application/toml", page.text()),
      ),
      item("Save report", "All results as one HTML file", () => saveReport(page)),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  return menu;
}

async function copyMarkdown(page: Page): Promise<void> {
  // An address on a disk leads nowhere for others.
  const link = location.protocol === "file:" ? "" : await page.link().catch(() => "");
  await copyText(markdownOf(page.whole(), page.text(), link), "Markdown");
}

async function saveReport(page: Page): Promise<void> {
  const whole = page.whole();
  if (!whole) return page.say("There is no result yet");
  try {
    download(`${page.name()}.html`, "text/html", reportPage(await page.template(), whole));
  } catch (error) {
    page.say(`The page of a report is not here: ${messageOf(error)}`);
  }
}
