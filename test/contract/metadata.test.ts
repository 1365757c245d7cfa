import { expect, test } from "vitest";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, refusal } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const long = (length: number) => "x".repeat(length);

describeServers("names, labels and annotations", (server) => {
  test.for(["a", "a.b", "a-b.c-d", "0", long(253)])("the name %j is taken", async (name) => {
    const namespace = await server().namespace();
    expect((await server().client.create(ConfigMaps, aConfigMap(namespace, name))).metadata.name).toBe(name);
  });

  test.for(["A", "a_b", "-a", "a-", "a..b", ".a", "ä", "a b", long(254)])("the name %j is refused", async (name) => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(ConfigMaps, aConfigMap(namespace, name)));
    expect(no).toMatchObject({ reason: "Invalid", code: 422, fields: ["metadata.name"] });
  });

  test("a bad name of one of our kinds is refused with kind and group in the message", async () => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(SandboxPools, aPool(namespace, "Bad_Name")));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.name"] });
    expect(no.message).toMatch(/^SandboxPool\.agents\.navix\.sh "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": /);
  });

  test("a namespace's name is a single DNS label", async () => {
    const no = await refusal(server().client.create(Namespaces, { metadata: { name: "a.b" } }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.name"] });
  });

  const goodMeta: readonly [string, Partial<ObjectMeta>][] = [
    ["an empty label value", { labels: { a: "" } }],
    ["a label with a prefix", { labels: { "example.com/role": "web" } }],
    ["a label value of 63 characters", { labels: { a: long(63) } }],
    ["dots, dashes and underscores inside a label", { labels: { "a.b_c-d": "A.b_c-d" } }],
    ["an annotation with any text", { annotations: { "example.com/note": "Zeile 1\nZeile 2 ✓" } }],
    ["a large annotation", { annotations: { note: long(200_000) } }],
  ];
  test.for(goodMeta)("%s is taken", async ([, metadata]) => {
    const namespace = await server().namespace();
    const made = await server().client.create(ConfigMaps, aConfigMap(namespace, "good", { metadata }));
    expect(made.metadata).toMatchObject(metadata);
  });

  const badMeta: readonly [string, Partial<ObjectMeta>, string][] = [
    ["a label value with a space", { labels: { a: "b c" } }, "metadata.labels"],
    ["a label value of 64 characters", { labels: { a: long(64) } }, "metadata.labels"],
    ["a label value that ends in a dash", { labels: { a: "b-" } }, "metadata.labels"],
    ["an empty label key", { labels: { "": "x" } }, "metadata.labels"],
    ["a label key of 64 characters", { labels: { [long(64)]: "x" } }, "metadata.labels"],
    ["a label key with two slashes", { labels: { "a/b/c": "x" } }, "metadata.labels"],
    ["a label key with a capital prefix", { labels: { "Example.com/a": "x" } }, "metadata.labels"],
    ["an annotation key with a space", { annotations: { "a b": "x" } }, "metadata.annotations"],
    ["annotations of more than 256 KiB", { annotations: { note: long(262_145) } }, "metadata.annotations"],
    ["a finalizer without a domain", { finalizers: ["hold"] }, "metadata.finalizers"],
    ["a finalizer with a space", { finalizers: ["example.com/a b"] }, "metadata.finalizers"],
  ];
  test.for(badMeta)("%s is refused at its field", async ([, metadata, field]) => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(ConfigMaps, aConfigMap(namespace, "bad", { metadata })));
    expect(no.reason).toBe("Invalid");
    expect(no.fields.every((one) => one.startsWith(field))).toBe(true);
    expect(no.fields.length).toBeGreaterThan(0);
  });

  test("several things that are wrong are all named", async () => {
    const namespace = await server().namespace();
    const no = await refusal(
      server().client.create(ConfigMaps, aConfigMap(namespace, "Bad", { metadata: { labels: { a: "b c" } }, data: { "bad key": "x" } })),
    );
    expect(new Set(no.fields)).toEqual(new Set(["metadata.name", "metadata.labels", "data[bad key]"]));
    expect(no.message).toMatch(/^ConfigMap "Bad" is invalid: \[/);
  });

  test("a bad label in an update is refused and nothing changes", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "kept"));
    const no = await refusal(client.update(ConfigMaps, { ...made, metadata: { ...made.metadata, labels: { a: "b c" } } }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.labels"] });
    expect(await client.get(ConfigMaps, { namespace, name: "kept" })).toEqual(made);
  });

  test("a label that is no string is refused", async () => {
    const namespace = await server().namespace();
    const labels = { a: 1 } as unknown as Record<string, string>; // What a careless YAML file says.
    const no = await refusal(
      server().client.create(SandboxPools, { ...aPool(namespace, "bad"), metadata: { namespace, name: "bad", labels } }),
    );
    expect(no.reason).toBe("BadRequest");
  });
});
