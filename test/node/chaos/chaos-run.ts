/**
 * The whole product killed with SIGKILL at random instants while pods come, change, crash and go: it ends as the objects say,
 * with each container running once, and nothing left over. Siblings: churn.ts (what is done to pods), run.ts (the command),
 * chaos.test.ts (a short form among the tests).
 */
import { header } from "#envd-protocol/arming.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { filesIn, firstProcesses, podTraces } from "../../world/machine-traces.ts";
import { isReady } from "../../world/pod-watch.ts";
import { UpProcess } from "../../world/up-process.ts";
import { Churn } from "./churn.ts";
import { seededRandom } from "../../world/seeded-random.ts";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly onRound?: (round: number, steps: number) => void;
}

export interface ChaosReport {
  readonly steps: number;
  readonly problems: readonly string[];
}

const churners = 3;
/** After so many kills it is left in peace until all is as it should be. */
const peaceEvery = 10;
const patienceMs = 60_000;

export async function chaosRun({ kills, seed, onRound }: ChaosOptions): Promise<ChaosReport> {
  const random = seededRandom(seed);
  await using up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  const first = await up.podsWhen((pods) => pods.length === 3 && pods.every(isReady), patienceMs);
  const digest = /sha256:[0-9a-f]{64}/.exec(first[0]?.spec.containers[0]?.image ?? "")?.[0];
  if (digest === undefined) throw new Error("the first pool has no pod whose image is pinned");
  const churn = new Churn({ instance: up.instance, digest, random });
  const problems: string[] = [];
  for (let round = 1; round <= kills && problems.length === 0; round++) {
    const stop = new AbortController();
    const working = Array.from({ length: churners }, () => churn.run(up.client, stop.signal));
    // Often before everything has started: that is when an earlier life is taken over.
    await new Promise((resolve) => setTimeout(resolve, random() * (random() < 0.4 ? 500 : 2500)));
    await up.process.kill();
    stop.abort();
    await Promise.all(working);
    await up.restart();
    if (round % peaceEvery === 0 || round === kills)
      problems.push(...(await settled(up, churn)).map((text) => `after ${round} kills: ${text}`));
    onRound?.(round, churn.steps);
  }
  if (problems.length === 0) problems.push(...(await emptied(up)));
  return { steps: churn.steps, problems };
}

/** Lets it come to rest and says what is still not as the objects want it. */
async function settled(up: UpProcess, churn: Churn): Promise<string[]> {
  await up.process.complete();
  const until = performance.now() + patienceMs;
  for (;;) {
    const problems = await troubles(up, churn);
    if (problems.length === 0 || performance.now() > until) return problems;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function troubles(up: UpProcess, churn: Churn): Promise<string[]> {
  const pods = await up.pods();
  const problems = pods.filter((pod) => !isAsWanted(pod)).map((pod) => `${pod.metadata.name} is not as wanted: ${JSON.stringify(pod)}`);
  const ofPool = pods.filter(({ metadata }) => metadata.ownerReferences !== undefined);
  if (ofPool.length !== 3) problems.push(`the pool has ${ofPool.length} pods instead of 3`);
  for (const pod of pods) problems.push(...(await healthOf(pod)), ...restartsOf(pod, churn));
  return [...problems, ...runningTwice(up, pods)];
}

/** Ready, on the image that is wanted, and not on its way out. */
function isAsWanted(pod: Pod): boolean {
  const running = pod.status?.containerStatuses?.[0];
  const isCurrent = running?.image === pod.spec.containers[0]?.image;
  return pod.metadata.deletionTimestamp === undefined && isReady(pod) && isCurrent && running?.state?.running !== undefined;
}

async function healthOf({ metadata: { name, uid }, status }: Pod): Promise<string[]> {
  try {
    const answer = await fetch(`http://${status?.podIP}:49983/health`, { signal: AbortSignal.timeout(5000) });
    const answers = answer.headers.get(header.podUid);
    return answer.ok && answers === uid ? [] : [`at the address of ${name} (${uid}) answers ${answers} with ${answer.status}`];
  } catch (error) {
    return [`${name} does not answer at ${status?.podIP}: ${String(error)}`];
  }
}

function restartsOf({ metadata: { name, uid = "" }, status }: Pod, churn: Churn): string[] {
  const { restartCount = 0 } = status?.containerStatuses?.[0] ?? {};
  const { least, most } = churn.restartsWanted(uid);
  if (restartCount >= least && restartCount <= most) return [];
  return [`${name} was started anew ${restartCount} times, not ${least} to ${most}`];
}

/** What runs is what the pods say, each once. */
function runningTwice(up: UpProcess, pods: readonly Pod[]): string[] {
  const running = firstProcesses(up.instance);
  const wanted = new Set(pods.map(({ status }) => status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, "") ?? ""));
  return [
    ...running.entries().flatMap(([id, pids]) => (wanted.has(id) ? [] : [`container ${id} runs as ${pids.join(", ")}, and no pod has it`])),
    ...running.entries().flatMap(([id, pids]) => (pids.length === 1 ? [] : [`container ${id} has the first processes ${pids.join(", ")}`])),
    ...wanted.values().flatMap((id) => (running.has(id) ? [] : [`container ${id} does not run`])),
  ];
}

/** All is deleted, and then nothing is left: first of pods, then, without the node, of anything. */
async function emptied(up: UpProcess): Promise<string[]> {
  await up.client.delete(SandboxPools, { namespace: "default", name: "base" });
  for (const { metadata } of await up.pods()) {
    await up.client.delete(Pods, { namespace: "default", name: metadata.name ?? "" }).catch(() => {});
  }
  const pods = await up.podsWhen((all) => all.length === 0, patienceMs);
  const left = await eventuallyEmpty(() => [...podTraces(up.traces()), ...filesIn(`${up.home}/logs/pods`)]);
  await up.process.stop();
  await up.erase();
  const traces = await eventuallyEmpty(() => Object.values(up.traces()).flat());
  return [...pods.map(({ metadata }) => `${metadata.name} cannot be deleted`), ...left, ...traces];
}

async function eventuallyEmpty(look: () => string[]): Promise<string[]> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const left = look();
    if (left.length === 0 || performance.now() > until) return left.map((one) => `left on the machine: ${one}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
