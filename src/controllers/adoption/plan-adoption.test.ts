import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { shellTemplate } from "../../../test/world/env-objects.ts";
import { ownerReferenceTo } from "../env/plan-member.ts";
import { type AdoptionFacts, type AdoptionStep, planAdoption } from "./plan-adoption.ts";

const resources = { limits: { cpu: "2", memory: "1Gi", "ephemeral-storage": "4Gi" } };
const wish = { annotations: { [annotationKeys.adopt]: "true" } };
const aPool = (metadata: SandboxPool["metadata"] = {}, spec: Partial<SandboxPool["spec"]> = {}): SandboxPool => ({
  metadata: { namespace: "ns", name: "py", generation: 1, ...metadata },
  spec: { replicas: 2, templateName: "shell", ...spec },
});
const planned = (facts: Partial<AdoptionFacts> = {}): AdoptionStep =>
  planAdoption({ pool: aPool(wish), env: undefined, template: shellTemplate(), clusterID: "local", adoptPools: false, ...facts });
const kind = (facts: Partial<AdoptionFacts>): string => planned(facts).kind;

type Both = Pick<AdoptionFacts, "env" | "pool">;

function noted(env: SandboxEnv, { pool }: Both): SandboxEnv {
  const annotations = { ...env.metadata.annotations, [annotationKeys.adoptedGeneration]: String(pool?.metadata.generation ?? 0) };
  return { ...env, metadata: { ...env.metadata, annotations } };
}

function marked(pool: SandboxPool, { env, labels }: Extract<AdoptionStep, { kind: "mark-pool" }>): SandboxPool {
  const all = Object.entries({ ...pool.metadata.labels, ...labels }).filter((entry): entry is [string, string] => entry[1] !== null);
  return { ...pool, metadata: { ...pool.metadata, labels: Object.fromEntries(all), ownerReferences: [ownerReferenceTo(env, false)] } };
}

/** What the step does to Env and pool, as the controller and the server do it. */
function applied(step: AdoptionStep, now: Both): Both {
  switch (step.kind) {
    case "make-env":
      return { ...now, env: { ...step.env, metadata: { ...step.env.metadata, uid: "u" } } };
    case "mark-pool":
      return { ...now, pool: now.pool && marked(now.pool, step) };
    case "pool-follows":
      return { ...now, pool: { ...step.pool, metadata: { ...step.pool.metadata, generation: (step.pool.metadata.generation ?? 0) + 1 } } };
    case "env-follows": {
      const clusters = [{ clusterID: "local", members: [step.member] }];
      return { ...now, env: noted({ ...step.env, spec: { ...step.env.spec, clusters } }, now) };
    }
    case "note-generation":
      return { ...now, env: noted(step.env, now) };
    case "delete-env":
      return { ...now, env: undefined };
    case "nothing":
    case "name-taken":
      return now;
  }
}

/** Steps until nothing is left to do, and what is there then. */
function settled(start: Both): Both & { readonly steps: readonly string[] } {
  let now = start;
  const steps: string[] = [];
  for (let round = 0; round < 10; round++) {
    const step = planned(now);
    if (step.kind === "nothing") return { steps, ...now };
    steps.push(step.kind);
    now = applied(step, now);
  }
  throw new Error(`not settled: ${steps.join(", ")}`);
}

const adopted = (): { readonly env: SandboxEnv; readonly pool: SandboxPool } =>
  settled({ pool: aPool(wish), env: undefined }) as unknown as { env: SandboxEnv; pool: SandboxPool };
const withReplicas = (env: SandboxEnv, replicas: number): SandboxEnv => {
  const [member] = env.spec.clusters?.[0]?.members ?? [];
  const spec = { ...member?.spec, replicas };
  return { ...env, spec: { ...env.spec, clusters: [{ clusterID: "local", members: [{ name: "py", ...member, spec }] }] } };
};

describe("which pools get an Env", () => {
  test("those that ask for it, and all that do not refuse where the server says so", () => {
    expect(kind({})).toBe("make-env");
    expect(kind({ pool: aPool() })).toBe("nothing");
    expect(kind({ pool: aPool(), adoptPools: true })).toBe("make-env");
    expect(kind({ pool: aPool({ annotations: { [annotationKeys.adopt]: "false" } }), adoptPools: true })).toBe("nothing");
  });

  test("not those that belong to an Env or are being deleted", () => {
    const owner = ownerReferenceTo({ metadata: { name: "web", uid: "w" } } as SandboxEnv, true);
    expect(kind({ pool: aPool({ ...wish, ownerReferences: [owner] }) })).toBe("nothing");
    expect(kind({ pool: aPool({ ...wish, deletionTimestamp: "2026-01-01T00:00:00Z" }) })).toBe("nothing");
  });

  test("not those whose name another Env has", () => {
    const env = { ...adopted().env, metadata: { namespace: "ns", name: "py", uid: "other" } };
    expect(kind({ env })).toBe("name-taken");
    expect(kind({ env, pool: aPool() })).toBe("nothing");
  });
});

test("the Env of a pool has its name, its owner, its template and the pool as its only member", () => {
  const labels = { [labelKeys.team]: "red", [labelKeys.user]: "ann", mine: "x" };
  const pool = aPool({ ...wish, labels, generation: 7 });
  expect(planned({ pool })).toEqual({
    kind: "make-env",
    env: {
      metadata: {
        namespace: "ns",
        name: "py",
        labels: { [labelKeys.team]: "red", [labelKeys.user]: "ann" },
        annotations: { [annotationKeys.adoptedGeneration]: "7" },
      },
      spec: {
        templateRef: { name: "shell" },
        mode: "WarmPool",
        clusters: [
          {
            clusterID: "local",
            members: [{ name: "py", spec: pool.spec, config: { inlineResources: resources, scalingGroup: "default" } }],
          },
        ],
      },
    },
  });
});

test("a pool with a template of its own gets an Env that names none other", () => {
  const pool = aPool(wish);
  const own = { metadata: pool.metadata, spec: { replicas: 2, template: { spec: { containers: [{ name: "main", image: "a:1" }] } } } };
  const step = planned({ pool: own, template: undefined });
  expect(step.kind === "make-env" && step.env.spec.templateRef).toEqual({ name: "py" });
});

describe("Env and pool", () => {
  test("are made equal in two steps, and then left alone; the pool's spec is not touched", () => {
    const { steps, pool, env } = settled({ pool: aPool(wish), env: undefined });
    expect(steps).toEqual(["make-env", "mark-pool"]);
    expect(pool?.spec).toEqual(aPool().spec);
    expect(pool?.metadata.labels).toEqual({ [labelKeys.env]: "py", [labelKeys.scalingGroup]: "default" });
    expect(pool?.metadata.ownerReferences?.[0]?.controller).toBeUndefined();
    expect(planned({ env, pool }).kind).toBe("nothing");
  });

  test("follow each other: the one that was changed is followed", () => {
    const { env, pool } = adopted();
    const changedEnv = settled({ env: withReplicas(env, 9), pool });
    expect([changedEnv.steps, changedEnv.pool?.spec.replicas]).toEqual([["pool-follows", "note-generation"], 9]);
    const changedPool = settled({
      env,
      pool: { ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { ...pool.spec, replicas: 5 } },
    });
    expect([changedPool.steps, changedPool.env?.spec.clusters?.[0]?.members?.[0]?.spec?.replicas]).toEqual([["env-follows"], 5]);
  });

  test("where both were changed the pool is followed", () => {
    const { env, pool } = adopted();
    const both = {
      env: withReplicas(env, 9),
      pool: { ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { ...pool.spec, replicas: 5 } },
    };
    expect(settled(both)).toMatchObject({ steps: ["env-follows"], pool: { spec: { replicas: 5 } } });
  });

  test("a file that says the member's replicas alone does not take the pool's template away", () => {
    const { env, pool } = adopted();
    const members = [{ name: "py", spec: { replicas: 9 }, config: { scalingGroup: "default" } }];
    const said = { ...env, spec: { ...env.spec, clusters: [{ clusterID: "local", members }] } };
    expect(settled({ env: said, pool }).pool?.spec.templateName).toBe("shell");
  });

  test("a label that was taken off the pool comes back, and a group that is named no more goes", () => {
    const { env, pool } = adopted();
    expect(kind({ env, pool: { ...pool, metadata: { ...pool.metadata, labels: {} } } })).toBe("mark-pool");
    const [member] = env.spec.clusters?.[0]?.members ?? [];
    const alone = { ...member, name: "py", config: { ...member?.config, scalingGroup: "" } };
    const step = planned({ pool, env: { ...env, spec: { ...env.spec, clusters: [{ clusterID: "local", members: [alone] }] } } });
    expect(step).toMatchObject({ kind: "mark-pool", labels: { [labelKeys.scalingGroup]: null } });
  });

  test("the Env goes with its pool, unless it has other members; and nothing happens while either is being deleted", () => {
    const { env, pool } = adopted();
    const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(kind({ env, pool: undefined })).toBe("delete-env");
    const more = [...(env.spec.clusters?.[0]?.members ?? []), { name: "py-b" }];
    expect(kind({ env: { ...env, spec: { ...env.spec, clusters: [{ clusterID: "local", members: more }] } }, pool: undefined })).toBe(
      "nothing",
    );
    expect(kind({ env: { ...env, metadata: { ...env.metadata, ...going } }, pool })).toBe("nothing");
    expect(kind({ env, pool: { ...pool, metadata: { ...pool.metadata, ...going } } })).toBe("nothing");
    expect(kind({ env: { ...env, spec: { ...env.spec, clusters: [] } }, pool })).toBe("nothing");
  });

  test("whatever was changed on either side, they are equal after a few steps", () => {
    const count = fc.nat({ max: 5 });
    fc.assert(
      fc.property(count, count, fc.boolean(), (ofEnv, ofPool, isPoolChanged) => {
        const { env, pool } = adopted();
        const changed = { ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { ...pool.spec, replicas: ofPool } };
        const end = settled({ env: withReplicas(env, ofEnv), pool: isPoolChanged ? changed : pool });
        expect(end.env?.spec.clusters?.[0]?.members?.[0]?.spec).toEqual(end.pool?.spec);
        expect(end.pool?.spec.replicas).toBe(isPoolChanged ? ofPool : ofEnv);
      }),
    );
  });
});
