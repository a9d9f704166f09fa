/** Start of the one file: unpacks the page's script, and runs it. */
import { unpacked } from "./carried";

const packed = document.getElementById("lockgate-page")?.textContent ?? "";
const script = new Blob([await unpacked(packed)], { type: "text/javascript" });
await import(/* @vite-ignore */ URL.createObjectURL(script));
