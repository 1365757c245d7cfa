import { expect, test } from "vitest";
import { ConfigMaps, Events, Leases, Secrets } from "#model/core-kinds.ts";
import { aConfigMap, refusal } from "./helpers.ts";
import { describeServers } from "./servers.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

describeServers("secrets", (server) => {
  test("a secret is opaque unless it says otherwise, and folds stringData into data", async () => {
    const namespace = await server().namespace();
    const made = await server().client.create(Secrets, {
      metadata: { namespace, name: "s" },
      data: { a: base64("one"), b: base64("two") },
      stringData: { b: "zwei ✓", c: "three" },
    });
    expect(made.type).toBe("Opaque");
    expect(made.data).toEqual({ a: base64("one"), b: base64("zwei ✓"), c: base64("three") });
    expect(made.stringData).toBeUndefined();
  });

  test("data that is no base64 is refused", async () => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(Secrets, { metadata: { namespace, name: "s" }, data: { a: "%%%" } }));
    expect(no.reason).toBe("BadRequest");
  });

  test("a key with a space is refused at its field", async () => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(Secrets, { metadata: { namespace, name: "s" }, stringData: { "a b": "x" } }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["data[a b]"] });
  });

  test("the type of a secret cannot be changed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Secrets, { metadata: { namespace, name: "s" }, type: "example.com/a" });
    const no = await refusal(client.update(Secrets, { ...made, type: "example.com/b" }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["type"] });
  });

  test("an immutable secret cannot be changed, nor made mutable again", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Secrets, { metadata: { namespace, name: "s" }, data: { a: base64("x") }, immutable: true });
    expect((await refusal(client.update(Secrets, { ...made, data: { a: base64("y") } }))).fields).toEqual(["data"]);
    expect((await refusal(client.update(Secrets, { ...made, immutable: false }))).fields).toContain("immutable");
    const labelled = await client.update(Secrets, { ...made, metadata: { ...made.metadata, labels: { a: "b" } } });
    expect(labelled.metadata.labels).toEqual({ a: "b" });
  });

  test("a pull secret must hold a docker configuration", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const type = "kubernetes.io/dockerconfigjson";
    const no = await refusal(client.create(Secrets, { metadata: { namespace, name: "ips" }, type, data: { other: base64("{}") } }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["data[.dockerconfigjson]"] });
    await client.create(Secrets, { metadata: { namespace, name: "ips" }, type, stringData: { ".dockerconfigjson": '{"auths":{}}' } });
  });

  test("a secret of more than 1 MiB is refused", async () => {
    const namespace = await server().namespace();
    const data = { big: Buffer.alloc(1024 * 1024 + 1).toString("base64") };
    const no = await refusal(server().client.create(Secrets, { metadata: { namespace, name: "s" }, data }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["data"] });
  });
});

describeServers("config maps", (server) => {
  test("a key with a slash is refused at its field", async () => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(ConfigMaps, aConfigMap(namespace, "c", { data: { "a/b": "x" } })));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["data[a/b]"] });
  });

  test("a key in both data and binaryData is refused", async () => {
    const namespace = await server().namespace();
    const bad = aConfigMap(namespace, "c", { data: { a: "x" }, binaryData: { a: base64("y") } });
    expect((await refusal(server().client.create(ConfigMaps, bad))).reason).toBe("Invalid");
  });

  test("an immutable config map cannot be changed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "c", { immutable: true }));
    expect((await refusal(client.update(ConfigMaps, { ...made, data: { a: "b" } }))).fields).toEqual(["data"]);
  });

  test("values that are no strings are refused", async () => {
    const namespace = await server().namespace();
    const data = { count: 5 } as unknown as Record<string, string>; // What a careless YAML file says.
    const no = await refusal(server().client.create(ConfigMaps, aConfigMap(namespace, "c", { data })));
    expect(no.reason).toBe("BadRequest");
  });
});

describeServers("leases", (server) => {
  test("a lease keeps its holder and its times to the microsecond", async () => {
    const namespace = await server().namespace();
    const spec = {
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-02T03:04:05.123456Z",
      renewTime: "2026-01-02T03:04:06.000000Z",
      leaseTransitions: 3,
    };
    const made = await server().client.create(Leases, { metadata: { namespace, name: "l" }, spec });
    expect(made.spec).toEqual(spec);
  });

  test.for([
    ["leaseDurationSeconds", { holderIdentity: "me", leaseDurationSeconds: 0 }],
    ["leaseTransitions", { leaseTransitions: -1 }],
  ] as const)("a bad %s is refused", async ([field, spec]) => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(Leases, { metadata: { namespace, name: "l" }, spec }));
    expect(no).toMatchObject({ reason: "Invalid", fields: [`spec.${field}`] });
  });
});

describeServers("events", (server) => {
  test("an event is kept and can be found by what it speaks of", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const involvedObject = { apiVersion: "v1", kind: "Pod", namespace, name: "p", uid: "44444444-4444-4444-8444-444444444444" };
    await client.create(Events, {
      metadata: { namespace, generateName: "p." },
      involvedObject,
      reason: "Started",
      message: "Started container main",
      type: "Normal",
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      source: { component: "agentbox" },
    });
    const find = async (fieldSelector: string) =>
      (await client.list(Events, { namespace, fieldSelector })).items.map((event) => event.reason);
    expect(await find("involvedObject.name=p,involvedObject.kind=Pod")).toEqual(["Started"]);
    expect(await find(`involvedObject.uid=${involvedObject.uid},type=Normal,reason=Started`)).toEqual(["Started"]);
    expect(await find("type=Warning")).toEqual([]);
  });

  test("an event about an object in another namespace is refused", async () => {
    const namespace = await server().namespace();
    const no = await refusal(
      server().client.create(Events, {
        metadata: { namespace, name: "e" },
        involvedObject: { kind: "Pod", namespace: "default", name: "p" },
        reason: "Started",
      }),
    );
    expect(no).toMatchObject({ reason: "Invalid", fields: ["involvedObject.namespace"] });
  });
});
