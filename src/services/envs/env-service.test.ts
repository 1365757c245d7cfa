import { expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { admin, ann, bob, eve, failureOf, nobody, redTeam, wordsOf } from "../../../test/world/service-scene.ts";
import { anEnvBody, autoscaled, baseImage, EnvScene, never } from "../../../test/world/env-service-scene.ts";

const py = { name: "py" };
const firstSchedule = "spec.autoscaling.groups[0].schedules[0]";
const scheduled = (wrong: { readonly start?: string; readonly timeZone?: string }) => ({
  groups: [{ name: "default", schedules: [{ name: "day", start: "0 8 * * *", durationSeconds: 60, minReplicas: 1, ...wrong }] }],
});

test("an Env is made with a pool for each member, rendered by the server from its template", async () => {
  await using at = await EnvScene.open();
  const env = await at.envs.create(admin, anEnvBody("py"), never);
  expect(env.spec.clusters).toMatchObject([
    {
      clusterID: "local",
      members: [
        {
          name: "py-2c4gi",
          metadata: { annotations: { [annotationKeys.templateName]: "base" } },
          spec: { replicas: 1, template: { spec: { containers: [{ image: baseImage, resources: { limits: { cpu: 2 } } }] } } },
        },
      ],
    },
  ]);
  expect((await at.envs.list(admin, {})).items.map(({ metadata }) => metadata.name)).toEqual(["py"]);
  expect((await at.envs.get(eve, py)).metadata.name).toBe("py");
});

test("a snapshot in a body is not stored: a tenant could put any pod into it", async () => {
  await using at = await EnvScene.open();
  const evil = { spec: { containers: [{ name: "main", image: "registry.invalid/evil:1" }], hostNetwork: true } };
  const members = [{ name: "m", config: {}, metadata: { labels: { [labelKeys.team]: "blue" } }, spec: { replicas: 2, template: evil } }];
  const body = anEnvBody("py", { members: [] }, { clusters: [{ clusterID: "local", members }] });
  const made = await at.envs.create(ann, body, never);
  const [member] = made.spec.clusters?.[0]?.members ?? [];
  expect(JSON.stringify(made)).not.toContain("evil");
  expect(member?.metadata?.labels).toMatchObject({ [labelKeys.team]: "red", [labelKeys.user]: "ann" });
  expect(member?.spec?.replicas).toBe(2);
  const replaced = await at.envs.replace(
    ann,
    { name: made.metadata.name ?? "" },
    { ...made, spec: { ...made.spec, clusters: [{ clusterID: "local", members: [{ ...members[0], name: member?.name ?? "" }] }] } },
    never,
  );
  expect(JSON.stringify(replaced)).not.toContain("evil");
});

test("I8: another tenant's Env answers as if it did not exist, in every use case", async () => {
  await using at = await EnvScene.open();
  const { metadata } = await at.envs.create(ann, anEnvBody("py"), never);
  const name = metadata.name ?? "";
  expect(name).toMatch(/^py-[a-z0-9]{8}$/);
  const member = (await at.envs.members(ann, { name }))[0]?.name ?? "";
  expect(member).toBe(name.replace(/^py/, "py-2c4gi"));
  expect((await at.envs.list(eve, {})).items).toEqual([]);
  const uses = (env: { readonly name: string }): readonly (() => Promise<unknown>)[] => [
    () => at.envs.get(eve, env),
    () => at.envs.replace(eve, env, anEnvBody(env.name, { members: undefined as never }), never),
    () => at.envs.delete(eve, env, true),
    () => at.envs.members(eve, env),
    () => at.envs.member(eve, { env, member }),
    () => at.envs.addMember(eve, env, {}, never),
    () => at.envs.updateMember(eve, { env, member }, {}, never),
    () => at.envs.removeMember(eve, { env, member }),
    () => at.envs.scaleMember(eve, { env, member }, 3),
    () => at.envs.groups(eve, env),
    () => at.envs.group(eve, { env, group: "default" }),
    () => at.envs.putGroup(eve, { env, group: "default" }, {}),
    () => at.envs.deleteGroup(eve, { env, group: "default" }),
    () => at.envs.autoscaling(eve, env),
    () => at.envs.events(eve, env),
    () => at.envs.refresh(eve, { wanted: env, dryRun: false }, never),
  ];
  const none = { name: "none" };
  for (const [index, use] of uses({ name }).entries()) {
    const [foreign, missing] = [await failureOf(use()), await failureOf((uses(none)[index] ?? use)())];
    expect([index, wordsOf(foreign, name)]).toEqual([index, wordsOf(missing, none.name)]);
    expect(foreign.code).toBe("not_found");
  }
});

test("a team's Env is changed by keys of the team, seen by its users, and an admin's by admins only", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(redTeam, anEnvBody("py"), never);
  const name = made.metadata.name ?? "";
  expect((await at.envs.get(bob, { name })).metadata.name).toBe(name);
  expect(await failureOf(at.envs.delete(bob, { name }, false))).toMatchObject({ code: "forbidden" });
  await at.envs.create(admin, anEnvBody("all"), never);
  expect(await failureOf(at.envs.scaleMember(ann, { env: { name: "all" }, member: "all-2c4gi" }, 0))).toMatchObject({ code: "forbidden" });
  expect(await failureOf(at.envs.create(nobody, anEnvBody("x"), never))).toMatchObject({ code: "forbidden" });
});

test("a team's key adds members to a user's Env under the user's mark", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(ann, anEnvBody("py"), never);
  const name = made.metadata.name ?? "";
  const mark = name.slice("py".length);
  const config = { scalingGroup: "big" };
  expect(await at.envs.addMember(redTeam, { name }, { name: "more", config }, never)).toMatchObject({ name: `more${mark}` });
  expect(await at.envs.addMember(redTeam, { name }, { config }, never)).toMatchObject({ name: `py-default${mark}` });
});

test("a tenant builds only on templates that it sees, and on images that the template allows", async () => {
  await using at = await EnvScene.open();
  await at.template({ name: "blues" }, { visibility: { rules: [{ team: "blue" }] } });
  const from = (name: string) => anEnvBody("py", {}, { templateRef: { name } });
  const [hidden, missing] = [
    await failureOf(at.envs.create(ann, from("blues"), never)),
    await failureOf(at.envs.create(ann, from("nope"), never)),
  ];
  expect(wordsOf(hidden, "blues")).toBe(wordsOf(missing, "nope"));
  const image = (one: string) => anEnvBody("py", {}, { overrides: { image: one } });
  expect(await failureOf(at.envs.create(ann, image("registry.invalid/secret:1"), never))).toMatchObject({
    code: "invalid_request",
    details: { field: "spec.overrides.image" },
  });
  expect((await at.envs.create(ann, image("registry.invalid/app:2"), never)).spec.overrides?.image).toBe("registry.invalid/app:2");
  await at.envs.create(admin, image("registry.invalid/secret:1"), never);
});

test.each<[string, Parameters<typeof anEnvBody>[1], Parameters<typeof anEnvBody>[2], string]>([
  ["without members", { members: [] }, {}, "spec.clusters"],
  ["of an unknown template", {}, { templateRef: { name: "nope" } }, "spec.templateRef.name"],
  ["of an unknown version", {}, { templateRef: { name: "base", version: "v9.0.0" } }, "spec.templateRef.version"],
  ["with a group that has no members", {}, { autoscaling: { groups: [{ name: "other" }] } }, "spec.autoscaling.groups[0].name"],
  [
    "with members of one group and different resources",
    {
      members: [
        { name: "a", config: { inlineResources: { limits: { cpu: 1 } } } },
        { name: "b", config: { inlineResources: { limits: { cpu: 2 } } } },
      ],
    },
    {},
    "spec.clusters[0].members[1].config.inlineResources",
  ],
  ["with a minimum above the maximum", {}, { autoscaling: autoscaled(3, 2) }, "spec.autoscaling.groups[0].minReplicas"],
  ["with a schedule that is no cron expression", {}, { autoscaling: scheduled({ start: "0 25 * * *" }) }, `${firstSchedule}.start`],
  ["with a schedule in no time zone", {}, { autoscaling: scheduled({ timeZone: "Mars/Olympus" }) }, `${firstSchedule}.timeZone`],
  [
    "with an unknown instance type",
    { members: [{ config: { instanceType: "huge", multiplier: 1 } }] },
    {},
    "spec.clusters[0].members[0].config.instanceType",
  ],
  ["with two members of one name", { members: [{ name: "a" }, { name: "a" }] }, {}, "members[1].name"],
  [
    "with credentials of no registry",
    { imagePullSecret: { registry: "https://r/x", username: "u", password: "p" } },
    {},
    "imagePullSecret.registry",
  ],
])("an Env %s is refused with its field, and nothing is made", async (_, more, spec, field) => {
  await using at = await EnvScene.open();
  expect(await failureOf(at.envs.create(admin, anEnvBody("py", more, spec), never))).toMatchObject({
    code: "invalid_request",
    details: { field },
  });
  expect((await at.scene.client.list(SandboxEnvs)).items).toEqual([]);
});

test("two Envs cannot have one pool name", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("one", { members: [{ name: "shared" }] }), never);
  expect(await failureOf(at.envs.create(admin, anEnvBody("two", { members: [{ name: "shared" }] }), never))).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("Env one"),
  });
});

test("a server without a cluster id shows Envs and writes none", async () => {
  await using at = await EnvScene.open({ cluster: { engine: "kubernetes" } });
  expect(await failureOf(at.envs.create(admin, anEnvBody("py"), never))).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("cluster id"),
  });
  expect((await at.envs.list(admin, {})).items).toEqual([]);
  expect(await at.envs.clusters(admin)).toEqual([{ engine: "kubernetes", isLocal: true }]);
});

test("clusters are this server's and those that visible Envs name", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(
    admin,
    anEnvBody("py", {}, { clusters: [{ clusterID: "eu", members: [{ name: "py-eu", config: { scalingGroup: "eu" } }] }] }),
    never,
  );
  expect(await at.envs.clusters(admin)).toEqual([
    { id: "local", engine: "embedded", isLocal: true },
    { id: "eu", isLocal: false },
  ]);
});

test("members of another cluster stay as they are, whatever a replace leaves out, and cannot be changed here", async () => {
  await using at = await EnvScene.open();
  const eu = { clusterID: "eu", members: [{ name: "py-eu", config: { scalingGroup: "eu" } }] };
  const made = await at.envs.create(admin, anEnvBody("py", {}, { clusters: [eu] }), never);
  const local = made.spec.clusters?.find(({ clusterID }) => clusterID === "local");
  const without = await at.envs.replace(admin, py, { metadata: {}, spec: { ...made.spec, clusters: local ? [local] : [] } }, never);
  expect(without.spec.clusters?.find(({ clusterID }) => clusterID === "eu")).toEqual(eu);
  const changed = { ...eu, members: [{ name: "py-eu", config: { scalingGroup: "eu", minReplicas: 4 } }] };
  expect(await failureOf(at.envs.replace(admin, py, { metadata: {}, spec: { ...made.spec, clusters: [changed] } }, never))).toMatchObject({
    code: "invalid_request",
  });
  expect(await failureOf(at.envs.removeMember(admin, { env: py, member: "py-eu" }))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("eu"),
  });
});

test("W3: a replace keeps the number that the autoscaler has written meanwhile", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(admin, anEnvBody("py", {}, { autoscaling: autoscaled(0, 9) }), never);
  await at.changeBehind("py", (env) => withReplicas(env, 7));
  const body = { ...made, metadata: { name: "py" }, spec: { ...made.spec, overrides: { defaultIdleTimeout: "5m" } } };
  const replaced = await at.envs.replace(admin, py, body, never);
  expect(replaced.spec.clusters?.[0]?.members?.[0]?.spec).toMatchObject({ replicas: 7, defaultIdleTimeout: "5m" });
});

test("W3: writers of different members at once lose nothing of each other", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("py"), never);
  const config = { scalingGroup: "more" };
  const added = ["a", "b", "c"].map((name) => at.envs.addMember(admin, py, { name, config, replicas: 2 }, never));
  await Promise.all([...added, at.envs.scaleMember(admin, { env: py, member: "py-2c4gi" }, 5)]);
  const members = (await at.stored("py")).spec.clusters?.[0]?.members?.map(({ name, spec }) => `${name}=${spec?.replicas}`);
  expect(members?.toSorted()).toEqual(["a=2", "b=2", "c=2", "py-2c4gi=5"]);
});

test("with a resourceVersion a replace is refused once the Env has changed", async () => {
  await using at = await EnvScene.open();
  const made = await at.envs.create(admin, anEnvBody("py"), never);
  await at.changeBehind("py", (env) => withReplicas(env, 3));
  expect(await failureOf(at.envs.replace(admin, py, made, never))).toMatchObject({ code: "conflict" });
});

test("a member is scaled by hand, and refused where an autoscaler sets the number", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("py"), never);
  const member = { env: py, member: "py-2c4gi" };
  expect(await at.envs.scaleMember(admin, member, 4)).toMatchObject({ replicas: 4, replicasSetBy: "hand" });
  await at.envs.putGroup(admin, { env: py, group: "default" }, { enabled: true, maxReplicas: 9 });
  const refused = await failureOf(at.envs.scaleMember(admin, member, 5));
  expect(refused).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("its autoscaler sets replicas; change minReplicas/maxReplicas or disable the group"),
  });
  expect(await failureOf(at.envs.updateMember(admin, member, { replicas: 5 }, never))).toMatchObject({ code: "conflict" });
  await at.envs.putGroup(admin, { env: py, group: "default" }, { enabled: false });
  expect((await at.envs.scaleMember(admin, member, 5)).replicas).toBe(5);
});

test("a member is changed, and rendered anew only when its pods change", async () => {
  const seen: SandboxPool[] = [];
  const plugins = {
    preCreatePool: async (pool: SandboxPool) => {
      seen.push(pool);
      return { object: { ...pool, metadata: { ...pool.metadata, labels: { ...pool.metadata.labels, plugin: "was-here" } } } };
    },
  };
  await using at = await EnvScene.open({ plugins });
  const made = await at.envs.create(admin, anEnvBody("py"), never);
  expect(made.spec.clusters?.[0]?.members?.[0]?.metadata?.labels).toMatchObject({ plugin: "was-here" });
  const inlineResources = { limits: { cpu: 2, memory: "4Gi" } };
  const member = { env: py, member: "py-2c4gi" };
  await at.envs.updateMember(admin, member, { config: { inlineResources, minReplicas: 1, maxReplicas: 3, priority: 2 } }, never);
  expect(seen).toHaveLength(1);
  const grown = await at.envs.updateMember(admin, member, { config: { inlineResources: { limits: { cpu: 4, memory: "4Gi" } } } }, never);
  expect([seen.length, grown.config.minReplicas]).toEqual([2, undefined]);
  const [stored] = (await at.stored("py")).spec.clusters?.[0]?.members ?? [];
  expect(stored?.spec).toMatchObject({ replicas: 1, template: { spec: { containers: [{ resources: { limits: { cpu: 4 } } }] } } });
});

test("what a plugin refuses is told with its reason, and nothing is written", async () => {
  const refusal = { kind: "InsufficientResources", message: "the rack is full", plugin: "capacity" } as const;
  await using at = await EnvScene.open({ plugins: { preCreatePool: async () => ({ refusal }) } });
  expect(await failureOf(at.envs.create(admin, anEnvBody("py"), never))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("the rack is full"),
    details: { field: "spec.clusters[0].members[0]" },
  });
  expect((await at.scene.client.list(SandboxEnvs)).items).toEqual([]);
});

test("a member goes, unless it is the last one of the Env or of a group with a policy", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("py"), never);
  expect(await failureOf(at.envs.removeMember(admin, { env: py, member: "py-2c4gi" }))).toMatchObject({
    message: expect.stringContaining("delete the Env instead"),
  });
  await at.envs.addMember(admin, py, { name: "more", config: { scalingGroup: "more" } }, never);
  await at.envs.putGroup(admin, { env: py, group: "more" }, { enabled: true });
  expect(await failureOf(at.envs.removeMember(admin, { env: py, member: "more" }))).toMatchObject({
    message: expect.stringContaining("delete the group first"),
  });
  await at.envs.deleteGroup(admin, { env: py, group: "more" });
  await at.envs.removeMember(admin, { env: py, member: "more" });
  expect((await at.envs.members(admin, py)).map(({ name }) => name)).toEqual(["py-2c4gi"]);
  expect(await failureOf(at.envs.removeMember(admin, { env: py, member: "more" }))).toMatchObject({ code: "not_found" });
});

test("the policy of a group is set, read and taken away; one that has no members is refused", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("py"), never);
  const group = { env: py, group: "default" };
  expect(await failureOf(at.envs.group(admin, group))).toMatchObject({ code: "not_found" });
  const set = await at.envs.putGroup(admin, group, { enabled: true, maxReplicas: 5, scaleUpPolicy: { mode: "Demand" } });
  // The server fills in the rest, so that no policy hides in code.
  expect(set).toMatchObject({ name: "default", enabled: true, scaleUpPolicy: { mode: "Demand", cooldownSeconds: 30 } });
  expect(await at.envs.groups(admin, py)).toEqual([set]);
  expect(await failureOf(at.envs.putGroup(admin, { env: py, group: "none" }, {}))).toMatchObject({ code: "invalid_request" });
  expect(await failureOf(at.envs.putGroup(admin, group, { name: "other" }))).toMatchObject({ details: { field: "name" } });
  await at.envs.deleteGroup(admin, group);
  expect(await at.envs.groups(admin, py)).toEqual([]);
});

test("deleting says whether sandboxes are ended, and is a success when repeated", async () => {
  await using at = await EnvScene.open();
  await at.envs.create(admin, anEnvBody("py"), never);
  await at.changeBehind("py", (env) => ({ ...env, metadata: { ...env.metadata, finalizers: ["example.com/held"] } }));
  await at.envs.delete(admin, py, false);
  expect((await at.stored("py")).metadata.annotations?.[annotationKeys.endSandboxes]).toBeUndefined();
  await at.envs.delete(admin, py, true);
  const going = await at.stored("py");
  expect([going.metadata.annotations?.[annotationKeys.endSandboxes], going.metadata.deletionTimestamp]).toEqual([
    "true",
    expect.any(String),
  ]);
  at.scene.cache.envs.remember(going);
  expect(await failureOf(at.envs.addMember(admin, py, { name: "x" }, never))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("being deleted"),
  });
});

test("autoscaling is shown with its latest decision and what each pool remembers", async () => {
  await using at = await EnvScene.open();
  const { metadata } = await at.envs.create(admin, anEnvBody("py", {}, { autoscaling: autoscaled(1, 9) }), never);
  const labels = { [labelKeys.env]: "py" };
  const pool = await at.scene.client.create(SandboxPools, {
    metadata: { namespace: "default", name: "py-2c4gi", labels },
    spec: { replicas: 1, templateName: "base" },
  });
  const decision = "12 wanted: 7 in use, 0 waiting, 5 spare";
  at.scene.cache.pools.remember(
    await at.scene.client.patch(
      SandboxPools,
      { namespace: "default", name: "py-2c4gi" },
      { type: "merge", body: { status: { autoscaling: { decision } } } },
      { subresource: "status" },
    ),
  );
  expect(pool.metadata.name).toBe("py-2c4gi");
  const observedMembers = [{ name: "py-2c4gi", state: "Saturated", message: "no room", idleCount: 2, runningCount: 7 }];
  const status = {
    clusters: [{ clusterID: "local", isLocal: true, observedMembers }],
    scalingGroups: [{ name: "default", totalIdle: 2, totalRunning: 7 }],
  };
  at.scene.cache.envs.remember(
    await at.scene.client.patch(
      SandboxEnvs,
      { namespace: "default", name: metadata.name ?? "" },
      { type: "merge", body: { status } },
      { subresource: "status" },
    ),
  );
  expect(await at.envs.autoscaling(admin, py)).toMatchObject({
    groups: [
      {
        name: "default",
        enabled: true,
        idle: 2,
        running: 7,
        decision,
        policy: { maxReplicas: 9 },
        members: [{ name: "py-2c4gi", state: "Saturated", message: "no room", autoscaling: { decision } }],
      },
    ],
  });
  expect(await at.envs.member(admin, { env: py, member: "py-2c4gi" })).toMatchObject({
    isLocal: true,
    replicasSetBy: "autoscaler",
    observed: { state: "Saturated" },
  });
});

function withReplicas(env: Awaited<ReturnType<EnvScene["stored"]>>, replicas: number): typeof env {
  const clusters = (env.spec.clusters ?? []).map((cluster) => ({
    ...cluster,
    members: (cluster.members ?? []).map((member) => ({ ...member, spec: { ...member.spec, replicas } })),
  }));
  return { ...env, spec: { ...env.spec, clusters } };
}
