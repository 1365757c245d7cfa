import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { type ClaimProcess, ClaimScene } from "../world/claim-scene.ts";
import { describeClaims } from "./servers.ts";

describeClaims("claims", (server) => {
  async function opened(pods: number): Promise<ClaimScene> {
    const { client, claimsOnLeases } = server();
    return ClaimScene.open({ client, clock: systemClock, namespace: await server().namespace(), claimsOnLeases, pods });
  }

  test("I1: of two processes that want the same pod exactly one has it, and the other is told that there is none", async () => {
    await using scene = await opened(1);
    const processes = [await scene.process(), await scene.process()];
    const outcomes = await Promise.allSettled(processes.map((process) => process.create({ startupTimeoutMs: 2_000 })));
    const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.sandbox] : []));
    expect(made).toHaveLength(1);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "no_capacity" } });
    const pod = await scene.pod();
    expect([sandboxIdOf(pod), sandboxPhaseOf(pod)]).toEqual([made[0]?.sandboxId, "running"]);
    expect(scene.daemons.at(pod.status?.podIP ?? "")?.armed?.sandboxId).toBe(made[0]?.sandboxId);
  });

  test("I1: three processes that want all pods at once give each of them out once", async () => {
    await using scene = await opened(12);
    const processes: readonly ClaimProcess[] = [await scene.process(), await scene.process(), await scene.process()];
    const made = await Promise.all(processes.flatMap((process) => Array.from({ length: 4 }, () => process.create())));
    expect(new Set(made.map(({ sandbox }) => sandbox.podName)).size).toBe(12);
    const pods = await scene.pods();
    expect(new Set(pods.map(sandboxIdOf))).toEqual(new Set(made.map(({ sandbox }) => sandbox.sandboxId)));
    for (const pod of pods) expect(scene.daemons.at(pod.status?.podIP ?? "")?.armed?.sandboxId).toBe(sandboxIdOf(pod));
  });
});
