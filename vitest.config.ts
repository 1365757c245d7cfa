import { defineConfig } from "vitest/config";

const nodeEndurance = ["agent", "chaos", "endurance", "runtime"].map((folder) => `test/node/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    alias: [{ find: /^fast-check$/, replacement: `${import.meta.dirname}/test/world/fast-check.ts` }],
    // Real servers answer when they can; a test says what happens, never how fast.
    testTimeout: 30_000,
    expect: { poll: { timeout: 25_000 } },
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/world/**/*.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "contract",
          include: ["test/contract/**/*.test.ts", "test/crash/**/*.test.ts", "test/simulation/**/*.test.ts"],
          env: { AGENTBOX_TEST_SERVERS: "embedded,embedded-http" },
        },
      },
      {
        extends: true,
        // Real containers, mounts and network namespaces: needs root, and one file after the other on a small machine.
        test: {
          name: "node",
          include: ["test/node/**/*.test.ts", "test/envd/**/*.test.ts", "test/images/**/*.test.ts", "test/fuzz/**/*.test.ts"],
          exclude: nodeEndurance,
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        // The same, killed again and again or in great numbers: minutes each, in `make test-node`.
        test: { name: "node-endurance", include: nodeEndurance, fileParallelism: false, testTimeout: 300_000 },
      },
      {
        extends: true,
        // On SQLite and on a real PostgreSQL.
        test: {
          name: "history",
          include: ["test/history/**/*.test.ts"],
          globalSetup: ["test/history/global-setup.ts"],
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        // E2B's published SDKs against a server with real sandboxes: needs root, and the registries once.
        test: {
          name: "conformance",
          include: ["test/conformance/**/*.test.ts"],
          globalSetup: ["test/conformance/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        // The same files as in `node`, with as many cases as somebody has patience for: `make fuzz`.
        test: { name: "fuzz", include: ["test/fuzz/**/*.test.ts"], fileParallelism: false, testTimeout: 3_600_000 },
      },
      {
        extends: true,
        // Processes of AgentBox on API servers of their own, killed and left alone for long: minutes, in `make test-many`.
        test: { name: "many", include: ["test/many/**/*.test.ts"], fileParallelism: false, testTimeout: 240_000 },
      },
      {
        extends: true,
        test: {
          name: "kubernetes",
          include: ["test/contract/**/*.test.ts", "test/kubernetes/**/*.test.ts"],
          // Of the program that runs the embedded store; it has nothing to do with this server.
          exclude: ["test/contract/agentbox-process.test.ts"],
          env: { AGENTBOX_TEST_SERVERS: "kubernetes" },
          globalSetup: ["test/kubernetes/global-setup.ts"],
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        // Real pods on the cluster of `make cluster`, which stays.
        test: {
          name: "cluster",
          include: ["test/cluster/**/*.test.ts"],
          exclude: ["test/cluster/life/**"],
          globalSetup: ["test/cluster/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        // The same cluster killed, taken down and started anew: nobody else may be using it.
        test: {
          name: "cluster-life",
          include: ["test/cluster/life/**/*.test.ts"],
          globalSetup: ["test/cluster/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
        },
      },
    ],
  },
});
