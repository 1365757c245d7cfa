/** The sandbox cache and its wait tasks on any API server. No node runs the pods: the test writes their status. */
import { expect, test } from "vitest";
import { poolValue, readyIdlePods } from "#read-model/indexes.ts";
import { isLookupError } from "#read-model/lookup-error.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isWaitError } from "#kube/wait/wait-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { annotationKeys, labelKeys, podConditions, type SandboxPhase } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { eventually } from "../world/eventually.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { aPod } from "./helpers.ts";
import { aCheckpoint, aPool } from "./own-kinds.ts";
import type { ContractServer } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

const patience = { timeoutMs: 20_000 };

/** A cache of one namespace, and the hands of pool controller, API process and node. */
class Stage implements AsyncDisposable {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly cache: SandboxCache;

  private constructor(client: ObjectClient, namespace: string) {
    this.client = client;
    this.namespace = namespace;
    this.cache = new SandboxCache({ client, clock: systemClock, log: recordedLog().log }, { namespace, claims: claimBook() });
  }

  static async set(server: ContractServer): Promise<Stage> {
    const stage = new Stage(server.client, await server.namespace());
    await stage.cache.run();
    return stage;
  }

  idle(name: string): Promise<Pod> {
    const labels = { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: "idle" };
    return this.client.create(Pods, aPod(this.namespace, name, { metadata: { labels } }));
  }

  /** One patch, as a claim is. */
  claim(name: string, id: string, phase: SandboxPhase = "running"): Promise<Pod> {
    return this.#patch(name, {
      metadata: { labels: { [labelKeys.sandboxPhase]: phase, [labelKeys.sandboxId]: id, [labelKeys.user]: "ann" } },
    });
  }

  phase(name: string, phase: SandboxPhase): Promise<Pod> {
    return this.#patch(name, { metadata: { labels: { [labelKeys.sandboxPhase]: phase } } });
  }

  wish(name: string, pauseAt: string | null): Promise<Pod> {
    return this.#patch(name, { metadata: { annotations: { [annotationKeys.paused]: pauseAt } } });
  }

  /** What a node reports. */
  report(name: string, conditions: Record<string, "True" | "False">): Promise<Pod> {
    const list = Object.entries(conditions).map(([type, status]) => ({ type, status }));
    const status = { phase: "Running", podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }], conditions: list };
    return this.#patch(name, { status }, "status");
  }

  async running(name: string, id: string): Promise<Pod> {
    await this.idle(name);
    await this.claim(name, id);
    const pod = await this.report(name, { Ready: "True" });
    this.cache.pods.remember(pod);
    return pod;
  }

  checkpoint(name: string): Promise<Checkpoint> {
    return this.client.create(Checkpoints, aCheckpoint(this.namespace, name, { sandboxID: "i1" }));
  }

  checkpointStatus(name: string, status: JsonObject): Promise<Checkpoint> {
    const key = { namespace: this.namespace, name };
    return this.client.patch(Checkpoints, key, { type: "merge", body: { status } }, { subresource: "status" });
  }

  #patch(name: string, body: JsonObject, subresource?: "status"): Promise<Pod> {
    return this.client.patch(Pods, { namespace: this.namespace, name }, { type: "merge", body }, { subresource });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cache.stop();
  }
}

function ending(wait: Promise<unknown>): Promise<unknown> {
  return wait.catch((error: unknown) => error);
}

export function waitContract(server: () => ContractServer): void {
  test("a sandbox is ready when its phase and its node say so", async () => {
    await using stage = await Stage.set(server());
    await stage.idle("a");
    const claimed = await stage.claim("a", "i1", "starting");
    const wait = stage.cache.readyTask(claimed).wait(patience);
    await stage.report("a", { Ready: "True" });
    await stage.phase("a", "running");
    expect(await wait).toMatchObject({ metadata: { name: "a" }, status: { podIP: "10.0.0.7" } });
    expect(stage.cache.sandboxWaits.held()).toEqual([]);
  });

  test("all that wait for the same are told", async () => {
    await using stage = await Stage.set(server());
    await stage.idle("a");
    const claimed = await stage.claim("a", "i1");
    const waits = Array.from({ length: 5 }, () => stage.cache.readyTask(claimed).wait(patience));
    await eventually(() => expect(stage.cache.sandboxWaits.held()).toMatchObject([{ action: "ready", holders: 5 }]));
    const ready = await stage.report("a", { Ready: "True" });
    for (const pod of await Promise.all(waits)) expect(pod.metadata.resourceVersion).toBe(ready.metadata.resourceVersion);
  });

  test("a sandbox that is released, or whose pod goes, ends its waits", async () => {
    await using stage = await Stage.set(server());
    for (const name of ["a", "b"]) await stage.idle(name);
    const released = ending(stage.cache.readyTask(await stage.claim("a", "i1")).wait(patience));
    const removed = ending(stage.cache.readyTask(await stage.claim("b", "i2")).wait(patience));
    await eventually(() => expect(stage.cache.sandboxWaits.held()).toHaveLength(2));
    await stage.phase("a", "stopping");
    await stage.client.delete(Pods, { namespace: stage.namespace, name: "b" }, { gracePeriodSeconds: 0 });
    expect(isWaitError(await released, { code: "failed", action: "ready", reason: "Released" })).toBe(true);
    const end = await removed;
    expect(isWaitError(end, { code: "gone" }) || isWaitError(end, { code: "failed", reason: "Terminating" })).toBe(true);
  });

  test("pause and resume, end to end: wish, answer, and no opposite wish in between", async () => {
    await using stage = await Stage.set(server());
    const pod = await stage.running("a", "i1");
    const pause = stage.cache.pauseTask(pod);
    expect(() => stage.cache.resumeTask(pod)).toThrow(
      expect.objectContaining({ detail: { code: "conflict", existing: "pause", requested: "resume" } }),
    );
    stage.cache.pods.remember(await stage.wish("a", "2026-01-01T10:00:00Z"));
    const pausing = pause.wait(patience);
    await stage.report("a", { Ready: "False", [podConditions.paused]: "True" });
    const paused = await pausing;

    const resume = stage.cache.resumeTask(paused);
    stage.cache.pods.remember(await stage.wish("a", null));
    const resuming = resume.wait(patience);
    await stage.report("a", { Ready: "False", [podConditions.paused]: "False" });
    await stage.report("a", { Ready: "True", [podConditions.paused]: "False" });
    expect((await resuming).metadata.annotations ?? {}).not.toHaveProperty([annotationKeys.paused]);
    expect(stage.cache.sandboxWaits.held()).toEqual([]);
  });

  test("a wait ends by its deadline with what is missing", async () => {
    await using stage = await Stage.set(server());
    const pod = await stage.running("a", "i1");
    const error = await ending(stage.cache.pauseTask(pod).wait({ timeoutMs: 50 }));
    expect(error).toMatchObject({
      detail: { code: "not-satisfied", action: "pause", because: "deadline", waitingFor: "the pod does not show the wish to pause" },
    });
    expect(stage.cache.sandboxWaits.held()).toEqual([]);
  });

  test("a checkpoint is taken, or fails, by its status", async () => {
    await using stage = await Stage.set(server());
    const good = stage.cache.checkpointTask(await stage.checkpoint("good")).wait(patience);
    const bad = ending(stage.cache.checkpointTask(await stage.checkpoint("bad")).wait(patience));
    await stage.checkpointStatus("good", { phase: "Creating" });
    await stage.checkpointStatus("good", { phase: "Succeeded", checkpointId: "c1" });
    await stage.checkpointStatus("bad", { phase: "Failed", message: "disk full" });
    expect((await good).status?.checkpointId).toBe("c1");
    expect(isWaitError(await bad, { code: "failed", action: "checkpoint", reason: "Failed" })).toBe(true);
    expect(stage.cache.checkpoint({ checkpointId: "c1" }).metadata.name).toBe("good");
  });

  test("a sandbox is found by id, user and pool as its pod goes through its life", async () => {
    await using stage = await Stage.set(server());
    const { cache, namespace } = stage;
    await stage.client.create(SandboxPools, aPool(namespace, "py"));
    cache.pods.remember(await stage.idle("a"));
    const ready = (): string[] => {
      const pods = cache.pods.objects.lookup(readyIdlePods, poolValue({ namespace, pool: "py" }));
      return [...pods].map(({ metadata }) => metadata.name ?? "");
    };
    expect(ready()).toEqual([]);
    cache.pods.remember(await stage.report("a", { Ready: "True" }));
    expect(ready()).toEqual(["a"]);
    cache.pods.remember(await stage.claim("a", "i1"));
    expect(ready()).toEqual([]);
    expect(cache.claimedSandbox({ sandboxId: "i1" }).metadata.name).toBe("a");
    expect(cache.listSandboxes({ user: "ann" }).toArray()).toHaveLength(1);
    await stage.phase("a", "stopping");
    await eventually(() => expect(cache.listPodsInPool({ namespace, pool: "py", slot: "stopping" }).toArray()).toHaveLength(1));
    expect(() => cache.claimedSandbox({ sandboxId: "i1" })).toThrow(expect.toSatisfy((error) => isLookupError(error, "not-found")));
    await eventually(() => expect(cache.pool({ name: "py" }).metadata.namespace).toBe(namespace));
    expect(cache.health()).toEqual({ healthy: true });
  });
}
