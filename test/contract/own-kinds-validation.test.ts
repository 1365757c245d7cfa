import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { ObjectClient } from "#kube/object-client.ts";
import { resourceTypeOf } from "#model/kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { badObjects } from "./bad-objects.ts";
import { goodObjects } from "./good-objects.ts";
import { refusal } from "./helpers.ts";
import type { AnyObject, BadObject } from "./object-corpus.ts";
import { describeServers, type ContractServer } from "./servers.ts";

describeServers("our kinds", (server) => {
  test.each(badObjects.map((bad) => [bad.title, bad] as const))("refused: %s", async (_title, bad) => {
    const { client } = server();
    const place = await placeFor(server(), bad.type);
    const { reason, causes } = await refusal(write(client, bad, place));
    expect(reason).toBe("Invalid");
    expect(causes).toContainEqual({ field: bad.field, reason: bad.reason, message: expect.any(String) });
    if (bad.through !== "create") await client.delete(bad.type, keyOf(place(bad.object)));
  });

  test.each(goodObjects.map((good) => [good.title, good] as const))("accepted: %s", async (_title, { type, object }) => {
    const { client } = server();
    const place = await placeFor(server(), type);
    const made = await client.create(type, place(object));
    expect(await client.get(type, keyOf(made))).toEqual(made);
    await client.delete(type, keyOf(made));
  });

  test("the examples are accepted, and their defaults filled in", async () => {
    const { client } = server();
    const made: AnyObject[] = [];
    for (const [type, object] of examples()) {
      const place = await placeFor(server(), type);
      const created = await client.create(type, place(object));
      made.push(await client.get(type, keyOf(created)));
      await client.delete(type, keyOf(created));
    }
    // Written by the real server; every server is held to this one file.
    const stored = made.map(({ kind, spec }) => stringify({ kind, spec }, { sortMapEntries: true }));
    await expect(stored.join("---\n")).toMatchFileSnapshot("examples-as-stored.yaml");
  });
});

function write(client: ObjectClient, bad: BadObject, place: (object: AnyObject) => AnyObject): Promise<unknown> {
  if (bad.through === "create") return client.create(bad.type, place(bad.object));
  const { status: _, ...withoutStatus } = bad.object;
  return client.create(bad.type, place(bad.before ?? withoutStatus)).then(({ metadata: { resourceVersion = "" } }) => {
    const object = place(bad.object);
    const next = { ...object, metadata: { ...object.metadata, resourceVersion } };
    return client.update(bad.type, next, bad.through === "status" ? { subresource: "status" } : {});
  });
}

/** Puts an object where a test may: namespaced ones into a new namespace, the others where they are. */
async function placeFor(server: ContractServer, type: ResourceType): Promise<(object: AnyObject) => AnyObject> {
  if (!type.namespaced) return (object) => object;
  const namespace = await server.namespace();
  return (object) => ({ ...object, metadata: { ...object.metadata, namespace } });
}

function keyOf({ metadata }: ApiObject): { namespace: string | undefined; name: string } {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

function examples(): [ResourceType, AnyObject][] {
  const folder = new URL("../../deploy/examples/", import.meta.url);
  return readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file): [ResourceType, AnyObject] => {
      const object: AnyObject = parse(readFileSync(new URL(file, folder), "utf8"));
      const type = resourceTypeOf(object.apiVersion ?? "", object.kind ?? "");
      if (type === undefined) throw new Error(`deploy/examples/${file} is of no kind that we know`);
      return [type, object];
    });
}
