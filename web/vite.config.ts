import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** One page, one file: everything inlined, so that a report opens from a disk without any request. */
export default defineConfig({
  base: "./",
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: { input: "report.html" },
  },
});
