import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ObjectClient } from "#kube/object-client.ts";
import { customKinds } from "#model/kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { badObjects } from "./bad-objects.ts";
import { goodObjects } from "./good-objects.ts";
import { refusal } from "./helpers.ts";
import type { BadObject } from "./object-corpus.ts";
import { anEnv, aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const examples = join(import.meta.dirname, "../../deploy/examples");

function inNamespace<T extends ApiObject>(object: T, namespace: string): T {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/** Cluster-scoped objects share one server: each gets a name of its own, unless the name is what the test is about. */
function placed(bad: { type: { namespaced: boolean }; object: ApiObject }, namespace: string): ApiObject {
  return bad.type.namespaced ? inNamespace(bad.object, namespace) : bad.object;
}

async function write(client: ObjectClient, bad: BadObject, namespace: string): Promise<unknown> {
  const object = placed(bad, namespace);
  if (bad.through === "create") return client.create(bad.type, object);
  const first = bad.through === "update" ? placed({ type: bad.type, object: bad.before ?? bad.object }, namespace) : object;
  const suffix = bad.type.namespaced ? "" : `-${namespace}`;
  const named = { ...first, metadata: { ...first.metadata, name: `${first.metadata.name}${suffix}` } };
  const made = await client.create(bad.type, named);
  const next = { ...object, metadata: { ...made.metadata, ...object.metadata, name: made.metadata.name ?? "", resourceVersion: made.metadata.resourceVersion ?? "" } };
  return bad.through === "status" ? client.update(bad.type, next, { subresource: "status" }) : client.update(bad.type, next);
}

describeServers("objects of our kinds", (server) => {
  test.for(badObjects.map((bad) => [`${bad.type.kind}: ${bad.title}`, bad] as const))("%s: refused", async ([, bad]) => {
    const no = await refusal(write(server().client, bad, await server().namespace()));
    expect(no.reason).toBe("Invalid");
    expect(no.causes.map((cause) => `${cause.field} ${cause.reason}`)).toContain(`${bad.field} ${bad.reason}`);
  });

  test.for(goodObjects.map((good) => [`${good.type.kind}: ${good.title}`, good] as const))("%s: taken", async ([, good]) => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(good.type, placed(good, namespace), { fieldValidation: "Strict", dryRun: true });
    expect(made.metadata.uid).toBeTypeOf("string");
  });

  test("defaults are filled in, down to list items and left-out policies", async () => {
    const namespace = await server().namespace();
    const env = anEnv(namespace, "defaulted", {
      clusters: [{ clusterID: "local", members: [{ name: "pool-a", spec: aPool(namespace, "x").spec, config: {} }] }],
      autoscaling: { groups: [{ name: "default" }] },
    });
    const { mode: _, ...withoutMode } = env.spec;
    const made = await server().client.create(SandboxEnvs, { ...env, spec: withoutMode as typeof env.spec });
    expect(made.spec.mode).toBe("WarmPool");
    expect(made.spec.autoscaling?.groups?.[0]).toEqual({
      name: "default",
      enabled: false,
      minReplicas: 0,
      scaleUpPolicy: {
        mode: "Default",
        cooldownSeconds: 30,
        idleThresholdSeconds: 30,
        idleZeroQuietWindowSeconds: 300,
        saturationCooldownSeconds: 60,
      },
      scaleDownPolicy: { idleTimeoutSeconds: 300, stabilizationSeconds: 60, protectionWindowSeconds: 10 },
    });
    const member = made.spec.clusters?.[0]?.members?.[0];
    expect(member?.config?.scalingGroup).toBe("default");
    expect(member?.spec?.podCreationImagePolicy).toBe("IdleImage");
  });

  test("a pod template is carried along with all its fields, known to us or not", async () => {
    const namespace = await server().namespace();
    const template = {
      metadata: { labels: { a: "b" }, annotations: { c: "d" } },
      spec: { containers: [{ name: "main", image: "host", invented: { deep: [1, { x: null }] } }], somethingNew: true },
    };
    const made = await server().client.create(SandboxPools, aPool(namespace, "carried", { template }));
    expect(made.spec.template).toEqual(template);
  });

  test("an explicit null for a field with a default is the default", async () => {
    const namespace = await server().namespace();
    const pool = aPool(namespace, "nulled");
    const spec = { ...pool.spec, podCreationImagePolicy: null } as unknown as typeof pool.spec; // As YAML can say it.
    expect((await server().client.create(SandboxPools, { ...pool, spec })).spec.podCreationImagePolicy).toBe("IdleImage");
  });

  test("the examples that we ship are taken under strict validation", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const kinds = new Map(customKinds.map((kind) => [kind.resource.kind, kind.resource]));
    const seen = new Set<string>();
    for (const file of readdirSync(examples).filter((name) => name.endsWith(".yaml"))) {
      for (const document of parseAllDocuments(readFileSync(join(examples, file), "utf8"))) {
        const object = document.toJS() as ApiObject;
        const type = kinds.get(object.kind ?? "");
        if (type === undefined) throw new Error(`${file}: ${object.kind} is none of our kinds`);
        const made = await client.create(type, type.namespaced ? inNamespace(object, namespace) : object, { fieldValidation: "Strict", dryRun: true });
        expect(made.metadata.name).toBe(object.metadata.name);
        seen.add(type.kind);
      }
    }
    expect([...seen].sort()).toEqual([...kinds.keys()].sort());
  });
});
