/** Several processes of one installation on one server: what they share is the server, and it is enough. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { summedPressure } from "#controllers/pool/size/summed-pressure.ts";
import { pressureOf } from "#cmd/parts/control-plane.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { MemberLease } from "#kube/members/member-lease.ts";
import { Members } from "#kube/members/members.ts";
import { type MonotonicClock, systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { getSandbox } from "#services/reading/get-sandbox.ts";
import { publishDemand } from "#services/creating/publish-demand.ts";
import { ann, ClaimScene, type ClaimSceneOptions } from "../world/claim-scene.ts";
import { eventually } from "../world/eventually.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { SimulatedKubelet } from "../world/simulated-kubelet.ts";
import { describeClaims } from "./servers.ts";

/** Ten times as fast as life: waiting times of a pool are minutes for people. */
const hurried: MonotonicClock = {
  now: () => Date.now() * 10,
  monotonic: () => systemClock.monotonic() * 10,
  after: (ms, run) => systemClock.after(ms / 10, run),
};

const { log } = recordedLog();
const metrics = prometheusMetrics(new Registry());

describeClaims("many processes", (server) => {
  async function opened(options: Partial<ClaimSceneOptions>): Promise<ClaimScene> {
    const { client, claimsOnLeases } = server();
    return ClaimScene.open({ client, clock: systemClock, namespace: await server().namespace(), claimsOnLeases, ...options });
  }

  test("I1: of 200 creates at once in three processes each gets a pod of its own, some of them after they have waited", async () => {
    await using scene = await opened({ pods: 150 });
    const processes = [await scene.process(), await scene.process(), await scene.process()];
    const creates = processes.flatMap((process, index) => Array.from({ length: index === 0 ? 68 : 66 }, () => process.create()));
    for (let number = 151; number <= 200; number++) await scene.addPod(number);
    const made = (await Promise.all(creates)).map(({ sandbox }) => sandbox);
    expect(new Set(made.map(({ podName }) => podName)).size).toBe(200);
    const pods = await scene.pods();
    expect(new Set(pods.map(sandboxIdOf))).toEqual(new Set(made.map(({ sandboxId }) => sandboxId)));
    for (const pod of pods) expect(scene.daemons.at(pod.status?.podIP ?? "")?.armed?.sandboxId).toBe(sandboxIdOf(pod));
  });

  test("the same create in three processes at once makes one sandbox, and who repeats it is given that one", async () => {
    await using scene = await opened({ pods: 3 });
    const processes = [await scene.process(), await scene.process(), await scene.process()];
    const outcomes = await Promise.allSettled(processes.map((process) => process.create({ idempotencyKey: "once" })));
    const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.sandbox.sandboxId] : []));
    expect(new Set(made).size).toBe(1);
    for (const process of processes) {
      await eventually(async () => expect((await process.create({ idempotencyKey: "once" })).sandbox.sandboxId).toBe(made[0]));
    }
    expect((await scene.pods()).filter((pod) => sandboxIdOf(pod) !== undefined)).toHaveLength(1);
  });

  test("what one process has answered another one finds at once, whatever its watch has told it", async () => {
    await using scene = await opened({ pods: 1 });
    const { client, clock, history } = scene;
    const [one, deaf] = [await scene.process(), await scene.process()];
    await deaf.cache.stop();
    const { sandboxId } = (await one.create()).sandbox;
    expect(deaf.cache.podsOfSandbox(sandboxId).toArray()).toEqual([]);
    const deps = { client, clock, history, cache: deaf.cache, log };
    expect(await getSandbox(deps, ann, sandboxId)).toMatchObject({ sandboxId, status: "Running" });
    await deaf.claims.end(ann, sandboxId);
    expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
  });

  test("I7: two control planes that both believe they lead bring a pool to its size, and every end has one record", async () => {
    await using scene = await opened({ pods: 0, clock: hurried, pool: { replicas: 6 } });
    const { client, namespace, daemons } = scene;
    await using kubelet = await SimulatedKubelet.start({ client, namespace, daemons });
    const processes = [await scene.process(), await scene.process()];
    for (const process of processes) scene.startControllers(process);
    const idle = async (): Promise<readonly Pod[]> =>
      (await scene.pods()).filter((pod) => pod.metadata.deletionTimestamp === undefined && sandboxPhaseOf(pod) === "idle");
    await eventually(async () => expect(await idle()).toHaveLength(6));
    const creates = [...processes, ...processes, ...processes].map((process) => process.create({ startupTimeoutMs: 100_000 }));
    const ids = (await Promise.all(creates)).map(({ sandbox }) => sandbox.sandboxId);
    // Each is ended in both processes at once.
    await Promise.all(processes.flatMap(({ claims }) => ids.map((id) => claims.end(ann, id))));
    await eventually(async () => {
      const pods = await scene.pods();
      expect(pods.map(sandboxPhaseOf)).toEqual(Array.from({ length: 6 }, () => "idle"));
      expect(pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined)).toEqual([]);
    });
    expect(kubelet.reports).toBeGreaterThanOrEqual(12);
    const records = await Promise.all(ids.map((id) => scene.history.get(id, { kind: "admin" })));
    expect(records.map((record) => [record?.sandboxId, record?.stopReason])).toEqual(ids.map((id) => [id, "Completed"]));
    expect((await scene.history.statistics({ scope: { kind: "admin" }, claimedAfter: "2020-01-01T00:00:00Z" })).total).toBe(6);
  });

  test("W20: what waits in each process is summed for the pool, until it waits no more or its process is gone", async () => {
    await using scene = await opened({ pods: 0, pool: { replicas: 1 } });
    const { client, namespace } = scene;
    const deps = { client, clock: systemClock, log };
    const members = new Members(deps, { namespace, part: "api" });
    await members.run();
    const [one, other] = [await scene.process(), await scene.process()];
    const processes = [one, other];
    const leases = processes.map((_, index) => new MemberLease(deps, { namespace, name: `agentbox-api-${index}`, part: "api" }));
    processes.forEach(({ claims }, index) => publishDemand({ claims, tell: (text) => leases[index]?.tell(text), clock: systemClock }));
    const pressure = summedPressure({ members });
    const told: string[] = [];
    pressure.onWaiting(({ name }) => told.push(name));
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [
      ...Array.from({ length: 3 }, () => one.create({}, { signal: first.signal })),
      ...Array.from({ length: 4 }, () => other.create({}, { signal: second.signal })),
    ].map((create) => create.catch(() => {}));
    const pool = { namespace, name: "py" };
    await eventually(() => expect(pressure.waiting(pool)).toBe(7));
    expect(told).toContain("py");
    const own = { member: "agentbox-api-0", pressure: pressureOf(one.claims) };
    expect(summedPressure({ members, own }).waiting(pool)).toBe(7);
    first.abort();
    await eventually(() => expect(pressure.waiting(pool)).toBe(4));
    await leases[1]?.stop();
    await eventually(() => expect(pressure.waiting(pool)).toBe(0));
    second.abort();
    await Promise.all(waiting);
    await leases[0]?.stop();
    await members.stop();
  });

  test("of what several gateways see of a sandbox the newest stands on its pod", async () => {
    await using scene = await opened({ pods: 1 });
    const processes = [await scene.process(), await scene.process()];
    await processes[0]?.create({ idleTimeoutMs: 3_000 });
    const gateways = processes.map(({ cache }) => {
      const traffic = new TrafficLog(systemClock);
      const writer = new ActivityWriter({ client: scene.client, cache, traffic, clock: systemClock, log, metrics, random: () => 0 });
      return { traffic, writer, cache };
    });
    let latest = 0;
    for (const { traffic, cache } of gateways) {
      await eventually(() => expect([...cache.pods.objects.list()].map(sandboxPhaseOf)).toEqual(["running"]));
      const pod = [...cache.pods.objects.list()][0] as Pod;
      traffic.begin(sandboxIdOf(pod) ?? "", pod)();
      latest = traffic.of(sandboxIdOf(pod) ?? "")?.lastMs ?? 0;
    }
    await eventually(async () => {
      const written = (await scene.pod()).metadata.annotations?.[annotationKeys.lastActive] ?? "";
      expect(Math.floor(Date.parse(written) / 1000)).toBeGreaterThanOrEqual(Math.floor(latest / 1000));
    });
    for (const { writer } of gateways) writer.stop();
  });
});
