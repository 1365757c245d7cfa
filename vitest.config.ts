import { defineConfig, type TestProjectConfiguration } from "vitest/config";

const nodeEndurance = ["agent", "chaos", "endurance", "runtime"].map((folder) => `test/node/${folder}/**/*.test.ts`);

/** They start what takes minutes to build, or containers and servers of their own: they run when they are named, never because a file matches. */
const onlyByName: ReadonlySet<string> = new Set([
  "browser",
  "conformance",
  "sdks",
  "frameworks",
  "fuzz",
  "many",
  "upgrade",
  "kubernetes",
  "cluster",
  "cluster-life",
]);

/** Without --project all others: `vitest run test/contract/watch.test.ts` runs that file on the embedded servers and builds nothing. */
function chosenProjects<Project extends TestProjectConfiguration & { readonly test: { readonly name: string } }>(
  all: Project[],
): Project[] {
  const isVitest = process.argv[1]?.includes("vitest") === true;
  const isNamed = process.argv.some((argument) => /^--project(=|$)/.test(argument));
  return isVitest && !isNamed ? all.filter(({ test }) => !onlyByName.has(test.name)) : all;
}

/** How many times slower than usual the machine is: one that is emulated says 10 (test/vm). */
const slowness = Number(process.env["AGENTBOX_TEST_SLOWNESS"] ?? 1);

export default defineConfig({
  test: {
    alias: [{ find: /^fast-check$/, replacement: `${import.meta.dirname}/test/world/fast-check.ts` }],
    // Real servers answer when they can; a test says what happens, never how fast.
    testTimeout: 30_000,
    expect: { poll: { timeout: 25_000 * slowness } },
    projects: chosenProjects([
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "tools/**/*.test.ts",
            "test/world/**/*.test.ts",
            "test/mutants/**/*.test.ts",
            "test/faults/**/*.test.ts",
            "test/faults/**/*.test.ts",
          ],
        },
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
          include: [
            "test/node/**/*.test.ts",
            "test/monitoring/**/*.test.ts",
            "test/envd/**/*.test.ts",
            "test/images/**/*.test.ts",
            "test/fuzz/**/*.test.ts",
          ],
          exclude: nodeEndurance,
          fileParallelism: false,
          testTimeout: 120_000 * slowness,
          // Hooks start containers too, and a machine may be slow.
          hookTimeout: 120_000 * slowness,
        },
      },
      {
        extends: true,
        // The same, killed again and again or in great numbers: minutes each, in `make test-node`.
        test: { name: "node-endurance", include: nodeEndurance, fileParallelism: false, testTimeout: 300_000 },
      },
      {
        extends: true,
        // The web console in Debian's Chromium, over a real server: `make test-browser`.
        test: { name: "browser", include: ["test/browser/**/*.test.ts"], fileParallelism: false, testTimeout: 120_000 },
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
        // The packages of our own SDKs in clean environments, against a server with real sandboxes: needs root, and the registries.
        test: {
          name: "sdks",
          include: ["test/sdks/**/*.test.ts"],
          globalSetup: ["test/sdks/global-setup.ts"],
          fileParallelism: false,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        // Frameworks with their own suites, in environments of their own, against such a server.
        test: {
          name: "frameworks",
          include: ["test/frameworks/**/*.test.ts"],
          globalSetup: ["test/sdks/global-setup.ts"],
          fileParallelism: false,
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
        // Data of an earlier version, written by its own code out of git: `make test-upgrade`.
        test: { name: "upgrade", include: ["test/upgrade/**/*.test.ts"], fileParallelism: false, testTimeout: 300_000 },
      },
      {
        extends: true,
        test: {
          name: "kubernetes",
          include: ["test/contract/**/*.test.ts", "test/kubernetes/**/*.test.ts"],
          // Of the program that runs the embedded store, and of the documents; they have nothing to do with this server.
          exclude: ["test/contract/agentbox-process.test.ts", "test/contract/specification.test.ts"],
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
    ]),
  },
});
