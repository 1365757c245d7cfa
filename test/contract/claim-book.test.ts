/** What every claim book promises (engine-port/claim-book.ts), by the book of each engine on every API server. */
import { expect, test } from "vitest";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { type Claim, planClaim } from "#life/claim/plan-claim.ts";
import { writeClaim } from "#life/claim/write-claim.ts";
import { deletePodAsSeen } from "#life/delete-pod.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { stableContainerStatuses } from "#sandbox/health/restart.ts";
import { type InplaceUpdateState, serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { claimBook } from "../world/claim-books.ts";
import { digestOf } from "../world/pool-pods.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { type ClaimServer, describeClaims } from "./servers.ts";

const waiting = { image: "registry.invalid/app:1", digest: digestOf("app") };
const pinned = `${waiting.image}@${waiting.digest}`;

/** A process with a read model of its own, which hears nothing until it is run. */
class Process {
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly clock = systemClock;

  constructor({ client, claimsOnLeases }: ClaimServer, namespace: string) {
    this.client = client;
    const deps = { client, clock: systemClock, log: recordedLog().log };
    this.cache = new SandboxCache(deps, { namespace, claims: claimBook(claimsOnLeases) });
  }

  async claim(pod: Pod, sandboxId: string, more: Partial<Claim> = {}): Promise<Pod> {
    const plan = planClaim(pod, { sandboxId, team: "red", user: "ann", images: { main: waiting }, ...more }, systemClock.now());
    if (plan.kind === "refused") throw new Error(plan.message);
    return writeClaim(this, pod, plan);
  }

  delete(pod: Pod): Promise<boolean> {
    return deletePodAsSeen(this, pod);
  }
}

async function anIdlePod({ client }: ClaimServer, namespace: string): Promise<Pod> {
  const labels = { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: "idle" };
  const containers = [{ name: "main", image: pinned }];
  const { metadata } = await client.create(Pods, {
    metadata: { namespace, name: "py-1", labels, finalizers: [finalizers.sandboxProtection] },
    spec: { containers },
  });
  const status = {
    phase: "Running",
    podIP: "10.0.0.1",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        name: "main",
        ready: true,
        started: true,
        restartCount: 0,
        image: waiting.image,
        imageID: pinned,
        containerID: "containerd://1",
        state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
      },
    ],
  } as const;
  const body = { status };
  return client.patch(Pods, { namespace, name: metadata.name ?? "" }, { type: "merge", body }, { subresource: "status" });
}

async function isLost(work: Promise<unknown>): Promise<boolean> {
  return work.then(() => false, isLostRace);
}

describeClaims("a claim book", (server) => {
  async function setUp(count: number): Promise<{ readonly idle: Pod; readonly processes: readonly Process[]; readonly namespace: string }> {
    const namespace = await server().namespace();
    const processes = Array.from({ length: count }, () => new Process(server(), namespace));
    return { idle: await anIdlePod(server(), namespace), processes, namespace };
  }

  test("C1, I1: of six processes that claim a pod at once exactly one has it, and the others have lost a race", async () => {
    const { idle, processes } = await setUp(6);
    const outcomes = await Promise.all(processes.map((process, index) => isLost(process.claim(idle, `i${index}`))));
    expect(outcomes.filter((lost) => !lost)).toHaveLength(1);
    const winner = `i${outcomes.indexOf(false)}`;
    const { client } = server();
    for (const { cache } of processes) {
      const read = await cache.readPod(client, { namespace: idle.metadata.namespace, name: "py-1" });
      expect([sandboxIdOf(read), sandboxPhaseOf(read)]).toEqual([winner, "running"]);
    }
  });

  test("C2, I4: of a claim and the deletion of an idle pod exactly one succeeds, whichever is first", async () => {
    for (const order of ["claim first", "delete first", "at once"] as const) {
      const { idle, processes, namespace } = await setUp(2);
      const [ann, bob] = processes as [Process, Process];
      const claim = (): Promise<boolean> => isLost(ann.claim(idle, "i1"));
      const remove = (): Promise<boolean> => bob.delete(idle);
      let lost: boolean;
      let deleted: boolean;
      if (order === "claim first") [lost, deleted] = [await claim(), await remove()];
      else if (order === "delete first") [deleted, lost] = [await remove(), await claim()];
      else [lost, deleted] = await Promise.all([claim(), remove()]);
      const expected = { "claim first": false, "delete first": true, "at once": lost }[order];
      expect([lost, deleted]).toEqual([expected, expected]);
      const left = deleted ? undefined : await ann.cache.readPod(server().client, { namespace, name: "py-1" });
      expect(left && sandboxIdOf(left)).toBe(deleted ? undefined : "i1");
    }
  });

  test("C3: a claim shows on its pod in every process, in all lookups, and its next write carries it", async () => {
    const { idle, processes, namespace } = await setUp(3);
    const [ann, bob, eve] = processes as [Process, Process, Process];
    const claimed = await ann.claim(idle, "i1");
    expect(isClaimed(claimed)).toBe(true);
    await bob.cache.refreshSandbox(server().client, "i1");
    await eve.cache.run();
    for (const { cache } of [bob, eve]) {
      const pod = cache.claimedSandbox({ sandboxId: "i1" });
      expect([pod.metadata.name, cache.listSandboxes({ user: "ann" }).toArray()]).toEqual(["py-1", [pod]]);
      expect(cache.listPodsInPool({ namespace, pool: "py" }).toArray()).toEqual([]);
    }
    const seen = eve.cache.claimedSandbox({ sandboxId: "i1" });
    const change = { annotations: { "example.com/written": "yes" } };
    const written = await server().client.patch(Pods, { namespace, name: "py-1" }, podPatch(seen, change));
    expect([sandboxIdOf(written), sandboxPhaseOf(written), isClaimElsewhere(written)]).toEqual(["i1", "running", false]);
    expect(written.metadata.annotations).toMatchObject({ "example.com/written": "yes" });
    await eve.cache.stop();
  });

  test("C3: the claim of an earlier use says nothing about the next one, which can be claimed in its turn", async () => {
    const { idle, processes, namespace } = await setUp(2);
    const [ann, bob] = processes as [Process, Process];
    const { client } = server();
    const claimed = await ann.claim(idle, "i1");
    await client.patch(Pods, { namespace, name: "py-1" }, podPatch(claimed, { phase: "stopping" }));
    const stopping = await ann.cache.readPod(client, { namespace, name: "py-1" });
    expect(sandboxIdOf(stopping)).toBe("i1");
    const state: InplaceUpdateState = {
      phase: "completed",
      targetPodPhase: "idle",
      updateTimestamp: "2026-01-01T00:00:00Z",
      stableContainerStatuses: stableContainerStatuses(stopping, ["main"]),
    };
    const kept = new Set<string>([annotationKeys.useCount, annotationKeys.inplaceUpdateState]);
    const wiped = {
      phase: "idle" as const,
      annotations: { [annotationKeys.useCount]: "1", [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state) },
      removeLabels: [labelKeys.sandboxId, labelKeys.team, labelKeys.user],
      removeAnnotations: Object.keys(stopping.metadata.annotations ?? {}).filter((key) => !kept.has(key)),
    };
    await client.patch(Pods, { namespace, name: "py-1" }, podPatch(stopping, wiped));
    const again = await bob.cache.readPod(client, { namespace, name: "py-1" });
    expect([sandboxIdOf(again), sandboxPhaseOf(again)]).toEqual([undefined, "idle"]);
    expect(sandboxIdOf(await bob.claim(again, "i2"))).toBe("i2");
    expect(await isLost(ann.claim(again, "i3"))).toBe(true);
  });
});
