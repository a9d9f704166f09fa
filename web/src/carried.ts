/** The data that a page carries in its element `lockgate-data`: JSON, as it is or compressed by gzip in base64. */

/** Returns the carried data; an error of the promise says why they cannot be read. */
export async function carriedData(): Promise<object> {
  const element = document.getElementById("lockgate-data");
  const text = element?.textContent ?? "{}";
  return JSON.parse(element?.dataset.encoding === "gzip" ? await decompressed(text) : text);
}

async function decompressed(base64: string): Promise<string> {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot decompress them; browsers from 2023 on can");
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
