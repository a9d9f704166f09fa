import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: "tests/build.ts",
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A busy machine takes longer than the default of a second to react to a click.
    expect: { poll: { timeout: 20_000 } },
    // The files with browsers wait more than they compute.
    maxWorkers: 3,
  },
});
