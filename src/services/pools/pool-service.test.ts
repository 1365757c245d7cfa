import fc from "fast-check";
import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, namespace, nobody, redTeam, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { Events, Namespaces } from "#model/core-kinds.ts";
import { labelKeys, ownGroup, ownVersion } from "#model/keys.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { type SandboxPool, SandboxPools, type SandboxPoolSpec } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";
import { type PoolService, poolService } from "./pool-service.ts";
import { tenantPoolName } from "./tenant-pool-name.ts";

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

function aPool(name: string, spec: Partial<SandboxPoolSpec> = {}, metadata: Partial<ObjectMeta> = {}): SandboxPool {
  return { metadata: { name, ...metadata }, spec: { replicas: 1, templateName: "base", ...spec } };
}

class PoolScene implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly pools: PoolService;

  private constructor(scene: ServiceScene) {
    this.scene = scene;
    this.pools = poolService(scene);
  }

  /** With template `base` for everybody and `reds` for team red. */
  static async open(): Promise<PoolScene> {
    const scene = await ServiceScene.open();
    for (const [name, rules] of [["base", []] as const, ["reds", [{ team: "red" }]] as const]) {
      const made = await scene.client.create(SandboxTemplates, { metadata: { name }, spec: { template, visibility: { rules } } });
      scene.cache.templates.remember(made);
    }
    return new PoolScene(scene);
  }

  /** As an admin. */
  async shared(name: string, metadata: Partial<ObjectMeta> = {}): Promise<SandboxPool> {
    return this.pools.create(admin, aPool(name, {}, metadata));
  }

  async names(caller: Caller): Promise<readonly (string | undefined)[]> {
    return (await this.pools.list(caller, {})).items.map(({ metadata }) => metadata.name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.scene[Symbol.asyncDispose]();
  }
}

const ofRed = { labels: { [labelKeys.team]: "red" } };

test("a tenant's pool is his own, under a name with his mark", async () => {
  await using at = await PoolScene.open();
  const { metadata, spec } = await at.pools.create(ann, aPool("py"));
  expect(metadata.name).toBe(tenantPoolName(ann, "py"));
  expect(metadata.name).toMatch(/^py-[a-z0-9]{8}$/);
  expect(metadata).toMatchObject({ namespace, labels: { [labelKeys.team]: "red", [labelKeys.user]: "ann" } });
  expect(spec).toMatchObject({ replicas: 1, templateName: "base" });
  expect((await at.pools.get(ann, { name: metadata.name ?? "" })).metadata.uid).toBe(metadata.uid);
});

test("I8: nobody learns from a create which names others have", async () => {
  await using at = await PoolScene.open();
  const { metadata } = await at.pools.create(ann, aPool("py"));
  const { name = "" } = metadata;
  for (const caller of [eve, bob]) {
    for (const wished of ["py", name]) expect((await at.pools.create(caller, aPool(wished))).metadata.name).not.toBe(name);
  }
  expect(await failureOf(at.pools.create(ann, aPool("py")))).toMatchObject({ code: "conflict", details: { field: "metadata.name" } });
  expect(await failureOf(at.pools.create(ann, aPool(name)))).toMatchObject({ code: "conflict" });
});

test("the names of two tenants never meet, and a marked name stays as it is", () => {
  const owner = fc.record({ team: fc.string({ minLength: 1, maxLength: 4 }), user: fc.string({ maxLength: 4 }) });
  const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,40}[a-z0-9]$/);
  fc.assert(
    fc.property(owner, owner, label, label, (one, other, left, right) => {
      fc.pre(one.team !== other.team || one.user !== other.user);
      const name = tenantPoolName(one, left);
      expect(tenantPoolName(one, name)).toBe(name);
      expect(name.length).toBeLessThanOrEqual(63);
      for (const wished of [left, right, name]) expect(tenantPoolName(other, wished)).not.toBe(name);
    }),
  );
});

test("everybody sees the pools without an owner, his own and his team's, by name, page by page", async () => {
  await using at = await PoolScene.open();
  await at.shared("shared");
  await at.shared("reds", ofRed);
  await at.shared("eves", { labels: { [labelKeys.team]: "blue", [labelKeys.user]: "eve" } });
  await at.shared("anns", { labels: { [labelKeys.team]: "red", [labelKeys.user]: "ann" } });
  expect(await at.names(ann)).toEqual(["anns", "reds", "shared"]);
  expect(await at.names(bob)).toEqual(["reds", "shared"]);
  expect(await at.names(redTeam)).toEqual(["anns", "reds", "shared"]);
  expect(await at.names(eve)).toEqual(["eves", "shared"]);
  expect(await at.names(nobody)).toEqual(["shared"]);
  expect(await at.names(admin)).toEqual(["anns", "eves", "reds", "shared"]);
  const first = await at.pools.list(admin, { limit: 3 });
  const second = await at.pools.list(admin, { limit: 3, cursor: first.next ?? "" });
  expect([first.items.length, second.items.map(({ metadata }) => metadata.name), second.next]).toEqual([3, ["shared"], undefined]);
  expect(await failureOf(at.pools.list(admin, { cursor: "nonsense" }))).toMatchObject({ details: { field: "cursor" } });
  expect(await failureOf(at.pools.list(admin, { limit: 0 }))).toMatchObject({ details: { field: "limit" } });
});

test("I8: a foreign pool is answered in the words for one that there never was, whatever is wanted of it", async () => {
  await using at = await PoolScene.open();
  await at.shared("reds", ofRed);
  const wishes: readonly ((name: string) => Promise<unknown>)[] = [
    (name) => at.pools.get(eve, { name }),
    (name) => at.pools.get(eve, { name, namespace }),
    (name) => at.pools.replace(eve, { name }, aPool(name)),
    (name) => at.pools.delete(eve, { name }),
    (name) => at.pools.scale(eve, { name }, 3),
    (name) => at.pools.events(eve, { name }),
  ];
  for (const wish of wishes) {
    expect(wordsOf(await failureOf(wish("reds")), "reds")).toBe(wordsOf(await failureOf(wish("none")), "none"));
  }
  expect((await at.pools.get(redTeam, { name: "reds" })).spec.replicas).toBe(1);
});

test("a pool that one sees and does not own is used, not changed", async () => {
  await using at = await PoolScene.open();
  await at.shared("shared");
  await at.shared("reds", ofRed);
  for (const name of ["shared", "reds"]) {
    for (const wish of [at.pools.delete(ann, { name }), at.pools.scale(ann, { name }, 3), at.pools.replace(ann, { name }, aPool(name))]) {
      expect((await failureOf(wish)).code).toBe("forbidden");
    }
  }
  expect((await at.pools.scale(redTeam, { name: "reds" }, 3)).spec.replicas).toBe(3);
});

test("a pool that an Env keeps is changed there", async () => {
  await using at = await PoolScene.open();
  const labels = { [labelKeys.env]: "agents" };
  const ownerReferences = [{ apiVersion: `${ownGroup}/${ownVersion}`, kind: "SandboxEnv", name: "agents", uid: "u-1" }];
  const made = await at.scene.client.create(SandboxPools, aPool("member", {}, { namespace, labels, ownerReferences }));
  at.scene.cache.pools.remember(made);
  expect(await failureOf(at.pools.scale(admin, { name: "member" }, 3))).toMatchObject({
    code: "conflict",
    message: "pool member belongs to Env agents: change it there, for example with agentbox envs scale agents/member N",
  });
});

test("a replace keeps what is the server's, and a version in it must be the present one", async () => {
  await using at = await PoolScene.open();
  const made = await at.pools.create(ann, aPool("py", {}, { labels: { mine: "1" } }));
  const name = made.metadata.name ?? "";
  const replaced = await at.pools.replace(ann, { name }, { ...made, spec: { ...made.spec, replicas: 4 } });
  expect(replaced).toMatchObject({
    metadata: { uid: made.metadata.uid, labels: { mine: "1", [labelKeys.user]: "ann" } },
    spec: { replicas: 4 },
  });
  expect((await failureOf(at.pools.replace(ann, { name }, made))).code).toBe("conflict");
  const without = await at.pools.replace(ann, { name }, aPool(name));
  expect(without.metadata.labels).toEqual({ [labelKeys.team]: "red", [labelKeys.user]: "ann" });
});

test("a replace that meets another write is done on what is there then", async () => {
  await using at = await PoolScene.open();
  await at.shared("py");
  await at.scene.cache.stop();
  await at.scene.client.patch(SandboxPools, { namespace, name: "py" }, { type: "merge", body: { spec: { replicas: 9 } } });
  expect((await at.pools.replace(admin, { name: "py" }, aPool("py", { replicas: 2 }))).spec.replicas).toBe(2);
});

test("I8: a pool that changed hands meanwhile is not changed by who had it", async () => {
  await using at = await PoolScene.open();
  const { metadata } = await at.pools.create(ann, aPool("py"));
  const name = metadata.name ?? "";
  await at.scene.cache.stop();
  const labels = { [labelKeys.team]: "blue", [labelKeys.user]: "eve" };
  await at.scene.client.patch(SandboxPools, { namespace, name }, { type: "merge", body: { metadata: { labels } } });
  expect((await failureOf(at.pools.replace(ann, { name }, aPool(name, { replicas: 7 })))).code).toBe("not_found");
});

test("scaling and deleting do what they say, and a second delete finds nothing to do", async () => {
  await using at = await PoolScene.open();
  await at.shared("py");
  expect((await at.pools.scale(admin, { name: "py" }, 0)).spec.replicas).toBe(0);
  await at.scene.cache.stop();
  await at.pools.delete(admin, { name: "py" });
  await at.pools.delete(admin, { name: "py" });
  expect((await at.scene.client.list(SandboxPools, { namespace })).items).toEqual([]);
});

test("what is wrong with a pool is named with its place, and nothing is made", async () => {
  await using at = await PoolScene.open();
  const fieldOf = async (caller: Caller, body: SandboxPool): Promise<unknown> => {
    const { code, details } = await failureOf(at.pools.create(caller, body));
    return [code, details.field];
  };
  const own = { spec: { containers: [] } };
  const cases: readonly (readonly [Caller, SandboxPool, string])[] = [
    [ann, aPool(""), "metadata.name"],
    [ann, aPool("x".repeat(55)), "metadata.name"],
    [admin, aPool("Upper_Case"), "metadata.name"],
    [ann, aPool("py", {}, { namespace: "kube-system" }), "metadata.namespace"],
    [admin, aPool("py", {}, { namespace: "no-such" }), "metadata.namespace"],
    [ann, aPool("py", { template: own }), "spec.template"],
    [ann, aPool("py", { runtimes: [{ name: "e2b" }] }), "spec.runtimes"],
    [ann, { metadata: { name: "py" }, spec: { replicas: 1 } }, "spec.templateName"],
    [ann, aPool("py", { templateName: "none" }), "spec.templateName"],
    [eve, aPool("py", { templateName: "reds" }), "spec.templateName"],
    [ann, aPool("py", {}, { labels: { [labelKeys.team]: "blue" } }), `metadata.labels.${labelKeys.team}`],
    [ann, aPool("py", {}, { annotations: { "agentbox.navix.sh/x": "1" } }), "metadata.annotations.agentbox.navix.sh/x"],
    [ann, aPool("py", { replicas: -1 }), "spec.replicas"],
    [ann, aPool("py", { defaultIdleTimeout: "soon" }), "spec.defaultIdleTimeout"],
    [ann, { ...aPool("py"), kind: "SandboxTemplate" }, "kind"],
    [ann, { ...aPool("py"), apiVersion: "v1" }, "apiVersion"],
    [ann, aPool("py", { size: 3 } as unknown as Partial<SandboxPoolSpec>), "spec.size"],
  ];
  for (const [caller, body, field] of cases) expect(await fieldOf(caller, body)).toEqual(["invalid_request", field]);
  expect((await failureOf(at.pools.create(nobody, aPool("py")))).code).toBe("forbidden");
  expect(await at.names(admin)).toEqual([]);
});

test("I8: a template that the caller does not see is answered in the words for one that there never was", async () => {
  await using at = await PoolScene.open();
  const wordsFor = async (templateName: string) =>
    wordsOf(await failureOf(at.pools.create(eve, aPool("py", { templateName }))), templateName);
  expect(await wordsFor("reds")).toBe(await wordsFor("none"));
  expect((await at.pools.create(ann, aPool("py", { templateName: "reds" }))).spec.templateName).toBe("reds");
});

test("a tenant sends back what an admin wrote into his pool, and cannot change it", async () => {
  await using at = await PoolScene.open();
  const made = await at.pools.create(admin, {
    metadata: { name: "reds", ...ofRed },
    spec: { replicas: 1, template, runtimes: [{ name: "e2b", port: 49983 }] },
  });
  const scaled = await at.pools.replace(redTeam, { name: "reds" }, { ...made, spec: { ...made.spec, replicas: 2 } });
  expect(scaled.spec).toMatchObject({ replicas: 2, template });
  const changed = { ...scaled, spec: { ...scaled.spec, template: { spec: { ...template.spec, hostNetwork: true } } } };
  expect((await failureOf(at.pools.replace(redTeam, { name: "reds" }, changed))).details.field).toBe("spec.template");
});

test("of pools with one name in several namespaces the caller says which he means", async () => {
  await using at = await PoolScene.open();
  await at.shared("py");
  await at.scene.client.create(Namespaces, { metadata: { name: "other" } });
  await at.shared("py", { namespace: "other" });
  expect(await failureOf(at.pools.get(admin, { name: "py" }))).toMatchObject({ code: "conflict", details: { field: "namespace" } });
  expect((await at.pools.get(admin, { name: "py", namespace })).metadata.namespace).toBe(namespace);
});

test("what happened to a pool is told, newest first", async () => {
  await using at = await PoolScene.open();
  const { metadata } = await at.shared("py");
  for (const [index, message] of ["grew", "shrank"].entries()) {
    await at.scene.client.create(Events, {
      metadata: { namespace, name: `e-${index}` },
      involvedObject: { kind: "SandboxPool", namespace, name: "py", uid: metadata.uid ?? "" },
      type: "Normal",
      reason: "Scaled",
      message,
      count: index + 1,
      lastTimestamp: `2026-01-01T00:00:0${index}Z`,
    });
  }
  expect((await at.pools.events(ann, { name: "py" })).map(({ message, count, lastTime }) => [message, count, lastTime])).toEqual([
    ["shrank", 2, "2026-01-01T00:00:01.000Z"],
    ["grew", 1, "2026-01-01T00:00:00.000Z"],
  ]);
});
