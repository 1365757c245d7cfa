/** What bad input about Envs gets from the REST API's use cases, on every server: the field, the reason and what would be right, and nothing is made. */
import { expect, onTestFinished, test } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { instanceTypesConfigMapName } from "#model/instance-types.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import type { MemberWish } from "#services/envs/env-deps.ts";
import { type EnvService, envService } from "#services/envs/env-service.ts";
import { claimBook } from "../world/claim-books.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { admin, failureOf } from "../world/service-scene.ts";
import { until } from "./helpers.ts";
import { describeServers } from "./servers.ts";

const { signal } = new AbortController();
const limits = (cpu: number) => ({ inlineResources: { limits: { cpu } } });
const groups = (group: object): Partial<SandboxEnv["spec"]> => ({
  autoscaling: { groups: [{ name: "default", enabled: true, ...group }] },
});
const schedule = { name: "day", start: "0 8 * * *", durationSeconds: 60, minReplicas: 1 };
const member = "spec.clusters[0].members[0].config";
const group = "spec.autoscaling.groups[0]";

interface Bad {
  readonly what: string;
  readonly members?: readonly MemberWish[];
  readonly spec?: Partial<SandboxEnv["spec"]>;
  readonly field: string;
  readonly reason: string;
  readonly remedy: string;
}

const badEnvs: readonly Bad[] = [
  { what: "without members", members: [], field: "spec.clusters", reason: "has no members", remedy: "add one: {clusterID: local" },
  {
    what: "with a group that has no members",
    spec: { autoscaling: { groups: [{ name: "gpu" }] } },
    field: `${group}.name`,
    reason: "no member has config.scalingGroup gpu",
    remedy: "give it to a member, or remove the group",
  },
  {
    what: "with different resources in one group",
    members: [
      { name: "a", config: limits(1) },
      { name: "b", config: limits(2) },
    ],
    field: "spec.clusters[0].members[1].config.inlineResources",
    reason: "members of scaling group default must have equal resources",
    remedy: "make them equal, or give one another scalingGroup",
  },
  {
    what: "in mode Aggressive without a maximum",
    spec: groups({ scaleUpPolicy: { mode: "Aggressive" } }),
    field: `${group}.maxReplicas`,
    reason: "the number of pods doubles with every step",
    remedy: "needs maxReplicas",
  },
  {
    what: "with a group's minimum above its maximum",
    spec: groups({ minReplicas: 3, maxReplicas: 2 }),
    field: `${group}.minReplicas`,
    reason: "minReplicas 3 is above maxReplicas 2",
    remedy: "lower one or raise the other",
  },
  {
    what: "with a member's minimum above its maximum",
    members: [{ config: { minReplicas: 3, maxReplicas: 2 } }],
    field: `${member}.minReplicas`,
    reason: "minReplicas 3 is above maxReplicas 2",
    remedy: "lower one or raise the other",
  },
  {
    what: "with members' minima above the group's maximum",
    members: [{ config: { minReplicas: 3 } }],
    spec: groups({ maxReplicas: 2 }),
    field: `${group}.maxReplicas`,
    reason: "below the sum of its members' minReplicas, 3",
    remedy: "raise it",
  },
  {
    what: "with a schedule above the maximum",
    spec: groups({ maxReplicas: 2, schedules: [{ ...schedule, minReplicas: 5 }] }),
    field: `${group}.schedules[0].minReplicas`,
    reason: "asks for 5 pods",
    remedy: "the group may have 2",
  },
  {
    what: "with a schedule that is no cron expression",
    spec: groups({ schedules: [{ ...schedule, start: "0 25 * * *" }] }),
    field: `${group}.schedules[0].start`,
    reason: '"0 25 * * *" is no cron expression',
    remedy: "such as 0 8 * * 1-5",
  },
  {
    what: "of an unknown template",
    spec: { templateRef: { name: "there-is-none" } },
    field: "spec.templateRef.name",
    reason: "there is no SandboxTemplate there-is-none",
    remedy: "create it, or name one that exists",
  },
  {
    what: "of an unknown version",
    spec: { templateRef: { name: "", version: "v9.0.0" } },
    field: "spec.templateRef.version",
    reason: "is at version v1.0.0",
    remedy: "use v1.0.0, or leave version out",
  },
  {
    what: "of an unknown instance type",
    members: [{ config: { instanceType: "huge", multiplier: 1 } }],
    field: `${member}.instanceType`,
    reason: 'there is no instance type "huge"',
    remedy: "tiny",
  },
  {
    what: "with a multiplier out of range",
    members: [{ config: { instanceType: "tiny", multiplier: 9 } }],
    field: `${member}.multiplier`,
    reason: "instance type tiny takes a multiplier",
    remedy: "from 1 to 4",
  },
  {
    what: "with an instance type without a multiplier",
    members: [{ config: { instanceType: "tiny" } }],
    field: `${member}.multiplier`,
    reason: "instanceType needs a multiplier",
    remedy: "of at least 1",
  },
  {
    what: "with a default size that no member has",
    members: [{ config: { instanceType: "tiny", multiplier: 1 } }],
    spec: { defaults: { instanceType: "tiny", multiplier: 2 } },
    field: "spec.defaults.instanceType",
    reason: "no member has instanceType tiny with multiplier 2",
    remedy: "add a member of this size",
  },
  {
    what: "in mode OnDemandJob with a minimum",
    members: [{ config: { minReplicas: 1 } }],
    spec: { mode: "OnDemandJob" },
    field: `${member}.minReplicas`,
    reason: "keeps no pods without a request",
    remedy: "leave this out, or use mode WarmPool",
  },
];

describeServers("an Env", (server) => {
  interface World {
    readonly envs: EnvService;
    readonly namespace: string;
    readonly create: (name: string, more: Pick<Bad, "members" | "spec">) => Promise<SandboxEnv>;
    readonly nothingIsMade: () => Promise<void>;
  }

  async function world(): Promise<World> {
    const { client } = server();
    const namespace = await server().namespace();
    const template = `t-${namespace}`;
    const containers = [{ name: "main", image: "registry.invalid/app:1" }];
    await client.create(SandboxTemplates, {
      metadata: { name: template },
      spec: { version: "v1.0.0", template: { spec: { containers } } },
    });
    const data = { tiny: JSON.stringify({ resources: { limits: { cpu: "1" } }, maxMultiplier: 4 }) };
    await client.create(ConfigMaps, { metadata: { namespace, name: instanceTypesConfigMapName }, data });
    const cache = new SandboxCache(
      { client, clock: systemClock, log: recordedLog().log },
      { systemNamespace: namespace, claims: claimBook() },
    );
    await cache.run();
    onTestFinished(async () => {
      await cache.stop();
      await client.delete(SandboxTemplates, { name: template });
    });
    const envs = envService({ client, cache, namespace, cluster: { engine: "embedded", id: "local" } });
    return {
      envs,
      namespace,
      create: (name, { members = [{}], spec: { templateRef, ...spec } = {} }) => {
        const named = { ...templateRef, name: templateRef?.name ? templateRef.name : template };
        return envs.create(admin, { metadata: { name }, spec: { mode: "WarmPool", ...spec, templateRef: named }, members }, signal);
      },
      nothingIsMade: async () => {
        expect((await client.list(SandboxEnvs, { namespace })).items).toEqual([]);
        expect((await client.list(SandboxPools, { namespace })).items).toEqual([]);
      },
    };
  }

  test.for(badEnvs)("$what is refused with the field, the reason and what would be right", async ({ field, reason, remedy, ...bad }) => {
    const { create, nothingIsMade } = await world();
    const failure = await failureOf(create("py", bad));
    expect(failure).toMatchObject({ code: "invalid_request", details: { field } });
    expect(failure.message).toContain(reason);
    expect(failure.message).toContain(remedy);
    await nothingIsMade();
  });

  test("whose pool name another Env has is refused with that Env's name, and stays as it was when it is changed", async () => {
    const { create, envs, namespace } = await world();
    await create("one", { members: [{ name: "shared" }] });
    const taken = { code: "invalid_request", details: { field: "spec.clusters[0].members[0].name" } };
    const failure = await failureOf(create("two", { members: [{ name: "shared" }] }));
    expect(failure).toMatchObject(taken);
    expect(failure.message).toContain("the pool name shared is taken by Env one, which names it too; choose another member name");
    await create("two", { members: [{ name: "own" }] });
    expect(await failureOf(envs.addMember(admin, { name: "two" }, { name: "shared" }, signal))).toMatchObject({ code: "invalid_request" });
    const two = await until(server().client, SandboxEnvs, { namespace, name: "two" }, (env) => env !== undefined);
    expect(two?.spec.clusters?.[0]?.members?.map(({ name }) => name)).toEqual(["own"]);
  });

  test("that is there is left as it was by every bad change of its members, groups and spec", async () => {
    const { create, envs, namespace } = await world();
    const made = await create("py", { members: [{ name: "a", config: limits(1) }], spec: groups({ maxReplicas: 4 }) });
    const py = { name: "py" };
    const changes: readonly [Promise<unknown>, string][] = [
      [envs.addMember(admin, py, { name: "b", config: limits(2) }, signal), "spec.clusters[0].members[1].config.inlineResources"],
      [envs.updateMember(admin, { env: py, member: "a" }, { config: { ...limits(1), minReplicas: 5 } }, signal), `${group}.maxReplicas`],
      [
        envs.putGroup(admin, { env: py, group: "default" }, { enabled: true, scaleUpPolicy: { mode: "Aggressive" } }),
        `${group}.maxReplicas`,
      ],
      [envs.putGroup(admin, { env: py, group: "other" }, { enabled: true }), "spec.autoscaling.groups[1].name"],
      [envs.scaleMember(admin, { env: py, member: "a" }, 3), "replicas"],
    ];
    for (const [change, field] of changes) expect((await failureOf(change)).details).toMatchObject({ field });
    expect((await server().client.get(SandboxEnvs, { namespace, name: "py" })).metadata.resourceVersion).toBe(
      made.metadata.resourceVersion,
    );
  });
});
