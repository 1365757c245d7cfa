import { expect, test } from "vitest";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { aConfigMap, refusal } from "./helpers.ts";
import { aPool, aTemplate } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

/** A spread of a variable, because a literal with a field too many does not compile. */
function withSurplus<T extends object>(spec: T): T {
  const surplus = { surplus: 1 };
  return { ...spec, ...surplus };
}

describeServers("creating and reading", (server) => {
  test("a created object comes back with identity, version and time", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "first"));
    expect(made.apiVersion).toBe("v1");
    expect(made.kind).toBe("ConfigMap");
    expect(made.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number(made.metadata.resourceVersion)).toBeGreaterThan(0);
    expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(await client.get(ConfigMaps, { namespace, name: "first" })).toEqual(made);
  });

  test("what is handed out is frozen to its leaves", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "frozen", { metadata: { labels: { a: "b" } } }));
    const read = await client.get(ConfigMaps, { namespace, name: "frozen" });
    const [listed] = (await client.list(ConfigMaps, { namespace, labelSelector: "a=b" })).items;
    for (const object of [made, read, listed]) {
      expect(Object.isFrozen(object)).toBe(true);
      expect(Object.isFrozen(object?.metadata.labels)).toBe(true);
      expect(Object.isFrozen(object?.data)).toBe(true);
    }
  });

  test("an object that the caller keeps changing after create stays as it was created", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const data: Record<string, string> = { key: "before" };
    const mine = { metadata: { namespace, name: "mine" }, data };
    await client.create(ConfigMaps, mine);
    data["key"] = "after";
    expect((await client.get(ConfigMaps, { namespace, name: "mine" })).data).toEqual({ key: "before" });
  });

  test("a second create of the same name says AlreadyExists and names it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "twice"));
    const no = await refusal(client.create(ConfigMaps, aConfigMap(namespace, "twice")));
    expect(no).toMatchObject({ reason: "AlreadyExists", code: 409, message: 'configmaps "twice" already exists' });
  });

  test("a second create of one of our kinds names the kind with its group", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "twice"));
    const no = await refusal(client.create(SandboxPools, aPool(namespace, "twice")));
    expect(no.message).toBe('sandboxpools.agents.navix.sh "twice" already exists');
  });

  test("the same name in two namespaces is two objects", async () => {
    const { client } = server();
    const [here, there] = [await server().namespace(), await server().namespace()];
    const first = await client.create(ConfigMaps, aConfigMap(here, "same"));
    const second = await client.create(ConfigMaps, aConfigMap(there, "same"));
    expect(first.metadata.uid).not.toBe(second.metadata.uid);
  });

  test("generateName makes a new valid name each time", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const make = () => client.create(ConfigMaps, { metadata: { namespace, generateName: "made-" } });
    const [first, second] = [await make(), await make()];
    expect(first.metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(first.metadata.name).not.toBe(second.metadata.name);
    expect(first.metadata.generateName).toBe("made-");
  });

  test("a name wins over generateName", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, { metadata: { namespace, name: "given", generateName: "made-" } });
    expect(made.metadata.name).toBe("given");
  });

  test("neither name nor generateName is invalid at metadata.name", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const no = await refusal(client.create(ConfigMaps, { metadata: { namespace } }));
    expect(no).toMatchObject({ reason: "Invalid", code: 422, fields: ["metadata.name"] });
    expect(no.message).toContain("name or generateName is required");
  });

  test("a very long generateName is cut so that the name still fits", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, { metadata: { namespace, generateName: "x".repeat(100) } });
    expect(made.metadata.name).toHaveLength(63);
  });

  test("server-owned metadata in a create is overwritten", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, {
      ...aPool(namespace, "pretender"),
      metadata: { namespace, name: "pretender", uid: "mine", generation: 77, creationTimestamp: "2001-01-01T00:00:00Z" },
    });
    expect(made.metadata.uid).not.toBe("mine");
    expect(made.metadata.generation).toBe(1);
    expect(made.metadata.creationTimestamp).not.toBe("2001-01-01T00:00:00Z");
  });

  test("a deletionTimestamp in a create is ignored", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, {
      metadata: { namespace, name: "born-dead", deletionTimestamp: "2001-01-01T00:00:00Z" },
    });
    expect(made.metadata.deletionTimestamp).toBeUndefined();
  });

  test("a create with a resourceVersion is refused", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const no = await refusal(client.create(ConfigMaps, { metadata: { namespace, name: "versioned", resourceVersion: "5" } }));
    // An odd reason for a mistake of the caller, but it is the API server's.
    expect(no.reason).toBe("InternalError");
    expect(no.message).toContain("resourceVersion should not be set on objects to be created");
  });

  test("a create in a namespace that does not exist is NotFound and names the namespace", async () => {
    const no = await refusal(server().client.create(ConfigMaps, aConfigMap("nowhere-at-all", "lost")));
    expect(no).toMatchObject({ reason: "NotFound", code: 404, message: 'namespaces "nowhere-at-all" not found' });
  });

  test("a get of what is not there is NotFound and names it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    expect(await refusal(client.get(ConfigMaps, { namespace, name: "nobody" }))).toMatchObject({
      reason: "NotFound",
      code: 404,
      message: 'configmaps "nobody" not found',
    });
    expect(await refusal(client.get(SandboxPools, { namespace, name: "nobody" }))).toMatchObject({
      reason: "NotFound",
      message: 'sandboxpools.agents.navix.sh "nobody" not found',
    });
  });

  test("a cluster-scoped kind needs no namespace and has none", async () => {
    const { client } = server();
    const name = `template-${await server().namespace()}`;
    const made = await client.create(SandboxTemplates, aTemplate(name));
    expect(made.metadata.namespace).toBeUndefined();
    expect((await client.get(SandboxTemplates, { name })).metadata.uid).toBe(made.metadata.uid);
  });

  test("the default namespace is there from the start", async () => {
    const found = await server().client.get(Namespaces, { name: "default" });
    expect(found.status?.phase).toBe("Active");
    expect(found.metadata.labels).toEqual({ "kubernetes.io/metadata.name": "default" });
  });

  test("a new namespace is active, labelled with its name and held by its finalizer", async () => {
    const { client } = server();
    const name = await server().namespace();
    const found = await client.get(Namespaces, { name });
    expect(found.status?.phase).toBe("Active");
    expect(found.spec?.finalizers).toEqual(["kubernetes"]);
    expect(found.metadata.labels).toEqual({ "kubernetes.io/metadata.name": name });
  });

  test("a dry-run create answers as if and keeps nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "dry"), { dryRun: true });
    expect(made.metadata.uid).toBeTypeOf("string");
    expect(await refusal(client.get(SandboxPools, { namespace, name: "dry" }))).toMatchObject({ reason: "NotFound" });
  });

  test("a dry-run create of something bad is refused", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const bad = { ...aPool(namespace, "dry"), spec: { ...aPool(namespace, "dry").spec, replicas: -1 } };
    const no = await refusal(client.create(SandboxPools, bad, { dryRun: true }));
    expect(no.reason).toBe("Invalid");
    expect(no.fields).toContain("spec.replicas");
  });

  test("a field that the kind does not have is dropped", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = aPool(namespace, "extra");
    const made = await client.create(SandboxPools, { ...pool, spec: withSurplus(pool.spec) });
    expect(made.spec).not.toHaveProperty("surplus");
  });

  test("a field that the kind does not have is refused under strict validation, with its path", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = aPool(namespace, "extra");
    const extra = { ...pool, spec: withSurplus(pool.spec) };
    const no = await refusal(client.create(SandboxPools, extra, { fieldValidation: "Strict" }));
    expect(no.reason).toBe("BadRequest");
    expect(no.message).toContain('strict decoding error: unknown field "spec.surplus"');
  });

  test("many creates at once all get versions of their own", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await Promise.all(Array.from({ length: 30 }, (_, i) => client.create(ConfigMaps, aConfigMap(namespace, `many-${i}`))));
    expect(new Set(made.map((object) => object.metadata.resourceVersion)).size).toBe(30);
  });

  test("of two creates of one name at once exactly one wins", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => client.create(ConfigMaps, aConfigMap(namespace, "race"))));
    expect(tries.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  });

  test("an aborted call rejects with the caller's reason", async () => {
    const abort = new AbortController();
    abort.abort(new Error("changed my mind"));
    await expect(server().client.list(ConfigMaps, { signal: abort.signal })).rejects.toThrow("changed my mind");
  });
});
