/**
 * What a volume costs a create, beside the same create without one, on this machine. Needs root.
 * Usage: node bench/node/volume-mounts.ts
 */
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { SandboxWish } from "#client/sandbox-types.ts";
import { UpProcess } from "../../test/world/up-process.ts";

const rounds = 30;
/** Fewer than there are pods: each create finds one that waits. */
const atOnce = 2;

await using up = await UpProcess.onNewFolder(["base"]);
await up.start();
const client = new AgentBoxClient(await up.access());
const volumes: string[] = [];
for (let index = 0; index < 4; index++)
  volumes.push((await timed("making a volume of 1 GiB", () => client.volumes.create({ name: `v${index}` }))).name);

const waiting = (): Promise<unknown> =>
  up.podsWhen(
    (pods) =>
      pods.filter(({ status }) => status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true).length >=
      3,
    60_000,
  );

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const since = performance.now();
  const result = await work();
  console.log(`${what}: ${(performance.now() - since).toFixed(1)} ms`);
  return result;
}

async function measured(what: string, volumeMounts: SandboxWish["volumeMounts"]): Promise<void> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += atOnce) {
    await waiting();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (let one = 0; one < atOnce; one++) {
      const since = performance.now();
      const { sandbox } = await client.sandboxes.create({ poolName: "base", ...(volumeMounts === undefined ? {} : { volumeMounts }) });
      taken.push(performance.now() - since);
      await client.sandboxes.end(sandbox.sandboxId);
    }
  }
  taken.sort((a, b) => a - b);
  const at = (share: number): string => (taken[Math.floor(share * (taken.length - 1))] ?? 0).toFixed(1);
  console.log(`${what}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, ${taken.length} creates`);
}

await measured("without a volume (first, to warm up)", undefined);
await measured("without a volume", undefined);
await measured("with one volume", [{ name: volumes[0] ?? "", path: "/mnt/v0" }]);
await measured(
  "with four volumes",
  volumes.map((name, index) => ({ name, path: `/mnt/v${index}` })),
);
for (const name of volumes) await client.volumes.remove(name, { force: true });
