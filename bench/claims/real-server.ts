/** `agentbox up` with a pool of real containers, as its user has it. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { UpProcess } from "../../test/world/up-process.ts";
import { Asker, type Order } from "./ask.ts";

const otherImage = "bench-other:1";

/** Creates of a server that has just started, whose code runs for the first time. */
const firstOnes = 5;

export interface RealClaims {
  readonly first: readonly number[];
  readonly fast: readonly number[];
  readonly burst: readonly number[];
  readonly swapped: readonly number[];
}

export async function realClaims(count: number, say: (text: string) => void): Promise<RealClaims> {
  await using up = await UpProcess.onNewFolder(["base"]);
  using asker = new Asker();
  await importAnotherImage(up.home);
  await up.start();
  const facts = JSON.parse(await readFile(join(up.home, "run", "server.json"), "utf8")) as { readonly httpAddress: string };
  const apiKey = (await readFile(join(up.home, "keys", "admin.key"), "utf8")).trim();
  const client = new AgentBoxClient({ url: facts.httpAddress, apiKey });
  const order = (more: Partial<Order>): Order => ({
    url: facts.httpAddress,
    apiKey,
    body: { poolName: "base" },
    count,
    parallel: 1,
    ...more,
  });
  const allIdle = async (): Promise<void> => {
    const isIdle = (pods: Awaited<ReturnType<typeof up.pods>>): boolean =>
      pods.filter(
        (pod) =>
          sandboxPhaseOf(pod) === "idle" && pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
      ).length >= count;
    await up.podsWhen(isIdle, 180_000);
  };
  const endAll = async (ids: readonly string[]): Promise<void> => {
    await Promise.all(ids.map((id) => client.sandboxes.end(id)));
    await allIdle();
  };
  say(`a pool of ${count} real containers`);
  await up.client.patch(SandboxPools, { namespace: "default", name: "base" }, { type: "merge", body: { spec: { replicas: count } } });
  await allIdle();
  const first = await asker.ask(order({ count: firstOnes }));
  await endAll(first.ids);
  const fast = await asker.ask(order({}));
  await endAll(fast.ids);
  say("a burst");
  const burst = await asker.ask(order({ parallel: count }));
  await endAll(burst.ids);
  say("another image than the one that waits");
  const swapped = await asker.ask(order({ body: { poolName: "base", image: otherImage } }));
  await endAll(swapped.ids);
  return { first: first.ms, fast: fast.ms, burst: burst.ms, swapped: swapped.ms };
}

/** A root file system with one static program. */
async function importAnotherImage(home: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "agentbox-other-"));
  try {
    await mkdir(join(root, "bin"));
    await copyFile("/bin/busybox", join(root, "bin", "sh"));
    const env = { ...process.env, AGENTBOX_HOME: home };
    await promisify(execFile)(
      join(import.meta.dirname, "../../bin/agentbox"),
      ["image", "import", "--rootfs", root, "--name", otherImage],
      { env },
    );
  } finally {
    await rm(root, { recursive: true });
  }
}
