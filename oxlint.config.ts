import { defineConfig, type OxlintOverride } from "oxlint";

/**
 * Who may import whom (docs/ARCHITECTURE.md). A folder that is not named here may import nothing but itself.
 * `kube` in the list of engines means the port only: see below.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  model: ["lib"],
  kube: ["model", "lib"],
  sandbox: ["model", "lib"],
  scheduling: ["sandbox", "model", "lib"],
  autoscaling: ["sandbox", "model", "lib"],
  "daemon-client": ["envd-protocol", "sandbox", "model", "lib"],
  lifecycle: ["daemon-client", "sandbox", "kube", "store", "images", "model", "lib"],
  controllers: ["lifecycle", "daemon-client", "scheduling", "autoscaling", "sandbox", "kube", "store", "images", "plugins", "model", "lib"],
  services: [
    "lifecycle",
    "daemon-client",
    "envd-protocol",
    "scheduling",
    "autoscaling",
    "sandbox",
    "kube",
    "store",
    "images",
    "plugins",
    "model",
    "lib",
  ],
  store: ["model", "lib"],
  images: ["model", "lib"],
  plugins: ["model", "lib"],
  api: ["services", "model", "lib"],
  gateway: ["kube", "sandbox", "model", "envd-protocol", "lib"],
  engines: ["kube", "images", "model", "lib"],
  "envd-protocol": ["lib"],
  envd: ["envd-protocol", "lib"],
  client: ["model", "lib"],
  cli: ["client", "kube", "model", "lib"],
};

const layers = [...Object.keys(mayImport), "cmd"];

const walls = Object.entries(mayImport).map(([layer, allowed]): OxlintOverride => ({
  files: [`src/${layer}/**/*.ts`],
  excludeFiles: ["**/*.test.ts"],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          {
            group: layers.filter((other) => other !== layer && !allowed.includes(other)).map((other) => `#${other}/**`),
            message: `${layer} may import only: ${[layer, ...allowed].join(", ")} (docs/ARCHITECTURE.md).`,
          },
          { group: ["../../**/test/**", "**/../test/**"], message: "Product code does not import tests." },
          ...portOnly(layer),
        ],
      },
    ],
  },
}));

/** Engines and the command line know the port, not what is built on top of it; the node agent, itself a controller, may. */
function portOnly(layer: string): { regex: string; message: string }[] {
  if (layer !== "engines" && layer !== "cli") return [];
  return [
    {
      regex: "^#kube/(?!object-client\\.ts$|api-error\\.ts$|pod-access\\.ts$)",
      message: "Only the ports: #kube/object-client.ts, #kube/pod-access.ts, and #kube/api-error.ts.",
    },
  ];
}

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "promise", "node", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { typeAware: true },
  env: { node: true, es2024: true },
  ignorePatterns: ["node_modules", "coverage", "deploy"],
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
      files: ["src/engines/embedded/node/agent/**/*.ts", "src/engines/kubernetes/node-agent/**/*.ts"],
      rules: { "no-restricted-imports": "off" },
    },
    {
      files: ["**/*.test.ts", "test/**/*.ts", "bench/**/*.ts"],
      rules: {
        "max-lines-per-function": "off",
        "unicorn/consistent-function-scoping": "off",
        // Verbs of ours that fail a test by themselves.
        "vitest/expect-expect": ["error", { assertFunctionNames: ["expect*", "gone", "refusal", "until", "fc.assert"] }],
      },
    },
  ],
});
