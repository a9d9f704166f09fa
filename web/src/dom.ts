/** Elements without ceremony. Text is always set as text, never parsed: names come from a user's file. */

type Child = Node | string | null | undefined | false | readonly Child[];
type Properties = Record<string, string | number | boolean | ((event: never) => void) | null | undefined>;

/** Makes an element: functions become listeners (`onclick`), `true` an empty attribute, null and false nothing. */
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

/** The same for elements of SVG. */
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

/** Makes the children of an element equal to fresh ones. Elements stay where they can, because a click counts only if it
 * ends on the element on which it began: listeners belong to the parent then. */
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

/** A path or an address that may be broken after its dots and arrows, and nowhere else. */
export function breakable(text: string): (string | HTMLElement)[] {
  return text.split(/(?<=[.>/,])/).flatMap((part, index) => (index === 0 ? [part] : [h("wbr"), part]));
}

let live: HTMLElement | null = null;

/** Says a short message to those who listen to the page, and shows it for a moment to those who see it. */
export function announce(message: string): void {
  live ??= document.body.appendChild(h("div", { class: "toast", role: "status", "aria-live": "polite" }));
  live.textContent = message;
  live.classList.add("shown");
  window.setTimeout(() => live?.classList.remove("shown"), 2500);
}

/** Puts a text on the clipboard, by the old way where the page is not allowed the new one. */
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

/** Hands the reader a file made here. */
export function download(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
