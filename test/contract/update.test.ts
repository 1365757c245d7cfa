import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, refusal } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const changed = "the object has been modified; please apply your changes to the latest version and try again";

describeServers("updating", (server) => {
  test("an update with the current version is taken and raises the version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "one"));
    const next = await client.update(ConfigMaps, { ...made, data: { greeting: "moin" } });
    expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion));
    expect(next.metadata.uid).toBe(made.metadata.uid);
    expect(await client.get(ConfigMaps, { namespace, name: "one" })).toEqual(next);
  });

  test("an update with an old version is a conflict that names the object, and changes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "one"));
    const second = await client.update(ConfigMaps, { ...made, data: { greeting: "second" } });
    const no = await refusal(client.update(ConfigMaps, { ...made, data: { greeting: "third" } }));
    expect(no).toMatchObject({ reason: "Conflict", code: 409, message: `Operation cannot be fulfilled on configmaps "one": ${changed}` });
    expect(await client.get(ConfigMaps, { namespace, name: "one" })).toEqual(second);
  });

  test("a conflict on one of our kinds names the kind with its group", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "one"));
    await client.update(SandboxPools, { ...made, spec: { ...made.spec, replicas: 3 } });
    const no = await refusal(client.update(SandboxPools, { ...made, spec: { ...made.spec, replicas: 4 } }));
    expect(no.message).toBe(`Operation cannot be fulfilled on sandboxpools.agents.navix.sh "one": ${changed}`);
  });

  test("of many conditional updates on one version exactly one wins", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "race"));
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => client.update(ConfigMaps, { ...made, data: { winner: String(i) } })),
    );
    expect(tries.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  });

  test("a core kind may be updated without a version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "free"));
    await client.update(ConfigMaps, { ...made, data: { greeting: "second" } });
    const third = await client.update(ConfigMaps, aConfigMap(namespace, "free", { data: { greeting: "third" } }));
    expect(third.data).toEqual({ greeting: "third" });
    expect(third.metadata.uid).toBe(made.metadata.uid);
  });

  test("one of our kinds may not be updated without a version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "strict"));
    const no = await refusal(client.update(SandboxPools, aPool(namespace, "strict", { replicas: 3 })));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.resourceVersion"] });
    expect(no.message).toContain("must be specified for an update");
  });

  test("an update of what is not there is NotFound", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    expect(await refusal(client.update(ConfigMaps, aConfigMap(namespace, "nobody")))).toMatchObject({ reason: "NotFound" });
  });

  test("an update that changes nothing keeps the version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "same"));
    const next = await client.update(ConfigMaps, made);
    expect(next.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  });

  test("an update with another uid is a conflict", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "other"));
    const other = { ...made, metadata: { ...made.metadata, uid: "00000000-0000-4000-8000-000000000000" }, data: { a: "b" } };
    const no = await refusal(client.update(ConfigMaps, other));
    expect(no.reason).toBe("Conflict");
    expect(no.message).toContain("UID");
  });

  test("creation time, and uid when left out, stay what they were", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "old"));
    const next = await client.update(ConfigMaps, aConfigMap(namespace, "old", { data: { new: "content" } }));
    expect(next.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
    expect(next.metadata.uid).toBe(made.metadata.uid);
  });

  test("labels and annotations that an update leaves out are removed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(
      ConfigMaps,
      aConfigMap(namespace, "bare", { metadata: { labels: { a: "b" }, annotations: { c: "d" } } }),
    );
    expect(made.metadata.labels).toEqual({ a: "b" });
    const next = await client.update(ConfigMaps, aConfigMap(namespace, "bare"));
    expect(next.metadata.labels).toBeUndefined();
    expect(next.metadata.annotations).toBeUndefined();
  });

  test("a spec change raises the generation of our kinds by one, a metadata change does not", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "gen"));
    expect(made.metadata.generation).toBe(1);
    const grown = await client.update(SandboxPools, { ...made, spec: { ...made.spec, replicas: 9 } });
    expect(grown.metadata.generation).toBe(2);
    const labelled = await client.update(SandboxPools, { ...grown, metadata: { ...grown.metadata, labels: { a: "b" } } });
    expect(labelled.metadata.generation).toBe(2);
  });

  test("a generation that a client sends is ignored", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "gen"));
    const next = await client.update(SandboxPools, {
      ...made,
      metadata: { ...made.metadata, generation: 50, labels: { a: "b" } },
    });
    expect(next.metadata.generation).toBe(1);
  });

  test("a pod's generation grows when its image changes", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "swap"));
    expect(made.metadata.generation).toBe(1);
    const containers = made.spec.containers.map((container) => ({ ...container, image: "registry.invalid/app:2" }));
    const next = await client.update(Pods, { ...made, spec: { ...made.spec, containers } });
    expect(next.metadata.generation).toBe(2);
  });

  test("a config map has no generation", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    expect((await client.create(ConfigMaps, aConfigMap(namespace, "plain"))).metadata.generation).toBeUndefined();
  });

  test("a dry-run update answers as if and keeps nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "dry"));
    const next = await client.update(ConfigMaps, { ...made, data: { greeting: "dry" } }, { dryRun: true });
    expect(next.data).toEqual({ greeting: "dry" });
    expect(await client.get(ConfigMaps, { namespace, name: "dry" })).toEqual(made);
  });

  test("an ordinary update of one of our kinds leaves the status alone", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, { ...aPool(namespace, "split"), status: { phase: "Ready", idleReplicas: 7 } });
    expect(made.status).toBeUndefined();
    const withStatus = await client.update(SandboxPools, { ...made, status: { phase: "Ready" } }, { subresource: "status" });
    const next = await client.update(SandboxPools, { ...withStatus, spec: { ...made.spec, replicas: 5 }, status: { phase: "Degraded" } });
    expect(next.status).toEqual({ phase: "Ready" });
    expect(next.spec.replicas).toBe(5);
  });

  test("a status update leaves spec, labels and generation alone", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "split"));
    const next = await client.update(
      SandboxPools,
      {
        ...made,
        metadata: { ...made.metadata, labels: { a: "b" } },
        spec: { ...made.spec, replicas: 99 },
        status: { phase: "Ready", idleReplicas: 2 },
      },
      { subresource: "status" },
    );
    expect(next.spec.replicas).toBe(2);
    expect(next.metadata.labels).toBeUndefined();
    expect(next.metadata.generation).toBe(1);
    expect(next.status).toEqual({ phase: "Ready", idleReplicas: 2 });
  });

  test("a status update with an old version is a conflict", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "split"));
    await client.update(SandboxPools, { ...made, status: { idleReplicas: 1 } }, { subresource: "status" });
    const no = await refusal(client.update(SandboxPools, { ...made, status: { idleReplicas: 2 } }, { subresource: "status" }));
    expect(no.reason).toBe("Conflict");
  });

  test("a status with a wrong value is refused at its path", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(SandboxPools, aPool(namespace, "split"));
    const bad = { ...made, status: { phase: "Splendid" as "Ready" } };
    const no = await refusal(client.update(SandboxPools, bad, { subresource: "status" }));
    expect(no.reason).toBe("Invalid");
    expect(no.fields).toContain("status.phase");
  });

  test("a pod's status is written through its subresource only", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "running"));
    expect(made.status?.phase).toBe("Pending");
    const ignored = await client.update(Pods, { ...made, status: { ...made.status, phase: "Running" } });
    expect(ignored.status?.phase).toBe("Pending");
    const running = await client.update(
      Pods,
      { ...ignored, status: { phase: "Running", podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] } },
      { subresource: "status" },
    );
    expect(running.status?.phase).toBe("Running");
    expect(running.metadata.generation).toBe(1);
  });

  test("a status update of a kind without the subresource is NotFound", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "plain"));
    expect((await refusal(client.update(ConfigMaps, made, { subresource: "status" }))).reason).toBe("NotFound");
  });
});
