// Writes the sample reports beside the built page: `npm run build && npm run samples`.
import { readFileSync, writeFileSync } from "node:fs";
import { runnerImport } from "vite";

const { module } = await runnerImport("./tests/sample.ts");
const template = readFileSync("dist/report.html", "utf8");
for (const name of ["sample", "single", "compare", "edge"]) {
  writeFileSync(`dist/${name}.html`, module.fill(template, module[`${name}Report`]()));
}
