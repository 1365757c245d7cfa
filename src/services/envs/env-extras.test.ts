/** What Envs have beside themselves: credentials, limits, refreshes and events. */
import { expect, test } from "vitest";
import { ConfigMaps, Events, Secrets } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { limitsConfigMap } from "#model/limits.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ApiError } from "#kube/api-error.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import { admin, ann, eve, failureOf } from "../../../test/world/service-scene.ts";
import { anEnvBody, autoscaled, baseImage, EnvScene, never } from "../../../test/world/env-service-scene.ts";

const py = { name: "py" };
const secretKey = { namespace: "default", name: "ips-py" };
const imagePullSecret = { registry: "registry.example.com", username: "robot", password: "hunter2hunter2" };

function pullSecretsOf(env: Awaited<ReturnType<EnvScene["stored"]>>): unknown {
  return env.spec.clusters?.[0]?.members?.[0]?.spec?.template?.spec?.imagePullSecrets;
}

test("registry credentials become a Secret of the Env that every pool names, and are neither answered nor logged", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(admin, anEnvBody("py", { imagePullSecret }), never);
  expect(pullSecretsOf(made)).toEqual([{ name: "ips-py" }]);
  const secret = await at.scene.client.get(Secrets, secretKey);
  expect([secret.type, secret.metadata.ownerReferences]).toMatchObject(["kubernetes.io/dockerconfigjson", [{ uid: made.metadata.uid }]]);
  const config: unknown = JSON.parse(Buffer.from(secret.data?.[".dockerconfigjson"] ?? "", "base64").toString());
  expect(config).toMatchObject({ auths: { "registry.example.com": { username: "robot", password: "hunter2hunter2" } } });
  const told = [made, await at.envs.get(admin, py), await at.envs.members(admin, py), at.scene.logged.lines];
  expect(JSON.stringify(told)).not.toContain("hunter2");
});

test("credentials stay when a replace does not speak of them, are changed by new ones, and go with null", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(admin, anEnvBody("py", { imagePullSecret }), never);
  const { spec } = made;
  const kept = await at.envs.replace(admin, py, { metadata: {}, spec }, never);
  expect(pullSecretsOf(kept)).toEqual([{ name: "ips-py" }]);
  await at.envs.replace(admin, py, { metadata: {}, spec, imagePullSecret: { ...imagePullSecret, password: "second" } }, never);
  const { data } = await at.scene.client.get(Secrets, secretKey);
  expect(Buffer.from(data?.[".dockerconfigjson"] ?? "", "base64").toString()).toContain("second");
  const without = await at.envs.replace(admin, py, { metadata: {}, spec, imagePullSecret: null }, never);
  expect(pullSecretsOf(without)).toBeUndefined();
  await expect(at.scene.client.get(Secrets, secretKey)).rejects.toMatchObject({ reason: "NotFound" });
});

test("a Secret that is not the Env's is not overwritten, and the Env is not made", async () => {
  await using at = await EnvScene.open();
  await at.scene.client.create(Secrets, { metadata: secretKey, data: {} });
  expect(await failureOf(at.envs.create(admin, anEnvBody("py", { imagePullSecret }), never))).toMatchObject({ code: "conflict" });
  expect((await at.scene.client.list(SandboxEnvs)).items).toEqual([]);
});

test("an Env whose credentials cannot be stored is taken back", async () => {
  const client = ({ client: real }: { readonly client: ObjectClient }): ObjectClient =>
    new Proxy(real, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target) as (...args: readonly unknown[]) => Promise<unknown>;
        if (name !== "create") return typeof member === "function" ? member.bind(target) : member;
        return (type: unknown, ...args: readonly unknown[]) =>
          type === Secrets ? Promise.reject(new ApiError("ServiceUnavailable", "no")) : member.call(target, type, ...args);
      },
    });
  await using at = await EnvScene.open({ client });
  expect(await failureOf(at.envs.create(admin, anEnvBody("py", { imagePullSecret }), never))).toMatchObject({ code: "unavailable" });
  expect((await at.scene.client.list(SandboxEnvs)).items).toEqual([]);
});

async function setLimits(at: EnvScene, everyTeam: Readonly<Record<string, number>>): Promise<void> {
  const { client, cache } = at.scene;
  const map = limitsConfigMap("default", { server: {}, everyTeam, teams: {} });
  cache.limits?.remember(await client.create(ConfigMaps, map));
}

test("members count as pools and pods of their team from the moment that they are written", async () => {
  await using at = await EnvScene.open();
  await setLimits(at, { pools: 3, pods: 10, podsPerPool: 6 });
  const { metadata } = await at.envs.create(
    ann,
    anEnvBody("one", {
      members: [
        { name: "a", replicas: 5 },
        { name: "b", replicas: 3 },
      ],
    }),
    never,
  );
  const env = { name: metadata.name ?? "" };
  const [first] = await at.envs.members(ann, env);
  const member = { env, member: first?.name ?? "" };
  expect(await failureOf(at.envs.create(ann, anEnvBody("two", { members: [{ name: "c", replicas: 3 }] }), never))).toMatchObject({
    details: { limit: { name: "pods" } },
  });
  expect(await failureOf(at.envs.scaleMember(ann, member, 7))).toMatchObject({ details: { limit: { name: "podsPerPool" } } });
  expect(await failureOf(at.envs.scaleMember(ann, member, 8))).toMatchObject({ code: "limit_reached" });
  await at.envs.scaleMember(ann, member, 1);
  await at.envs.create(ann, anEnvBody("two", { members: [{ name: "c", replicas: 3 }] }), never);
  expect(await failureOf(at.envs.addMember(ann, env, { name: "d", replicas: 0 }, never))).toMatchObject({
    details: { limit: { name: "pools" } },
  });
  await at.envs.create(eve, anEnvBody("one"), never);
});

test("plugins are not asked for the members of an Env that its team's limits refuse", async () => {
  const asked: string[] = [];
  const preCreatePool: PluginChain["preCreatePool"] = async (pool) => {
    asked.push(pool.metadata.name ?? "");
    return { object: pool };
  };
  await using at = await EnvScene.open({ plugins: { preCreatePool } });
  await setLimits(at, { pools: 3 });
  const members = (...names: string[]) => ({ members: names.map((name) => ({ name, replicas: 0 })) });
  const { metadata } = await at.envs.create(ann, anEnvBody("one", members("a", "b")), never);
  expect(asked).toHaveLength(2);
  const many = members(...Array.from({ length: 100 }, (_, index) => `m${index}`));
  expect(await failureOf(at.envs.create(ann, anEnvBody("two", many), never))).toMatchObject({ code: "limit_reached" });
  const env = { name: metadata.name ?? "" };
  await at.envs.addMember(ann, env, { name: "c", replicas: 0 }, never);
  expect(await failureOf(at.envs.addMember(ann, env, { name: "d", replicas: 0 }, never))).toMatchObject({ code: "limit_reached" });
  expect(asked).toHaveLength(3);
});

test("a team has plugins asked twice its pools in a minute, whatever it asks for; others and admins go on", async () => {
  let asked = 0;
  const preCreatePool: PluginChain["preCreatePool"] = async (pool) => {
    asked += 1;
    return { object: pool };
  };
  await using at = await EnvScene.open({ plugins: { preCreatePool } });
  await setLimits(at, { pools: 10 });
  const members = [{ name: "a" }, { name: "b" }];
  const { metadata } = await at.envs.create(ann, anEnvBody("one", { members }), never);
  // The same name again asks no plugin.
  expect(await failureOf(at.envs.create(ann, anEnvBody("one", { members }), never))).toMatchObject({ code: "conflict" });
  expect(asked).toBe(2);
  const refresh = (caller = ann) => at.envs.refresh(caller, { wanted: { name: metadata.name ?? "" }, dryRun: false }, never);
  for (let round = 0; round < 9; round++) await refresh();
  expect(asked).toBe(20);
  expect(await failureOf(refresh())).toMatchObject({ code: "rate_limited", details: { retryAfterSeconds: 3 } });
  expect(asked).toBe(20);
  await refresh(admin);
  await at.envs.create(eve, anEnvBody("one"), never);
  await at.scene.clock.step(6000);
  await refresh();
});

test("many members at once do not pass the limit together", async () => {
  await using at = await EnvScene.open();
  await setLimits(at, { pools: 3 });
  const made = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => at.envs.create(ann, anEnvBody(`e${index}`), never)));
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
});

test("Envs are counted by themselves: those whose members are in other clusters take no pool here", async () => {
  await using at = await EnvScene.open();
  await setLimits(at, { envs: 2 });
  const elsewhere = { clusters: [{ clusterID: "elsewhere", members: [{ name: "a" }] }] };
  const create = (name: string, caller = ann) => at.envs.create(caller, anEnvBody(name, { members: [] }, elsewhere), never);
  const { metadata } = await create("one");
  await create("two");
  expect(await failureOf(create("three"))).toMatchObject({ details: { limit: { name: "envs", limit: 2, used: 2 } } });
  await create("one", eve);
  const group = { env: { name: metadata.name ?? "" }, group: "default" };
  await at.envs.putGroup(ann, group, { maxReplicas: 3 });
});

test("a refresh shows what a new version of the template changes, and then does it; replicas stay", async () => {
  const asked: string[] = [];
  const plugins = { preCreatePool: async (pool: SandboxPool) => (asked.push(pool.metadata.name ?? ""), { object: pool }) };
  await using at = await EnvScene.open({ plugins });
  await at.template({ name: "base" }, { version: "v1.0.0" });
  await at.envs.create(
    admin,
    anEnvBody("py", { members: [{ name: "a", replicas: 4 }, { name: "b" }] }, { autoscaling: autoscaled(0, 9) }),
    never,
  );
  asked.length = 0;
  await at.template(
    { name: "base" },
    { version: "v2.0.0", template: { spec: { containers: [{ name: "main", image: "registry.invalid/app:2" }] } } },
  );
  const preview = await at.envs.refresh(admin, { wanted: py, dryRun: true }, never);
  expect(preview.members).toMatchObject([{ name: "a", templateVersion: { from: "v1.0.0", to: "v2.0.0" } }, { name: "b" }]);
  expect(preview.members[0]?.changes).toContainEqual({
    field: "spec.template.spec.containers[0].image",
    from: baseImage,
    to: "registry.invalid/app:2",
  });
  // A plugin may reserve something when it admits, so a preview does not ask.
  expect([asked, imagesOf(await at.stored("py"))]).toEqual([[], [baseImage, baseImage]]);

  expect(await at.envs.refresh(admin, { wanted: py, member: "a", dryRun: false }, never)).toMatchObject({
    dryRun: false,
    members: [{ name: "a" }],
  });
  const stored = await at.stored("py");
  expect([asked, imagesOf(stored), stored.spec.clusters?.[0]?.members?.[0]?.spec?.replicas]).toEqual([
    ["a"],
    ["registry.invalid/app:2", baseImage],
    4,
  ]);
  await at.envs.refresh(admin, { wanted: py, dryRun: false }, never);
  const again = await at.envs.refresh(admin, { wanted: py, dryRun: true }, never);
  expect(again.members.map(({ changes }) => changes)).toEqual([[], []]);
  expect(await failureOf(at.envs.refresh(admin, { wanted: py, member: "c", dryRun: true }, never))).toMatchObject({ code: "not_found" });
});

test("a refresh changes all members or none", async () => {
  let isFull = false;
  const refusal = { kind: "InsufficientResources", message: "no room", plugin: "capacity" } as const;
  const plugins = { preCreatePool: async (pool: SandboxPool) => (isFull && pool.metadata.name === "b" ? { refusal } : { object: pool }) };
  await using at = await EnvScene.open({ plugins });
  await at.envs.create(admin, anEnvBody("py", { members: [{ name: "a" }, { name: "b" }] }), never);
  await at.template(
    { name: "base" },
    { version: "v2.0.0", template: { spec: { containers: [{ name: "main", image: "registry.invalid/app:2" }] } } },
  );
  isFull = true;
  expect(await failureOf(at.envs.refresh(admin, { wanted: py, dryRun: false }, never))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("no room"),
  });
  expect(imagesOf(await at.stored("py"))).toEqual([baseImage, baseImage]);
});

test("an Env that stays with an earlier version of its template is not refreshed past it", async () => {
  await using at = await EnvScene.open();
  await at.template({ name: "base" }, { version: "v1.0.0" });
  await at.envs.create(admin, anEnvBody("py", {}, { templateRef: { name: "base", version: "v1.0.0" } }), never);
  await at.template({ name: "base" }, { version: "v2.0.0" });
  expect(await failureOf(at.envs.refresh(admin, { wanted: py, dryRun: true }, never))).toMatchObject({
    code: "conflict",
    details: { field: "spec.templateRef.version" },
  });
});

function imagesOf(env: Awaited<ReturnType<EnvScene["stored"]>>): readonly (string | undefined)[] {
  return (env.spec.clusters?.[0]?.members ?? []).map(({ spec }) => spec?.template?.spec?.containers[0]?.image);
}

test("events are those of the Env and of its pools, newest first", async () => {
  await using at = await EnvScene.open();
  const { client, cache } = at.scene;
  const env = await at.envs.create(admin, anEnvBody("py"), never);
  const pool = await client.create(SandboxPools, {
    metadata: { namespace: "default", name: "py-2c4gi", labels: { [labelKeys.env]: "py" } },
    spec: { replicas: 1, templateName: "base" },
  });
  cache.pools.remember(pool);
  const about = async (object: typeof env | typeof pool, reason: string, lastTimestamp: string): Promise<void> => {
    const { name = "", uid = "" } = object.metadata;
    await client.create(Events, {
      metadata: { namespace: "default", name: `e-${reason.toLowerCase()}` },
      involvedObject: { name, uid },
      reason,
      message: "x",
      lastTimestamp,
    });
  };
  await about(env, "Refreshed", "2026-01-01T00:00:00Z");
  await about(pool, "ScaleUp", "2026-01-02T00:00:00Z");
  expect(await at.envs.events(admin, py)).toMatchObject([
    { kind: "SandboxPool", name: "py-2c4gi", reason: "ScaleUp" },
    { kind: "SandboxEnv", name: "py", reason: "Refreshed" },
  ]);
});
