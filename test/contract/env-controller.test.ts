import { afterEach, expect, test } from "vitest";
import { applyObject } from "#cli/apply/apply-object.ts";
import { systemClock } from "#lib/clock.ts";
import { conditionIn } from "#model/conditions.ts";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import { instanceTypesConfigMapName } from "#model/instance-types.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { EnvScene, type EnvSceneOptions } from "../world/env-scene.ts";
import { SteppedClock } from "../world/stepped-clock.ts";
import { gone, until } from "./helpers.ts";
import { describeServers } from "./servers.ts";

const { signal } = new AbortController();
const small: JsonObject = { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m" } };

describeServers("the Env controller", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  interface Started {
    readonly scene: EnvScene;
    readonly clock: SteppedClock;
    /** Name of the namespace, and of the template. */
    readonly name: string;
    readonly spec: (members: readonly Json[], more?: JsonObject) => JsonObject;
    readonly pool: (name: string, isSo: (pool: SandboxPool) => boolean) => Promise<SandboxPool>;
    readonly env: (isSo: (env: SandboxEnv) => boolean) => Promise<SandboxEnv>;
    readonly ready: (reason: string) => Promise<SandboxEnv>;
  }

  /** The controllers' time stands still unless a test steps it; servers have their own. */
  async function started(more: Partial<EnvSceneOptions> = {}): Promise<Started> {
    const clock = new SteppedClock(Date.now());
    const { client } = server();
    const name = await server().namespace();
    const pools = { protectionWindowMs: () => 0, pace: { statusEveryMs: 0 } };
    const envs = { pace: { statusEveryMs: 0, secretEveryMs: 0 } };
    const scene = await EnvScene.open({ client, clock, namespace: name, pools, envs, ...more });
    stop = async () => {
      await scene[Symbol.asyncDispose]();
      await client.delete(SandboxTemplates, { name }).catch(() => {});
    };
    await scene.createTemplate(name);
    const env = async (isSo: (env: SandboxEnv) => boolean): Promise<SandboxEnv> =>
      (await until(client, SandboxEnvs, { namespace: name, name: "shell" }, (one) => one !== undefined && isSo(one))) as SandboxEnv;
    return {
      scene,
      clock,
      name,
      spec: (members, rest = {}) => ({ templateRef: { name }, mode: "WarmPool", clusters: [{ clusterID: "local", members }], ...rest }),
      pool: async (poolName, isSo) =>
        (await until(client, SandboxPools, { namespace: name, name: poolName }, (one) => one !== undefined && isSo(one))) as SandboxPool,
      env,
      ready: (reason) => env((one) => conditionIn(one, "Ready")?.reason === reason),
    };
  }

  const members = ({ spec }: SandboxEnv) => spec.clusters?.[0]?.members ?? [];
  const readyPods = async ({ scene }: Started, count: number) => {
    for (;;) {
      const pods = await scene.pools.pods();
      if (pods.length >= count) {
        for (const pod of pods) await scene.pools.nodeReports(pod);
        return scene.pools.pods();
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  test("members that were written with config alone get pools, snapshots and a status", async () => {
    const world = await started();
    const config = { inlineResources: small, minReplicas: 2, labels: { tier: "a" } };
    const labels = { [labelKeys.team]: "red", [labelKeys.user]: "ann" };
    await world.scene.createEnv({
      name: "shell",
      metadata: { labels },
      spec: world.spec([
        { name: "shell-a", config },
        { name: "shell-b", config },
      ]),
    });
    const env = await world.ready("MembersActive");
    const pool = await world.pool("shell-a", () => true);
    expect(pool.metadata.labels).toEqual({
      tier: "a",
      [labelKeys.env]: "shell",
      [labelKeys.scalingGroup]: "default",
      [labelKeys.team]: "red",
      [labelKeys.user]: "ann",
    });
    expect(pool.metadata.annotations).toMatchObject({
      [annotationKeys.templateName]: world.name,
      [annotationKeys.templateVersion]: "v1.0.0",
    });
    expect(pool.metadata.ownerReferences).toMatchObject([{ kind: "SandboxEnv", name: "shell", uid: env.metadata.uid, controller: true }]);
    expect(pool.spec.templateName).toBeUndefined();
    expect(pool.spec.template?.spec?.containers[0]).toMatchObject({ image: "registry.invalid/app:1", resources: small });
    expect(members(env).map(({ spec }) => spec)).toEqual([pool.spec, pool.spec]);
    await world.env(({ status }) => status?.idleReplicas === 4);
    expect((await world.scene.env("shell")).status).toMatchObject({
      memberCount: 2,
      desiredReplicas: 4,
      templateVersion: "v1.0.0",
      clusters: [
        {
          clusterID: "local",
          isLocal: true,
          observedMembers: [{ name: "shell-a", state: "Active", effectiveResources: small }, { name: "shell-b" }],
        },
      ],
      scalingGroups: [{ name: "default", totalDesired: 4, totalIdle: 4 }],
      conditions: [
        { type: "Ready", status: "True" },
        { type: "TemplateConsistent", status: "True" },
        { type: "AutoscalingActive", status: "False", reason: "Disabled" },
      ],
    });
    expect(await world.scene.told()).toContain("Normal MemberCreated: pool shell-a was made, for 2 pods");
  });

  test("replicas and scaling group of a member reach its pool, and what others write on the pool is put right", async () => {
    const world = await started();
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }]) });
    await world.ready("MembersActive");
    await world.scene.setReplicas("shell", 0, 3);
    await world.pool("shell-a", ({ spec }) => spec.replicas === 3);
    const key = world.scene.pools.key("shell-a");
    const body = { metadata: { labels: { mine: "kept", [labelKeys.env]: "stolen" } }, spec: { replicas: 9, defaultIdleTimeout: "1h" } };
    await server().client.patch(SandboxPools, key, { type: "merge", body });
    const pool = await world.pool("shell-a", ({ spec, metadata }) => spec.replicas === 3 && metadata.labels?.[labelKeys.env] === "shell");
    expect([pool.spec.defaultIdleTimeout, pool.metadata.labels?.["mine"]]).toEqual([undefined, "kept"]);
    const operations = [{ op: "replace", path: "/spec/clusters/0/members/0/config/scalingGroup", value: "" }] as const;
    await server().client.patch(SandboxEnvs, world.scene.pools.key("shell"), { type: "json", operations });
    await world.pool("shell-a", ({ metadata }) => metadata.labels?.[labelKeys.scalingGroup] === undefined);
  });

  test("a second apply of the same file changes nothing about the pools, and the snapshots come back without asking a plugin", async () => {
    let asked = 0;
    const plugins = {
      preCreatePool: async (pool: SandboxPool) => {
        asked += 1;
        return { object: { ...pool, metadata: { ...pool.metadata, annotations: { ...pool.metadata.annotations, reservation: "r-1" } } } };
      },
      preDeletePool: async (pool: SandboxPool) => ({ object: pool }),
    };
    const world = await started({ envs: { plugins, pace: { statusEveryMs: 0 } } });
    const spec = world.spec([{ name: "shell-a", config: { inlineResources: small } }], {
      autoscaling: { groups: [{ name: "default", enabled: true }] },
    });
    const apply = async (): Promise<string> => {
      const object = { apiVersion: "agents.navix.sh/v1alpha1", kind: "SandboxEnv", metadata: world.scene.pools.key("shell"), spec };
      const { client } = server();
      const applying = { client, clock: systemClock, signal, dryRun: "none", fieldValidation: "Strict", warn: () => {} } as const;
      return applyObject(applying, {
        type: SandboxEnvs,
        namespace: world.name,
        name: "shell",
        object,
        source: "file",
      });
    };
    expect(await apply()).toBe("created");
    await world.ready("MembersActive");
    await world.scene.setReplicas("shell", 0, 5);
    const before = await world.pool("shell-a", ({ spec: { replicas } }) => replicas === 5);
    const snapshot = members(await world.scene.env("shell"));
    expect(await apply()).toBe("configured");
    const env = await world.env((one) => members(one)[0]?.spec?.template !== undefined && (one.metadata.generation ?? 0) > 3);
    expect(members(env)).toEqual(snapshot);
    const pool = await world.pool("shell-a", () => true);
    expect([pool.metadata.uid, pool.metadata.generation]).toEqual([before.metadata.uid, before.metadata.generation]);
    expect(asked).toBe(1);
  });

  test("an apply of a changed file renders the member anew, and a member that is not in it any more goes", async () => {
    const world = await started();
    const file = (cpu: string, ...names: string[]): JsonObject =>
      world.spec(names.map((name) => ({ name, config: { inlineResources: { limits: { cpu } } } })));
    await world.scene.createEnv({ name: "shell", spec: file("1", "shell-a", "shell-b") });
    await world.ready("MembersActive");
    await world.scene.changeEnv("shell", { spec: file("2", "shell-a") });
    await world.pool("shell-a", ({ spec }) => spec.template?.spec?.containers[0]?.resources?.limits?.["cpu"] === "2");
    await gone(server().client, SandboxPools, world.scene.pools.key("shell-b"));
    expect((await world.ready("MembersActive")).status?.memberCount).toBe(1);
  });

  test("the pool of a removed member stays until its sandboxes have ended", async () => {
    const world = await started();
    const { scene } = world;
    await scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }, { name: "shell-b", config: { minReplicas: 2 } }]) });
    await world.ready("MembersActive");
    const pods = await readyPods(world, 3);
    const pod = pods.find(({ metadata }) => metadata.labels?.[labelKeys.sandboxPool] === "shell-b");
    if (pod === undefined) throw new Error("the pool has no pod");
    const claimed = await scene.pools.claim(pod, "i1");
    await scene.changeEnv("shell", { spec: world.spec([{ name: "shell-a" }]) });
    const left = await world.pool("shell-b", ({ spec, status }) => spec.replicas === 0 && status?.replicas === 1);
    expect([left.metadata.deletionTimestamp, left.status?.runningReplicas]).toEqual([undefined, 1]);
    // The sandbox ends: its pod goes, and with the last pod the pool.
    await server().client.delete(Pods, scene.pools.key(claimed.metadata.name ?? ""));
    await gone(server().client, SandboxPools, scene.pools.key("shell-b"));
  });

  test("the pool of a removed member goes at once, with its sandboxes, where it is told so", async () => {
    const world = await started();
    const { scene } = world;
    await scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }, { name: "shell-b" }]) });
    await world.ready("MembersActive");
    const pods = await readyPods(world, 2);
    const pod = pods.find(({ metadata }) => metadata.labels?.[labelKeys.sandboxPool] === "shell-b");
    if (pod === undefined) throw new Error("the pool has no pod");
    await scene.pools.claim(pod, "i1");
    await world.pool("shell-b", ({ status }) => status?.runningReplicas === 1);
    const operations = [{ op: "remove", path: "/spec/clusters/0/members/1" }] as const;
    await server().client.patch(SandboxEnvs, scene.pools.key("shell"), { type: "json", operations });
    await world.pool("shell-b", ({ spec }) => spec.replicas === 0);
    const annotations = { [annotationKeys.endSandboxes]: "true" };
    await server().client.patch(SandboxPools, scene.pools.key("shell-b"), { type: "merge", body: { metadata: { annotations } } });
    await gone(server().client, SandboxPools, scene.pools.key("shell-b"));
  });

  test("a deleted Env stays until its sandboxes have ended, and says how to end them", async () => {
    const world = await started();
    const { scene } = world;
    await scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }]) });
    await world.ready("MembersActive");
    const [pod] = await readyPods(world, 1);
    if (pod === undefined) throw new Error("the pool has no pod");
    await scene.pools.claim(pod, "i1");
    await world.pool("shell-a", ({ status }) => status?.runningReplicas === 1);
    await server().client.delete(SandboxEnvs, scene.pools.key("shell"));
    const env = await world.ready("Deleting");
    expect(conditionIn(env, "Ready")?.message).toContain('agentbox.navix.sh/end-sandboxes: "true"');
    const pool = await world.pool("shell-a", ({ spec }) => spec.replicas === 0);
    expect([pool.metadata.deletionTimestamp, (await scene.pools.pods()).length]).toEqual([undefined, 1]);
    await scene.changeEnv("shell", { metadata: { annotations: { [annotationKeys.endSandboxes]: "true" } } });
    await gone(server().client, SandboxEnvs, scene.pools.key("shell"));
    expect(await scene.pools.allPods()).toEqual([]);
  });

  const alone: readonly Json[] = [{ name: "shell-a" }];
  const differing: readonly Json[] = [{ name: "shell-a" }, { name: "shell-b", config: { inlineResources: small } }];
  const grouped = (group: JsonObject): JsonObject => ({ autoscaling: { groups: [{ name: "default", enabled: true, ...group }] } });
  const sized = (instanceType: string, multiplier: number): readonly Json[] => [{ name: "shell-a", config: { instanceType, multiplier } }];

  // What the kind's own rules refuse is in bad-envs.ts.
  test.for<readonly [string, readonly Json[], JsonObject, string]>([
    ["NoMembers", [], {}, "spec.clusters: the Env has no members"],
    ["ResourcesDiffer", differing, {}, "spec.clusters[0].members[1].config.inlineResources: members of scaling group default"],
    [
      "BoundsContradict",
      [{ name: "shell-a", config: { maxReplicas: 4 } }],
      grouped({ minReplicas: 5 }),
      "spec.autoscaling.groups[0].minReplicas: minReplicas 5",
    ],
    [
      "TemplateMissing",
      alone,
      { templateRef: { name: "there-is-none" } },
      "spec.templateRef.name: there is no SandboxTemplate there-is-none",
    ],
    ["InstanceTypeMissing", sized("huge", 1), {}, 'spec.clusters[0].members[0].config.instanceType: there is no instance type "huge"'],
    ["MultiplierOutOfRange", sized("tiny", 9), {}, "spec.clusters[0].members[0].config.multiplier: instance type tiny takes a multiplier"],
  ])("%s: what is wrong is said with its field, and nothing is made until it is right", async ([reason, wrong, more, words]) => {
    const world = await started();
    const metadata = { namespace: world.name, name: instanceTypesConfigMapName };
    const data = { tiny: JSON.stringify({ resources: { limits: { cpu: "1" } }, maxMultiplier: 4 }) };
    await server().client.create(ConfigMaps, { metadata, data });
    await world.scene.createEnv({ name: "shell", spec: world.spec(wrong, more) });
    const env = await world.ready(reason);
    expect(conditionIn(env, "Ready")?.message).toContain(words);
    expect((await server().client.list(SandboxPools, { namespace: world.name })).items).toEqual([]);
    const right = { ...world.spec(alone), autoscaling: null, templateRef: { name: world.name } };
    await world.scene.changeEnv("shell", { spec: right });
    await world.ready("MembersActive");
  });

  test("of two Envs that name one pool the first has it, and the other one says so", async () => {
    const world = await started();
    await world.scene.createEnv({ name: "first", spec: world.spec([{ name: "shell-a" }]) });
    await world.pool("shell-a", ({ metadata }) => metadata.labels?.[labelKeys.env] === "first");
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }, { name: "shell-b" }]) });
    const env = await world.ready("PoolNameTaken");
    expect(conditionIn(env, "Ready")?.message).toContain("taken by Env first");
    expect((await server().client.list(SandboxPools, { namespace: world.name })).items).toHaveLength(1);
  });

  test("a new version of the template reaches no member by itself", async () => {
    const world = await started();
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }]) });
    await world.ready("MembersActive");
    const before = await world.pool("shell-a", () => true);
    const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:2" }] } };
    await server().client.patch(SandboxTemplates, { name: world.name }, { type: "merge", body: { spec: { version: "v1.1.0", template } } });
    const env = await world.env((one) => conditionIn(one, "TemplateConsistent")?.reason === "TemplateOutdated");
    expect(conditionIn(env, "TemplateConsistent")?.message).toContain("shell-a (v1.0.0); refresh");
    expect((await world.pool("shell-a", () => true)).spec).toEqual(before.spec);
    const pinned = world.spec([{ name: "shell-b" }], { templateRef: { name: world.name, version: "v1.0.0" } });
    await world.scene.createEnv({ name: "late", spec: pinned });
    await until(server().client, SandboxEnvs, { namespace: world.name, name: "late" }, (one) => {
      return one !== undefined && conditionIn(one, "Ready")?.reason === "TemplateVersionMissing";
    });
  });

  test("a member that a plugin refuses is missing with the plugin's reason, and is asked for again", async () => {
    let isRefusing = true;
    const refusal = { kind: "InsufficientResources", message: "no quota left", plugin: "quota", retryAfterMs: 1_000 } as const;
    const plugins = {
      preCreatePool: async (pool: SandboxPool) => (isRefusing ? { refusal } : { object: pool }),
      preDeletePool: async (pool: SandboxPool) => ({ object: pool }),
    };
    const world = await started({ envs: { plugins, pace: { statusEveryMs: 0 } } });
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }]) });
    const env = await world.ready("MemberMissing");
    expect(env.status?.clusters?.[0]?.observedMembers?.[0]).toMatchObject({ state: "Missing", message: "plugin quota: no quota left" });
    isRefusing = false;
    await world.clock.step(13_000);
    await world.ready("MembersActive");
  });

  test("registry credentials that come later are named by the pools", async () => {
    const world = await started();
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }]) });
    await world.ready("MembersActive");
    const data = { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") };
    const type = "kubernetes.io/dockerconfigjson";
    await server().client.create(Secrets, { metadata: world.scene.pools.key("ips-shell"), type, data });
    await world.clock.step(13_000);
    const pool = await world.pool("shell-a", ({ spec }) => spec.template?.spec?.imagePullSecrets !== undefined);
    expect(pool.spec.template?.spec?.imagePullSecrets).toEqual([{ name: "ips-shell" }]);
  });

  test("writers of two members of one Env lose nothing of each other (W3)", async () => {
    const world = await started();
    await world.scene.createEnv({ name: "shell", spec: world.spec([{ name: "shell-a" }, { name: "shell-b" }]) });
    await world.ready("MembersActive");
    const count = async (member: number): Promise<void> => {
      for (let replicas = 1; replicas <= 8;) {
        const env = await world.scene.env("shell");
        const operations = [
          { op: "test", path: "/metadata/resourceVersion", value: env.metadata.resourceVersion ?? "" },
          { op: "replace", path: `/spec/clusters/0/members/${member}/spec/replicas`, value: replicas },
        ] as const;
        const written = await server()
          .client.patch(SandboxEnvs, world.scene.pools.key("shell"), { type: "json", operations })
          .catch(() => undefined);
        if (written === undefined) continue;
        expect(members(written)[1 - member]?.spec?.replicas).toBe(members(env)[1 - member]?.spec?.replicas);
        replicas += 1;
      }
    };
    await Promise.all([count(0), count(1)]);
    await Promise.all(["shell-a", "shell-b"].map((name) => world.pool(name, ({ spec }) => spec.replicas === 8)));
  });

  test("segments of other clusters stay as they are", async () => {
    const world = await started();
    const far = { clusterID: "far", members: [{ name: "far-a" }] };
    const spec = world.spec([]);
    await world.scene.createEnv({
      name: "shell",
      spec: { ...spec, clusters: [far, { clusterID: "local", members: [{ name: "shell-a" }] }] },
    });
    await world.ready("MembersActive");
    const foreign = {
      clusterID: "far",
      isLocal: false,
      observedMembers: [{ name: "far-a", state: "Active", idleCount: 4, desiredReplicas: 5 }],
    };
    const operations = [{ op: "add", path: "/status/clusters/-", value: foreign }] as const;
    await server().client.patch(SandboxEnvs, world.scene.pools.key("shell"), { type: "json", operations }, { subresource: "status" });
    await readyPods(world, 1);
    const change = [{ op: "replace", path: "/spec/clusters/1/members/0/spec/replicas", value: 2 }] as const;
    await server().client.patch(SandboxEnvs, world.scene.pools.key("shell"), { type: "json", operations: change });
    const env = await world.env(({ status }) => status?.desiredReplicas === 7);
    expect(env.status?.clusters?.find(({ clusterID }) => clusterID === "far")).toEqual(foreign);
    expect(env.spec.clusters?.[0]?.members?.[0]).not.toHaveProperty("spec");
    expect((await server().client.list(SandboxPools, { namespace: world.name })).items).toHaveLength(1);
  });
});
