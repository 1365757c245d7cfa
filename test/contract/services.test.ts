/** What the use cases make of a server's answers, on every server: the places of mistakes, races, events. */
import { expect, onTestFinished, test } from "vitest";
import { checkPodTemplate } from "#cmd/cluster/check-pod-template.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { leaseAbout } from "#engines/kubernetes/claims/claim-lease.ts";
import { Events, Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools, type SandboxPoolSpec } from "#model/sandbox-pool.ts";
import { type SandboxTemplateSpec, SandboxTemplates } from "#model/sandbox-template.ts";
import { getSandbox } from "#services/reading/get-sandbox.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { isServiceError, type ServiceError } from "#services/service-error.ts";
import { setTimeouts } from "#services/changing/set-timeouts.ts";
import { templateService } from "#services/templates/template-service.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { admin, ann } from "../world/service-scene.ts";
import { type ClaimServer, type ContractServer, describeClaims, describeServers } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

function aPool(name: string, spec: Partial<SandboxPoolSpec> = {}, metadata: Partial<ObjectMeta> = {}): SandboxPool {
  return { metadata: { name, ...metadata }, spec: { replicas: 1, template, ...spec } };
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (isServiceError(failure)) return failure;
  throw failure ?? new Error("the use case succeeded where it should have failed");
}

/** The use cases over a namespace of the server, with a cache that sees all of it. */
async function depsOn(server: ContractServer & Partial<ClaimServer>) {
  const { client, claimsOnLeases = false } = server;
  const cache = new SandboxCache({ client, clock: systemClock, log: recordedLog().log }, { claims: claimBook(claimsOnLeases) });
  await cache.run();
  onTestFinished(() => cache.stop());
  const history = { get: async () => undefined };
  return { client, cache, clock: systemClock, history, log: recordedLog().log, namespace: await server.namespace(), claimsOnLeases };
}

describeServers("use cases", (server) => {
  test("what is wrong with a pool is named with its place", async () => {
    const deps = await depsOn(server());
    const pools = poolService(deps);
    const fieldOf = async (body: SandboxPool): Promise<unknown> => {
      const { code, details } = await failureOf(pools.create(admin, body));
      return [code, details.field];
    };
    expect(await fieldOf(aPool("Upper_Case"))).toEqual(["invalid_request", "metadata.name"]);
    expect(await fieldOf(aPool("py", { replicas: -1 }))).toEqual(["invalid_request", "spec.replicas"]);
    expect(await fieldOf(aPool("py", { defaultIdleTimeout: "soon" }))).toEqual(["invalid_request", "spec.defaultIdleTimeout"]);
    expect(await fieldOf(aPool("py", { size: 3 } as Partial<SandboxPoolSpec>))).toEqual(["invalid_request", "spec.size"]);
    const neither = { metadata: { name: "py" }, spec: { replicas: 1 } };
    expect(await fieldOf(neither)).toEqual(["invalid_request", "spec.templateName"]);
    expect(await fieldOf(aPool("py", {}, { namespace: "no-such-namespace" }))).toEqual(["invalid_request", "metadata.namespace"]);
    await pools.create(admin, aPool("py"));
    expect(await fieldOf(aPool("py"))).toEqual(["conflict", "metadata.name"]);
  });

  test("a pool is scaled, replaced and deleted, whatever else is written meanwhile", async () => {
    const deps = await depsOn(server());
    const { client, cache, namespace } = deps;
    const pools = poolService(deps);
    const pool = { name: "py", namespace };
    const made = await pools.create(admin, aPool("py"));
    await cache.stop();
    await client.patch(SandboxPools, pool, { type: "merge", body: { metadata: { labels: { seen: "no" } } } });
    expect((await pools.scale(admin, pool, 4)).spec.replicas).toBe(4);
    await client.patch(SandboxPools, pool, { type: "merge", body: { metadata: { labels: { seen: "never" } } } });
    expect(await pools.replace(admin, pool, aPool("py", { replicas: 2 }))).toMatchObject({
      metadata: { uid: made.metadata.uid },
      spec: { replicas: 2 },
    });
    expect((await failureOf(pools.replace(admin, pool, made))).code).toBe("conflict");
    expect((await failureOf(pools.scale(admin, pool, -1))).details.field).toBe("spec.replicas");
    await pools.delete(admin, pool);
    await pools.delete(admin, pool);
    expect((await client.list(SandboxPools, { namespace })).items).toEqual([]);
  });

  test("what is wrong with a template is named with its place, and its version only rises", async () => {
    const deps = await depsOn(server());
    const templates = templateService(deps);
    const name = `t-${deps.namespace}`;
    const body = (spec: Partial<SandboxTemplateSpec>) => ({ metadata: { name }, spec: { template, ...spec } });
    await templates.create(admin, body({ version: "v2.0.0" }));
    onTestFinished(() => templates.delete(admin, name));
    expect(await failureOf(templates.replace(admin, name, body({ version: "new" })))).toMatchObject({
      code: "invalid_request",
      details: { field: "spec.version" },
    });
    expect((await failureOf(templates.replace(admin, name, body({ version: "v1.0.0", idleImage: "x" })))).code).toBe("invalid_request");
    expect((await templates.replace(admin, name, body({ version: "v2.1.0", idleImage: "x" }))).spec.version).toBe("v2.1.0");
  });
});

describeServers("pods inside templates and pools", (server) => {
  const wrong = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", ports: [{ containerPort: 99_999 }] }] } };
  const unknown = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", imagePolicy: "Never" }] } };
  const port = {
    code: "invalid_request",
    message: expect.stringContaining(
      "spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535",
    ),
    details: { field: "spec.template.spec.containers[0].ports[0].containerPort" },
  };

  test("are checked whole by the REST API, whichever server keeps them, and nothing is stored", async () => {
    const deps = { ...(await depsOn(server())), checkPodTemplate };
    const [templates, pools] = [templateService(deps), poolService(deps)];
    const name = `t-${deps.namespace}`;
    const body = (podTemplate: object) => ({ metadata: { name }, spec: { template: podTemplate as typeof template } });
    expect(await failureOf(templates.create(admin, body(wrong)))).toMatchObject(port);
    expect(await failureOf(templates.create(admin, body(unknown)))).toMatchObject({
      details: { field: "spec.template.spec.containers[0].imagePolicy" },
    });
    expect(await failureOf(pools.create(admin, aPool("py", { template: wrong })))).toMatchObject(port);
    await templates.create(admin, body(template));
    onTestFinished(() => templates.delete(admin, name));
    await pools.create(admin, aPool("py"));
    expect(await failureOf(templates.replace(admin, name, body(wrong)))).toMatchObject(port);
    expect(
      await failureOf(pools.replace(admin, { namespace: deps.namespace, name: "py" }, aPool("py", { template: wrong }))),
    ).toMatchObject(port);
    expect((await templates.get(admin, name)).spec.template).toMatchObject(template);
  });

  test("that were stored before stay, while something else of the template is changed", async () => {
    const deps = await depsOn(server());
    const name = `t-${deps.namespace}`;
    const body = { metadata: { name }, spec: { template: wrong } };
    await deps.client.create(SandboxTemplates, body);
    onTestFinished(() => deps.client.delete(SandboxTemplates, { name }));
    const templates = templateService({ ...deps, checkPodTemplate });
    const stored = await deps.client.get(SandboxTemplates, { name });
    const labelled = await templates.replace(admin, name, { metadata: { name, labels: { seen: "yes" } }, spec: stored.spec });
    expect(labelled.metadata.labels).toEqual({ seen: "yes" });
  });
});

describeClaims("use cases of sandboxes", (server) => {
  test("a stuck sandbox is shown with the warnings about its pod, and its timeouts can be changed", async () => {
    const deps = await depsOn(server());
    const pod = await aSandbox(deps);
    const { name = "", uid = "" } = pod.metadata;
    const { namespace } = deps;
    for (const [type, message] of [["Warning", "no room"] as const, ["Normal", "all is well"] as const]) {
      await deps.client.create(Events, {
        metadata: { namespace, name: `${name}.${type.toLowerCase()}` },
        involvedObject: { kind: "Pod", namespace, name, uid },
        type,
        reason: "FailedScheduling",
        message,
        lastTimestamp: new Date(Date.now() + 5000).toISOString().replace(/\.\d+/, ""),
      });
    }
    const { diagnosis } = await getSandbox(deps, ann, "i-1");
    expect(diagnosis?.reason).toBe("Unschedulable");
    expect(diagnosis?.events?.map(({ message }) => message)).toEqual(["no room"]);

    await deps.cache.stop();
    await deps.client.patch(Pods, { namespace, name }, { type: "merge", body: { metadata: { annotations: { seen: "no" } } } });
    expect(await setTimeouts(deps, ann, "i-1", { idleTimeoutMs: 60_000, lifetimeMs: 3_600_000 })).toMatchObject({ idleTimeoutMs: 60_000 });
    const { labels, annotations } = (await deps.client.get(Pods, { namespace, name })).metadata;
    expect([labels, annotations?.["seen"]]).toEqual([pod.metadata.labels, "no"]);
  });
});

/** Claimed, and nothing of it has happened yet. */
async function aSandbox({ client, cache, namespace, claimsOnLeases }: Awaited<ReturnType<typeof depsOn>>): Promise<Pod> {
  const idle = { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: "idle" };
  const claim = {
    labels: { [labelKeys.sandboxPhase]: "starting", [labelKeys.sandboxId]: "i-1", [labelKeys.team]: "red", [labelKeys.user]: "ann" },
    annotations: { [annotationKeys.claimedAt]: new Date().toISOString() },
    without: [],
  };
  const labels = claimsOnLeases ? idle : { ...idle, ...claim.labels };
  const annotations = claimsOnLeases ? {} : claim.annotations;
  const pod = await client.create(Pods, { metadata: { namespace, name: "py-1", labels, annotations }, spec: template.spec });
  if (claimsOnLeases) await client.create(Leases, leaseAbout(pod, claim, undefined));
  return cache.readPod(client, { namespace, name: "py-1" });
}
