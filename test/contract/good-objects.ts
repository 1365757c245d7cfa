/** Objects of our kinds that stand right beside a rule and are accepted: what would be refused by a rule that is too strict. */
import type { Json, JsonObject } from "#model/meta.ts";
import { containers, goodObjectsOf, smallest, type GoodObject } from "./object-corpus.ts";

const template = goodObjectsOf("template");
const pool = goodObjectsOf("pool");
const env = goodObjectsOf("env");
const checkpoint = goodObjectsOf("checkpoint");
const volume = goodObjectsOf("volume");

const withRuntimes = (...runtimes: readonly Json[]): JsonObject => ({ template: containers, runtimes });
const withMembers = (...members: readonly Json[]): JsonObject => ({ ...smallest.env, clusters: [{ clusterID: "local", members }] });
const withConfig = (config: JsonObject): JsonObject => withMembers({ name: "shell-a", config });
const withGroup = (group: JsonObject): JsonObject => ({
  ...withMembers({ name: "shell-a" }),
  autoscaling: { groups: [{ name: "default", ...group }] },
});

const templates: readonly GoodObject[] = [
  template("template that says nothing yet", {}),
  template("template name of 253 characters", smallest.template, { name: "a".repeat(253) }),
  template("template name with dots", smallest.template, { name: "shell.v1.example" }),
  template("template label value of 63 characters and an empty one", smallest.template, { labels: { long: "x".repeat(63), empty: "" } }),
  template("template with an empty list of finalizers", smallest.template, { finalizers: [] }),
  template("template with fields of a pod that no schema here knows", {
    template: { spec: { containers: [{ name: "a", fromTheFuture: { x: [1, "two", null] } }], alsoNew: true }, odd: 1 },
  }),
  template("template with no containers", { template: { metadata: {}, spec: { containers: [] } } }),
  template("template with an init container named like a container", {
    template: { spec: { containers: [{ name: "a" }], initContainers: [{ name: "a" }] } },
  }),
  template("template with an empty version", { ...smallest.template, version: "" }),
  template("template version without a v", { ...smallest.template, version: "1.0.0" }),
  template("template version with all parts", { ...smallest.template, version: "v1.2.3-rc.1+build.5" }),
  template("template without visibility rules", { ...smallest.template, visibility: { rules: [] } }),
  template("template with a rule for all callers", { ...smallest.template, visibility: { rules: [{ team: "", users: [] }, {}] } }),
  template("template with no runtimes", withRuntimes()),
  template("template with 32 runtimes", withRuntimes(...Array.from({ length: 32 }, (_, index) => ({ name: `r${index}` })))),
  template("template with the first and the last port", withRuntimes({ name: "a", port: 1, protocol: "UDP" }, { name: "b", port: 65535 })),
  template("template with a runtime config of any form", withRuntimes({ name: "a", config: { deep: { er: [null, 1, { x: "y" }] } } })),
  template("template with a probe port by name", withRuntimes({ name: "a", readinessProbe: { httpGet: { port: "http" } } })),
  template("template with a gRPC probe", withRuntimes({ name: "a", readinessProbe: { grpc: { port: 9000 } } })),
  template("template with a probe without delay", withRuntimes({ name: "a", readinessProbe: { exec: {}, initialDelaySeconds: 0 } })),
];

const pools: readonly GoodObject[] = [
  pool("pool without pods", { ...smallest.pool, replicas: 0 }),
  pool("pool with as many replicas as an int32 holds", { ...smallest.pool, replicas: 2147483647 }),
  pool("pool name of 63 characters", smallest.pool, { name: "a".repeat(63) }),
  pool("pool with an empty template of its own", { replicas: 1, template: {} }),
  pool("pool with both templates", { replicas: 1, templateName: "shell", template: containers }),
  pool("pool with fractional timeouts", { ...smallest.pool, defaultStartupTimeout: "1.5h", defaultIdleTimeout: "1h30m10s500ms" }),
  pool("pool with timeouts of zero", { ...smallest.pool, defaultStartupTimeout: "0", defaultIdleTimeout: "0s" }),
  pool("pool with an idle image and the template policy", {
    ...smallest.pool,
    idleImage: "host",
    podCreationImagePolicy: "PoolDefaultImage",
  }),
  pool("pool with fields left null", { ...smallest.pool, template: null, runtimes: null, podCreationImagePolicy: null }),
];

const envs: readonly GoodObject[] = [
  env("env of a template and nothing else", smallest.env),
  env("env that asks for jobs", { ...smallest.env, mode: "OnDemandJob" }),
  env("env with empty parts", { ...smallest.env, defaults: {}, clusters: [], autoscaling: {}, overrides: {} }),
  env("env with no groups", { ...smallest.env, autoscaling: { groups: [] } }),
  env("env with an empty cluster", { ...smallest.env, clusters: [{ clusterID: "local" }, { clusterID: "other", members: [] }] }),
  env("env with one member name in two clusters", {
    ...smallest.env,
    clusters: [
      { clusterID: "a", members: [{ name: "shell" }] },
      { clusterID: "b", members: [{ name: "shell" }] },
    ],
  }),
  env("env with defaults", { ...smallest.env, defaults: { instanceType: "m1", multiplier: 1 } }),
  env("env with a member name of 63 characters", withMembers({ name: "a".repeat(63) })),
  env("env with a member's pool as made", withMembers({ name: "shell-a", metadata: {}, spec: { replicas: 0 }, config: {} })),
  env("env with a member outside its bounds", withMembers({ name: "shell-a", spec: { replicas: 9 }, config: { maxReplicas: 3 } })),
  env("env with a member of equal bounds", withConfig({ minReplicas: 2, maxReplicas: 2 })),
  env("env with a member in no group", withConfig({ scalingGroup: "" })),
  env("env with a member's instance type and resources", withConfig({ instanceType: "m1", multiplier: 2, inlineResources: {} })),
  env("env with a member's multiplier of 0 and no instance type", withConfig({ multiplier: 0, instanceType: "" })),
  env("env with a member's negative priorities", withConfig({ priority: -1, scaleUpPriority: -2147483648, scaleDownPriority: 2147483647 })),
  env(
    "env with quantities of every sort",
    withConfig({ inlineResources: { limits: { cpu: 1, memory: "1.5Gi", "example.com/gpu": "1e3" } } }),
  ),
  env("env with a group of defaults", withGroup({})),
  env("env with a group of equal bounds", withGroup({ minReplicas: 4, maxReplicas: 4 })),
  env("env with a group of nothing", withGroup({ minReplicas: 0, maxReplicas: 0 })),
  env("env with a group that doubles up to a limit", withGroup({ maxReplicas: 8, scaleUpPolicy: { mode: "Aggressive" } })),
  env(
    "env with a group that never waits",
    withGroup({ scaleUpPolicy: { cooldownSeconds: 0 }, scaleDownPolicy: { protectionWindowSeconds: 0 } }),
  ),
];

const checkpoints: readonly GoodObject[] = [
  checkpoint("checkpoint of a sandbox and nothing else", smallest.checkpoint),
  checkpoint("checkpoint of a sandbox whose id has 63 characters", { sandboxID: "a".repeat(63) }),
  checkpoint("checkpoint with a name, a tag and another start", {
    ...smallest.checkpoint,
    alias: "base.next_1:V1.0",
    config: { env: { A: "1" }, user: "1000:1000", workingDir: "/srv", entrypoint: [], cmd: ["run", "-x"] },
  }),
  checkpoint("checkpoint of a sandbox of another cluster", { sandboxID: "west.0198c5a0_7f3e", keepRunning: false, ttlAfterFinished: "0s" }),
];

const volumes: readonly GoodObject[] = [
  volume("volume of the smallest size", smallest.volume),
  volume("volume of a tebibyte", { ...smallest.volume, sizeMiB: 1_048_576 }),
  volume("volume with a name of 128 characters", { ...smallest.volume, name: "Aa_-".repeat(32) }),
];

export const goodObjects: readonly GoodObject[] = [...templates, ...pools, ...envs, ...checkpoints, ...volumes];
