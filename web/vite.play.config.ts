/**
 * The playground, twice from one source: a folder `play/` for any server and prefix, and one file `play.html` that opens
 * from a disk. The module is `target/play/lockgate.wasm` of the repository (`make play`), or `LOCKGATE_MODULE`.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build, defineConfig, type Plugin } from "vite";
import { encoded } from "./src/play/carried";

const here = import.meta.dirname;
const module = process.env["LOCKGATE_MODULE"] ?? resolve(here, "../target/play/lockgate.wasm");
/** The page of a report, for "Save report"; made by `npm run build`. */
const template = process.env["LOCKGATE_TEMPLATE"] ?? resolve(here, "dist/report.html");

const SCRIPT = { target: "es2022", modulePreload: { polyfill: false } } as const;

/** Returns the worker as one classic script. */
async function workerScript(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      target: "es2022",
      lib: { entry: resolve(here, "src/play/worker.ts"), formats: ["iife"], name: "lockgateWorker" },
    },
  });
  const [one] = [built].flat();
  if (!one || !("output" in one)) throw new Error("the worker is not built");
  return one.output[0].code;
}

/** Returns a module of the page, with all that it imports, as one script. */
async function oneScript(input: string): Promise<string> {
  const built = await build({
    configFile: false,
    root: here,
    logLevel: "silent",
    build: { ...SCRIPT, write: false, rolldownOptions: { input } },
  });
  const [one] = [built].flat();
  const chunks = one && "output" in one ? one.output.filter((part) => part.type === "chunk") : [];
  if (chunks.length !== 1) throw new Error(`one script was expected, not ${chunks.length}`);
  return chunks[0]?.code ?? "";
}

/** Returns the element of a policy. Styles are set by scripts too, for charts and the editor. */
function policy(scripts: string, workers: string, connections: string): string {
  const parts = [
    "default-src 'none'",
    `script-src ${scripts} 'wasm-unsafe-eval'`,
    `worker-src ${workers}`,
    `connect-src ${connections}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return `<meta http-equiv="Content-Security-Policy" content="${parts.join("; ")}" />`;
}

const CHARSET = '<meta charset="utf-8" />';
const withPolicy = (html: string, element: string): string =>
  html.replace(CHARSET, () => `${CHARSET}\n    ${element}`);
const packed = (content: string | Uint8Array): string => encoded(gzipSync(content, { level: 9 }));

/** Returns the page with everything in elements: its script packed, and a loader. */
function oneFile(html: string, styles: string, script: string, loader: string, worker: string): string {
  const safe = (text: string): string => text.replace(/<\/(script|style)/g, "<\\/$1");
  const code = `\n${safe(loader)}\n`;
  const hash = `'sha256-${createHash("sha256").update(code).digest("base64")}'`;
  const part = (id: string, text: string): string => `<script type="text/plain" id="${id}">${text}</script>`;
  const parts = [
    part("lockgate-worker", safe(worker)),
    part("lockgate-page", packed(script)),
    part("lockgate-module", packed(readFileSync(module))),
    ...(existsSync(template) ? [part("lockgate-template", packed(readFileSync(template)))] : []),
    `<script type="module">${code}</script>`,
  ];
  const bare = html
    .replace(/\s*<script type="module"[^>]*><\/script>/, "")
    .replace(/\s*<link rel="(stylesheet|modulepreload)"[^>]*>/g, "")
    .replace("</head>", () => `<style>${safe(styles)}</style>\n  </head>`)
    .replace(/\s*<\/body>/, () => `\n    ${parts.join("\n    ")}\n  </body>`);
  return withPolicy(bare, policy(`${hash} blob:`, "blob:", "'none'"));
}

/** Adds worker, module and policy to the folder, and writes the one file beside it. */
function playground(): Plugin {
  let folder = "";
  return {
    name: "playground",
    configResolved: (config) => {
      folder = resolve(config.root, config.build.outDir);
    },
    buildStart: () => {
      if (!existsSync(module)) throw new Error(`${module} is missing: \`make play\` builds it`);
    },
    generateBundle: {
      order: "post",
      async handler(_, bundle) {
        const worker = await workerScript();
        const all = Object.values(bundle);
        const page = all.find((one) => one.type === "asset" && one.fileName === "play.html");
        const styles = all.filter((one) => one.type === "asset" && one.fileName.endsWith(".css"));
        if (page?.type !== "asset") throw new Error("there is no page");
        const html = String(page.source);
        const style = styles.map((one) => (one.type === "asset" ? String(one.source) : "")).join("\n");
        const [code, loader] = [await oneScript("play.html"), await oneScript("src/play/loader.ts")];
        mkdirSync(folder, { recursive: true });
        writeFileSync(`${folder}.html`, oneFile(html, style, code, loader, worker));
        delete bundle["play.html"];
        const emit = (fileName: string, source: string | Uint8Array) =>
          this.emitFile({ type: "asset", fileName, source });
        // The module is loaded beside the scripts, not after them.
        const early = '<link rel="preload" href="lockgate.wasm" as="fetch" crossorigin />';
        emit("index.html", withPolicy(html, `${policy("'self'", "'self'", "'self'")}\n    ${early}`));
        emit("worker.js", worker);
        emit("lockgate.wasm", readFileSync(module));
        if (existsSync(template)) emit("report.html", readFileSync(template));
      },
    },
  };
}

export default defineConfig({
  root: here,
  base: "./",
  plugins: [playground()],
  build: {
    ...SCRIPT,
    outDir: join(here, "dist/play"),
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      input: "play.html",
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        // The charting library changes seldom: a browser keeps it over many versions of the page.
        codeSplitting: { groups: [{ name: "charts", test: /node_modules\/(echarts|zrender|tslib)\// }] },
      },
    },
  },
});
