import { expect, test } from "vitest";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { bringToPod, writeClaim } from "#life/claim/write-claim.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods, type PodStatus } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { type Claim, planClaim } from "#life/claim/plan-claim.ts";
import { planFinishStart } from "#life/arm/plan-started.ts";
import { planRecycle } from "#life/recycle/plan-recycle.ts";
import { fateAfterUse } from "#life/recycle/plan-fate.ts";
import { planEnd } from "#life/end/plan-end.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { digestOf, nodeCatchesUp } from "../world/pool-pods.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { aPool } from "./own-kinds.ts";
import { type ClaimServer, type ContractServer, describeClaims } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

const now = Date.parse("2026-01-01T10:00:00Z");
const image = (name: string) => ({ image: `registry.invalid/${name}:1`, digest: digestOf(name) });
const waiting = { main: image("idle") };

/** Does what a node does, so that the rules find what they look for. */
async function reportReady(client: ObjectClient, pod: Pod): Promise<Pod> {
  const { containerStatuses = [] } = nodeCatchesUp(pod).status ?? {};
  const status: PodStatus = { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }], containerStatuses };
  const body = { status: { ...status, podIPs: [{ ip: "10.0.0.7" }] } } as unknown as JsonObject;
  return client.patch(Pods, keyOf(pod), { type: "merge", body }, { subresource: "status" });
}

function keyOf({ metadata: { namespace, name = "" } }: Pod): { namespace: string | undefined; name: string } {
  return { namespace, name };
}

/** A pod of a pool that is there, idle and ready. */
async function anIdlePod(server: ContractServer): Promise<Pod> {
  const { client } = server;
  const template = { metadata: { labels: { app: "base" } }, spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
  const pool = await client.create(SandboxPools, aPool(await server.namespace(), "py", { template, idleImage: "registry.invalid/idle:1" }));
  const resolved = resolveTemplate(pool, undefined);
  if (resolved.kind !== "template") throw new Error(resolved.kind);
  const digests = { "registry.invalid/app:1": digestOf("app"), "registry.invalid/idle:1": digestOf("idle") };
  const rendered = renderPod({ pool, template: resolved.template, name: "py-1", digests, publicKey: "a2V5" });
  if (rendered.kind !== "pod") throw new Error(JSON.stringify(rendered));
  return reportReady(client, await client.create(Pods, rendered.pod));
}

function aClaim(more: Partial<Claim> = {}): Claim {
  return {
    sandboxId: "i1",
    team: "red",
    user: "ann",
    images: { main: image("app") },
    idleTimeoutMs: 600_000,
    labels: { "example.com/job": "j1", constructor: "x" },
    annotations: { "example.com/note": "any text, with ~ and /", plain: "" },
    metadata: { purpose: "test" },
    ...more,
  };
}

async function write(client: ObjectClient, pod: Pod, plan: { readonly kind: string; readonly patch?: JsonPatch }): Promise<Pod> {
  if (plan.patch === undefined) throw new Error(JSON.stringify(plan));
  return client.patch(Pods, keyOf(pod), plan.patch);
}

/** As an API process does that has heard of nothing: what the node must see of the claim comes to the pod at once. */
async function claim({ client, claimsOnLeases }: ClaimServer, pod: Pod, wanted: Claim): Promise<Pod> {
  const cache = new SandboxCache({ client, clock: systemClock, log: recordedLog().log }, { claims: claimBook(claimsOnLeases) });
  const plan = planClaim(pod, wanted, now);
  if (plan.kind === "refused") throw new Error(plan.message);
  const claimed = await writeClaim({ client, cache }, pod, plan);
  return plan.isForPod && isClaimElsewhere(claimed) ? bringToPod({ client, cache }, claimed, plan.change.images) : claimed;
}

async function isLost(call: Promise<unknown>): Promise<boolean> {
  return call.then(() => false, isLostRace);
}

describeClaims("the life of a pod", (server) => {
  test("claim, start, release and recycling are one write of it each, and leave the pod as it was", async () => {
    const { client } = server();
    const idle = await anIdlePod(server());
    const starting = await claim(server(), idle, aClaim());
    expect(starting.metadata.generation).toBe((idle.metadata.generation ?? 0) + 1);
    const started = await reportReady(client, starting);
    const running = await write(client, started, planFinishStart(started, now + 1000));
    const fate = fateAfterUse(running, { waiting, maxUses: 10 });
    const stopping = await write(client, running, planEnd(running, { sandboxId: "i1", fate }, now + 2000));
    const stopped = await reportReady(client, stopping);
    const again = await write(client, stopped, planRecycle(stopped, { recorded: "i1" }, now + 3000));
    expect(again.metadata.labels).toEqual(idle.metadata.labels);
    const { [annotationKeys.inplaceUpdateState]: _, ...annotations } = again.metadata.annotations ?? {};
    expect(annotations).toEqual({ ...idle.metadata.annotations, [annotationKeys.useCount]: "1" });
    expect(again.spec.containers[0]?.image).toBe(`registry.invalid/idle:1-u1@${digestOf("idle")}`);
  });

  test("a claim on the fast path changes no spec", async () => {
    const { client } = server();
    const idle = await anIdlePod(server());
    const running = await claim(server(), idle, aClaim({ images: { main: image("idle") } }));
    expect((await client.get(Pods, keyOf(idle))).metadata).toMatchObject({
      labels: running.metadata.labels,
      generation: idle.metadata.generation,
    });
    expect(running.metadata.generation).toBe(idle.metadata.generation);
    expect(running.spec).toEqual(idle.spec);
  });

  test("a claim that nobody but AgentBox must see stays where claims stand, until the release takes it along", async () => {
    const { client, claimsOnLeases } = server();
    const idle = await anIdlePod(server());
    const running = await claim(server(), idle, { sandboxId: "i1", images: waiting });
    const stored = await client.get(Pods, keyOf(idle));
    expect([isClaimElsewhere(running), sandboxIdOf(stored)]).toEqual([claimsOnLeases, claimsOnLeases ? undefined : "i1"]);
    const fate = fateAfterUse(running, { waiting, maxUses: 10 });
    const stopping = await write(client, running, planEnd(running, { sandboxId: "i1", fate }, now + 2000));
    expect(sandboxIdOf(stopping)).toBe("i1");
    const stopped = await reportReady(client, stopping);
    const again = await write(client, stopped, planRecycle(stopped, { recorded: "i1" }, now + 3000));
    expect(again.metadata.labels).toEqual(idle.metadata.labels);
    const { [annotationKeys.inplaceUpdateState]: _, ...annotations } = again.metadata.annotations ?? {};
    expect(annotations).toEqual({ ...idle.metadata.annotations, [annotationKeys.useCount]: "1" });
    expect(sandboxIdOf(await claim(server(), again, { sandboxId: "i2", images: waiting }))).toBe("i2");
  });

  test("I1: of many claims on one pod one wins, and the others learn that they lost a race", async () => {
    const idle = await anIdlePod(server());
    const tries = Array.from({ length: 8 }, (_, index) => claim(server(), idle, aClaim({ sandboxId: `i${index}` })));
    const lost = await Promise.all(tries.map(isLost));
    expect(lost.filter((one) => !one)).toHaveLength(1);
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("a claim on a pod that is gone, or is another of the same name, is a lost race", async () => {
    const idle = await anIdlePod(server());
    const other = { ...idle, metadata: { ...idle.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
    expect(await isLost(claim(server(), other, aClaim()))).toBe(true);
    const nobody = { ...idle, metadata: { ...idle.metadata, name: "nobody" } };
    expect(await isLost(claim(server(), nobody, aClaim()))).toBe(true);
  });

  test("a patch that breaks a rule of the server is no lost race", async () => {
    const { client } = server();
    const idle = await anIdlePod(server());
    const bad = { kind: "patch", patch: podPatch(idle, { labels: { "example.com/job": "not a label value" } }) };
    expect(await isLost(write(client, idle, bad))).toBe(false);
    await expect(write(client, idle, bad)).rejects.toMatchObject({ reason: "Invalid" });
  });
});
