/**
 * Construction of elements. Text is always set as text and never parsed, because names come from a user's
 * file.
 */

type Child = Node | string | null | undefined | false | readonly Child[];
type Properties = Record<string, string | number | boolean | ((event: never) => void) | null | undefined>;

/**
 * Creates an element. Functions become listeners (`onclick`), `true` an empty attribute; null and false are
 * left out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  assign(element, properties);
  append(element, children);
  return element;
}

/** Returns a text with its parts in backticks as code. */
export function coded(text: string): (Node | string)[] {
  const parts = text.split("`");
  // An odd number of backticks is text.
  if (parts.length % 2 === 0) return [text];
  return parts.flatMap((part, at) => (part === "" ? [] : [at % 2 === 1 ? h("code", {}, part) : part]));
}

/** Returns a text with each option of a command whole: a browser breaks lines behind a hyphen, too. */
export function unbroken(text: string): (Node | string)[] {
  const parts = text.split(/(--[a-z][\w-]*)/);
  return parts.map((part, at) => (at % 2 === 1 ? h("span", { class: "whole" }, part) : part));
}

/** Writes a text with its parts in backticks as code; nothing if the element has it already. */
export function writeCoded(element: HTMLElement, text: string): void {
  if (element.dataset["text"] === text) return;
  element.dataset["text"] = text;
  element.replaceChildren(...coded(text));
}

/** Creates an SVG element, like `h`. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(element, properties);
  append(element, children);
  return element;
}

function assign(element: Element, properties: Properties): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === "string") parent.append(child);
    else if (child instanceof Node) parent.append(child);
    else append(parent, child);
  }
}

/**
 * Makes the children of an element equal to fresh ones, and keeps existing elements if possible, because a
 * click counts only if it ends on the element on which it began. Listeners must therefore be on the parent.
 */
export function update(parent: Element, fresh: readonly Element[]): void {
  fresh.forEach((child, index) => {
    const old = parent.children[index];
    if (old) copy(old, child);
    else parent.append(child);
  });
  while (parent.children.length > fresh.length) parent.lastElementChild?.remove();
}

function copy(old: Element, fresh: Element): void {
  if (old.tagName !== fresh.tagName) {
    old.replaceWith(fresh);
    return;
  }
  for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name) as string;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.childElementCount === 0 && fresh.childElementCount === 0) {
    if (old.textContent !== fresh.textContent) old.textContent = fresh.textContent;
    return;
  }
  const [now, then] = [[...old.childNodes], [...fresh.childNodes]];
  if (now.length !== then.length || now.some((node, index) => node.nodeType !== then[index]?.nodeType)) {
    old.replaceChildren(...then);
    return;
  }
  now.forEach((node, index) => {
    const other = then[index] as ChildNode;
    if (node instanceof Element) copy(node, other as Element);
    else if (node.nodeValue !== other.nodeValue) node.nodeValue = other.nodeValue;
  });
}

/** Splits a path or an address into parts, so that it may break only after its dots and arrows. */
export function breakable(text: string): (string | HTMLElement)[] {
  return text.split(/(?<=[.>/,])/).flatMap((part, index) => (index === 0 ? [part] : [h("wbr"), part]));
}

const widths = new WeakMap<Element, number>();
let resized: ResizeObserver | null = null;

/**
 * Returns the width of an element at the last layout. Reading it from the element lays the page out at once, which
 * takes long in the middle of a picture, when its tables have changed.
 */
export function widthOf(element: Element): number {
  const known = widths.get(element);
  if (known !== undefined) return known;
  resized ??= new ResizeObserver((entries) => {
    for (const { target } of entries) widths.set(target, target.clientWidth);
  });
  resized.observe(element);
  widths.set(element, element.clientWidth);
  return element.clientWidth;
}

/** Elements with the knowledge whether they are near the screen, which they are until the first layout. */
export class Sight {
  readonly #far = new WeakSet<Element>();
  readonly #watched = new WeakSet<Element>();
  readonly #observer: IntersectionObserver;

  /** `come` is called when an element comes near. */
  constructor(come: () => void) {
    this.#observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) this.#far.delete(target);
          else this.#far.add(target);
        if (entries.some(({ isIntersecting }) => isIntersecting)) come();
      },
      { rootMargin: "200px" },
    );
  }

  isNear(element: Element): boolean {
    if (!this.#watched.has(element)) {
      this.#watched.add(element);
      this.#observer.observe(element);
    }
    return !this.#far.has(element);
  }
}

let live: HTMLElement | null = null;

/** Announces a short message to screen readers, and shows it for a moment. */
export function announce(message: string): void {
  live ??= document.body.appendChild(h("div", { class: "toast", role: "status", "aria-live": "polite" }));
  live.textContent = message;
  live.classList.add("shown");
  window.setTimeout(() => live?.classList.remove("shown"), 2500);
}

/** Copies a text to the clipboard, by the deprecated method if the page may not use the current one. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.body.appendChild(h("textarea", { class: "offscreen", "aria-hidden": "true" }));
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce(`${what} copied`);
}

/** Downloads a file generated by the page. */
export function download(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
