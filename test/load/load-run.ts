/**
 * Many clients of `agentbox up` with real containers, while it is killed every so often. Afterwards: every client got an answer, no sandbox was given
 * twice, each has exactly one record, the pool is complete again, and nothing is left on the machine.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { SandboxPage } from "#client/sandbox-types.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { noTraces } from "../world/machine-traces.ts";
import { UpProcess } from "../world/up-process.ts";
import { LoadLog, runUser } from "./load-client.ts";

export interface LoadOptions {
  readonly users: number;
  readonly seconds: number;
  readonly killEverySeconds: number;
  /** Pods in the pool. */
  readonly replicas: number;
  readonly onProgress?: (text: string) => void;
}

export interface LoadResult {
  readonly told: LoadLog;
  readonly kills: number;
  readonly problems: readonly string[];
}

export async function loadRun(options: LoadOptions): Promise<LoadResult> {
  await using up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  await up.client.patch(
    SandboxPools,
    { namespace: "default", name: "base" },
    { type: "merge", body: { spec: { replicas: options.replicas } } },
  );
  await up.podsWhen((pods) => pods.filter((pod) => sandboxPhaseOf(pod) === "idle").length >= options.replicas, 120_000);
  const told = new LoadLog();
  const stop = new AbortController();
  const client = (): Promise<AgentBoxClient> => clientOf(up.home);
  const users = Array.from({ length: options.users }, (_, index) =>
    runUser({ client, poolName: "base", told, signal: stop.signal }, `user-${index}`),
  );
  const kills = await killing(up, options, told);
  stop.abort();
  await Promise.all(users);
  const problems = [...told.problems, ...(await whatIsWrong(up, await client(), told, options.replicas))];
  await up.process.stop();
  await up.erase();
  const left = up.traces();
  if (JSON.stringify(left) !== JSON.stringify(noTraces)) problems.push(`left on the machine: ${JSON.stringify(left)}`);
  return { told, kills, problems };
}

/** Each start has another port, and the file with it is written when it answers. */
async function clientOf(home: string): Promise<AgentBoxClient> {
  const facts = JSON.parse(await readFile(join(home, "run", "server.json"), "utf8")) as { readonly httpAddress: string };
  const apiKey = (await readFile(join(home, "keys", "admin.key"), "utf8")).trim();
  return new AgentBoxClient({ url: facts.httpAddress, apiKey });
}

async function killing(up: UpProcess, { seconds, killEverySeconds, onProgress }: LoadOptions, told: LoadLog): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let kills = 0;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, killEverySeconds * 1000));
    if (performance.now() >= until) break;
    await up.process.kill();
    await up.restart();
    kills++;
    const latest = told.problems.at(-1);
    onProgress?.(`${kills} kills, ${told.given.size} sandboxes given, ${told.ended} ended, ${told.problems.length} problems`);
    if (latest !== undefined) onProgress?.(`latest: ${latest}`);
  }
  return kills;
}

async function whatIsWrong(up: UpProcess, client: AgentBoxClient, told: LoadLog, replicas: number): Promise<string[]> {
  const isIdle = (pod: Pod): boolean => sandboxPhaseOf(pod) === "idle" && sandboxIdOf(pod) === undefined;
  const pods = await up.podsWhen((all) => all.length === replicas && all.every(isIdle), 120_000);
  const odd = pods.filter((pod) => !isIdle(pod));
  return [
    ...(pods.length === replicas ? [] : [`I6: the pool has ${pods.length} pods, not ${replicas}`]),
    ...odd.map((pod) => `pod ${pod.metadata.name ?? ""} is ${sandboxPhaseOf(pod) ?? "nothing"} at the end`),
    ...(await recordProblems(client, told)),
  ];
}

async function recordProblems(client: AgentBoxClient, told: LoadLog): Promise<string[]> {
  const problems: string[] = [];
  const seen = new Map<string, number>();
  for await (const { sandboxId, status } of allSandboxes(client)) {
    seen.set(sandboxId, (seen.get(sandboxId) ?? 0) + 1);
    if (!sandboxStopReasons.some((reason) => reason === status)) problems.push(`I3: sandbox ${sandboxId} is ${status} at the end`);
  }
  for (const id of told.given.keys()) if (seen.get(id) !== 1) problems.push(`I3: sandbox ${id} has ${seen.get(id) ?? 0} records`);
  return problems;
}

async function* allSandboxes(client: AgentBoxClient): AsyncGenerator<SandboxPage["sandboxes"][number]> {
  let cursor: string | undefined;
  do {
    const page = await client.sandboxes.page({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.sandboxes;
    cursor = page.next;
  } while (cursor !== undefined);
}
