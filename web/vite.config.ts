import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/**
 * Starts the script after the first frame, which shows the answer that the page carries as elements: until then the
 * code is text, neither compiled nor run. A page that is not visible has no frames, and starts at once.
 */
const START = `const start = () => {
  if (start.done) return;
  start.done = true;
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = document.getElementById("lockgate-code").textContent;
  document.body.append(script);
};
if (document.visibilityState === "hidden") start();
requestAnimationFrame(() => setTimeout(start));
setTimeout(start, 400);`;

/** Moves the inlined script behind the contents of the page. */
function afterFirstFrame(): Plugin {
  return {
    name: "after-first-frame",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
          const html = String(file.source);
          const [whole = "", code = ""] = /<script type="module"[^>]*>(.*?)<\/script>/s.exec(html) ?? [];
          if (code === "") throw new Error("the page has no inlined script");
          const scripts = `<script type="text/plain" id="lockgate-code">${code}</script>\n<script type="module">${START}</script>\n`;
          // Functions, because a text to put in may contain `$`.
          file.source = html
            .replace(whole, () => "")
            .replace(/\s*<\/body>/, (end) => `\n    ${scripts}${end.trimStart()}`);
        }
      },
    },
  };
}

/** One page, one file: everything inlined, so that a report opens from a disk without any request. */
export default defineConfig({
  base: "./",
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), afterFirstFrame()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: { input: "report.html" },
  },
});
