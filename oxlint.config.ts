import { defineConfig, type OxlintOverride } from "oxlint";

/**
 * Who may import whom (docs/ARCHITECTURE.md). A folder that is not named here may import nothing, and nothing may import it.
 * `kube` in the list of engines means the port only: see below.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  model: ["lib"],
  kube: ["model", "lib"],
  "engine-port": ["kube", "model", "lib"],
  "read-model": ["engine-port", "kube", "model", "lib"],
  sandbox: ["model", "lib"],
  scheduling: ["sandbox", "model", "lib"],
  autoscaling: ["sandbox", "model", "lib"],
  "daemon-client": ["envd-protocol", "sandbox", "model", "lib"],
  volumes: ["engine-port", "sandbox", "read-model", "kube", "model", "lib"],
  pools: ["sandbox", "read-model", "kube", "images", "plugins", "model", "lib"],
  life: [
    "engine-port",
    "pools",
    "daemon-client",
    "envd-protocol",
    "scheduling",
    "sandbox",
    "read-model",
    "kube",
    "store",
    "images",
    "model",
    "lib",
  ],
  controllers: [
    "engine-port",
    "life",
    "volumes",
    "pools",
    "daemon-client",
    "scheduling",
    "autoscaling",
    "sandbox",
    "read-model",
    "kube",
    "store",
    "images",
    "plugins",
    "model",
    "lib",
  ],
  services: [
    "engine-port",
    "life",
    "volumes",
    "pools",
    "daemon-client",
    "envd-protocol",
    "scheduling",
    "autoscaling",
    "sandbox",
    "read-model",
    "kube",
    "store",
    "images",
    "plugins",
    "model",
    "lib",
    "builds",
  ],
  store: ["model", "lib"],
  builds: ["model", "lib"],
  images: ["model", "lib"],
  "ready-templates": ["images", "model", "lib"],
  plugins: ["sandbox", "model", "lib"],
  api: ["services", "builds", "mcp", "model", "lib"],
  mcp: ["model", "lib"],
  gateway: ["read-model", "kube", "sandbox", "model", "envd-protocol", "lib"],
  engines: ["engine-port", "kube", "images", "model", "lib"],
  "envd-protocol": ["lib"],
  envd: ["envd-protocol", "lib"],
  client: ["model", "lib"],
  cli: ["client", "builds", "kube", "model", "lib"],
  dashboard: ["client", "model", "lib"],
};

const layers = [...Object.keys(mayImport), "cmd"];

/** How deep folders stand below a layer. A relative import may climb as far as the layer, not out of it. */
const depths = [0, 1, 2, 3, 4, 5];

/** `group` has patterns as in .gitignore: what begins with ! is allowed. Oxlint's `regex` knows no look-ahead. */
type Restriction = { readonly message: string } & ({ readonly regex: string } | { readonly group: string[] });

function wall(files: readonly string[], restrictions: readonly Restriction[]): OxlintOverride {
  return {
    files: [...files],
    excludeFiles: ["**/*.test.ts"],
    rules: { "no-restricted-imports": ["error", { patterns: [...restrictions] }] },
  };
}

/** Everything that does not begin with the name of a layer that may be imported. */
function onlyFrom(names: readonly string[], message: string): Restriction {
  return { group: ["#*/**", ...names.map((name) => `!#${name}${name.includes("/") ? ".ts" : "/**"}`)], message };
}

/** Engines and the command line know the ports of `kube`, not what is built on top of them. */
function portOnly(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => (name === "kube" ? ["kube/object-client", "kube/api-error", "kube/pod-access"] : [name]));
}

function notAbove(depth: number): Restriction {
  return { regex: `^(\\.\\./){${depth + 1}}`, message: "Out of a layer imports begin with # (docs/ARCHITECTURE.md)." };
}

/** A folder without a row here is closed: it may import nothing by name, and no other folder may import it. */
const closed = wall(
  ["src/**/*.ts"],
  [
    { regex: "^#", message: "This folder has no row in oxlint.config.ts: say there what it may import." },
    { regex: "^\\.\\./", message: "This folder has no row in oxlint.config.ts: say there what it may import." },
  ],
);

const pure = "A plan is pure: it imports sandbox, model, lib and other plans.";

const walls = [
  closed,
  ...layers.flatMap((layer) => {
    const allowed = mayImport[layer] ?? layers;
    const message = `${layer} may import only: ${[layer, ...allowed].join(", ")} (docs/ARCHITECTURE.md).`;
    const own = [onlyFrom([layer, ...(layer === "engines" || layer === "cli" ? portOnly(allowed) : allowed)], message)];
    return depths.map((depth) => wall([`src/${layer}/${"*/".repeat(depth)}*.{ts,tsx}`], [...own, notAbove(depth)]));
  }),
  // The node agents are controllers themselves, and a claim book follows the objects that its claims stand on: they use what is built on top of the port.
  ...Object.entries({ "kubernetes/claims/": 2, "embedded/node/agent/": 3, "embedded/node/agent/*/": 4, "kubernetes/node-agent/": 2 }).map(
    ([folder, depth]) =>
      wall(
        [`src/engines/${folder}*.ts`],
        [onlyFrom(["engines", ...(mayImport["engines"] ?? [])], "See the row of engines."), notAbove(depth)],
      ),
  ),
  // A plan is pure, so that tables and properties can test it.
  wall(
    ["src/life/*/plan-*.ts"],
    [onlyFrom(["sandbox", "model", "lib", "life/*/plan-*"], pure), { group: ["./*", "!./plan-*"], message: pure }, notAbove(0)],
  ),
];

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "promise", "node", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { typeAware: true },
  env: { node: true, es2024: true },
  ignorePatterns: ["node_modules", "coverage", "deploy", "**/*.generated.ts"],
  rules: {
    "max-lines": ["error", { max: 400, skipBlankLines: false, skipComments: false }],
    "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true, IIFEs: false }],
    complexity: ["error", { max: 12 }],
    "max-params": ["error", { max: 4 }],
    eqeqeq: "error",
    "no-console": "off",
    "no-await-in-loop": "off",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": "error",
    "typescript/consistent-type-imports": "error",
    // Wire JSON is `any` until it is given a shape; the shape is written where it is read.
    "typescript/no-unsafe-type-assertion": "off",
    // The compiler knows that an exhaustive switch returns; this rule does not.
    "typescript/consistent-return": "off",
    "import/no-cycle": "error",
    "import/extensions": "off",
    "import/no-unassigned-import": "off",
    // fast-check is known to everybody as fc.
    "import/no-named-as-default-member": "off",
    // Objects are shared and frozen; a changed copy is how things change.
    "oxc/no-map-spread": "off",
    // About Express, which loses what they throw; Fastify does not.
    "oxc/no-async-endpoint-handlers": "off",
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
  },
  overrides: [
    ...walls,
    {
      // Runs in browsers. What a component shows is one expression, however long.
      files: ["src/dashboard/**/*.{ts,tsx}"],
      env: { browser: true, node: false },
      rules: {
        "max-lines-per-function": ["error", { max: 120, skipBlankLines: true, skipComments: true, IIFEs: false }],
        // Every && of what is shown only sometimes counts.
        complexity: ["error", { max: 24 }],
        "unicorn/consistent-function-scoping": "off",
      },
    },
    {
      files: ["**/*.test.ts", "test/**/*.ts", "bench/**/*.ts"],
      rules: {
        "max-lines-per-function": "off",
        "unicorn/consistent-function-scoping": "off",
        // Verbs of ours that fail a test by themselves.
        "vitest/expect-expect": ["error", { assertFunctionNames: ["expect*", "gone", "refusal", "until", "terminal.shows", "fc.assert"] }],
      },
    },
  ],
});
