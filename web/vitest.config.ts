import { defineConfig } from "vitest/config";

export default defineConfig({
  // The three files with browsers wait more than they compute.
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 120_000, maxWorkers: 3 },
});
