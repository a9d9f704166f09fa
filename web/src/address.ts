/**
 * State of the view in the page's address: `#t=10..14&flow=call,game&port=router:modem`. A link to a page leads to
 * what its sender saw. An address without `=` is that of a section.
 */
import type { Selection } from "./selection";
import type { SharedWindow, Window } from "./shared-window";

/** State that an address can have. */
interface State {
  window: Window | null;
  flows: string[];
  port: string;
}

/** Reads the state of an address; parts that cannot be read are left out. */
export function readState(hash: string): State {
  const state: State = { window: null, flows: [], port: "" };
  if (!hash.includes("=")) return state;
  const parts = new Map(
    hash
      .replace(/^#/, "")
      .split("&")
      .map((part): [string, string] => [part.split("=")[0] ?? "", part.split("=").slice(1).join("=")]),
  );
  const decoded = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const [from, to] = (parts.get("t") ?? "")
    .split("..")
    .map((part) => (part === "" ? Number.NaN : Number(part)));
  if (from !== undefined && to !== undefined && Number.isFinite(from) && Number.isFinite(to) && from < to)
    state.window = [from, to];
  state.flows = (parts.get("flow") ?? "")
    .split(",")
    .map(decoded)
    .filter((name) => name !== "");
  state.port = decoded(parts.get("port") ?? "");
  return state;
}

/** Writes a state as the end of an address; empty for the default view. */
export function writeState({ window, flows, port }: State): string {
  const round = (value: number): string => String(Number(value.toPrecision(6)));
  // Written by hand, so that colons, commas and slashes of names stay readable.
  const name = (text: string): string => encodeURIComponent(text).replace(/%(3A|2F|40)/g, decodeURIComponent);
  const parts = [
    window === null ? "" : `t=${round(window[0])}..${round(window[1])}`,
    flows.length === 0 ? "" : `flow=${flows.map(name).join(",")}`,
    port === "" ? "" : `port=${name(port)}`,
  ];
  const text = parts.filter((part) => part !== "").join("&");
  return text === "" ? "" : `#${text}`;
}

/** Applies the state of the page's address, and keeps the address up to date. */
export function followAddress(selection: Selection, shared: SharedWindow): void {
  const apply = (): void => {
    const { window, flows, port } = readState(location.hash);
    const known = flows.filter((flow) => selection.ranked.includes(flow));
    if (known.length > 0) selection.showFlows(known);
    if (selection.ports.includes(port)) selection.showPort(port);
    if (window !== null) shared.show(window);
  };
  apply();
  let pending = 0;
  const write = (): void => {
    window.clearTimeout(pending);
    pending = window.setTimeout(() => {
      const hash = writeState({
        window: shared.window,
        flows: selection.chosen ?? [],
        port: selection.chosenPort ?? "",
      });
      // The address of a section stays until there is a state.
      if (hash === "" && !location.hash.includes("=")) return;
      history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
    }, 250);
  };
  selection.onChange(write);
  shared.onChange(write);
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) apply();
  });
}
