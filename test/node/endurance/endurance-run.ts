/**
 * Many sandboxes on this machine at once: created, used, deleted, and then nothing is left. Siblings: run.ts (the command),
 * endurance.test.ts (a short form among the tests).
 */
import { instanceOf } from "../../../src/cmd/machine/embedded-node.ts";
import { labelKeys } from "#model/keys.ts";
import { type Pod, Pods, type PodSpec } from "#model/pod.ts";
import { filesIn, podTraces, tracesOf } from "../../world/machine-traces.ts";
import { isReady, PodWatch } from "../../world/pod-watch.ts";
import { type RealNode, startRealNode } from "../../world/real-node.ts";

export interface EnduranceReport {
  /** Milliseconds, in the order in which things happened. */
  readonly times: Readonly<Record<"created" | "used" | "deleted" | "cleanAfter" | "erased", number>>;
  readonly problems: readonly string[];
}

const namespace = "default";
const commandsAtOnce = 8;
/** The kernel takes ports, groups and disks away in its own time. */
const patienceMs = 60_000;

/** As the first pool's template has it. */
const spec: PodSpec = {
  terminationGracePeriodSeconds: 1,
  containers: [
    {
      name: "main",
      image: "host",
      readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 },
      resources: { limits: { cpu: "1", memory: "512Mi", "ephemeral-storage": "1Gi" }, requests: { cpu: "50m", memory: "32Mi" } },
    },
  ],
};

export async function enduranceRun(sandboxes: number, say: (text: string) => void = () => {}): Promise<EnduranceReport> {
  const world = await startRealNode();
  const watch = new PodWatch(world.store);
  const instance = instanceOf(world.home);
  const problems: string[] = [];
  const names = Array.from({ length: sandboxes }, (_, i) => `box-${i}`);
  try {
    // What is made once for all, the image's root above all, is not what is measured here.
    await createAll(world, watch, ["first"]);
    await deleteAll(world, watch, ["first"]);
    const created = await timed(() => createAll(world, watch, names));
    say(`${sandboxes} sandboxes are ready after ${seconds(created)}`);
    const used = await timed(() => useAll(world, names, problems));
    say(`a command has run in each after ${seconds(used)}`);
    problems.push(...oneFirstProcessEach([...watch.pods.values()], instance, world.home));
    const deleted = await timed(() => deleteAll(world, watch, names));
    say(`all are deleted after ${seconds(deleted)}`);
    const cleanAfter = await timed(async () => problems.push(...(await leftovers(world, instance))));
    await watch[Symbol.asyncDispose]();
    const erased = await timed(async () => world[Symbol.asyncDispose]());
    await eventuallyEmpty(() => Object.values(tracesOf(instance, world.home)).flat()).then((left) => problems.push(...left));
    return { times: { created, used, deleted, cleanAfter, erased }, problems };
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}

async function createAll({ store }: RealNode, watch: PodWatch, names: readonly string[]): Promise<void> {
  // The label of a pool is what brings the daemon in; no controller looks after these.
  const labels = { [labelKeys.sandboxPool]: "by-hand" };
  await Promise.all(names.map((name) => store.create(Pods, { metadata: { namespace, name, labels }, spec })));
  await watch.when((pods) => names.every((name) => isReady(pods.get(name))));
}

/** Each finds its own name and no other sandbox's file. */
async function useAll(world: RealNode, names: readonly string[], problems: string[]): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) {
      const { code, stdout, stderr } = await world.run(name, ["sh", "-c", "ls /home/user; hostname; echo mine > /home/user/mine"]);
      if (code !== 0 || stdout !== `${name}\n`) problems.push(`${name}: exit code ${code}, said ${JSON.stringify(stdout + stderr)}`);
    }
  };
  await Promise.all(Array.from({ length: commandsAtOnce }, worker));
}

function oneFirstProcessEach(pods: readonly Pod[], instance: string, home: string): string[] {
  const addresses = new Set(pods.map(({ status }) => status?.podIP));
  const inits = tracesOf(instance, home).processes.filter((line) => line.includes("/.envd/init"));
  return [
    ...pods.flatMap((pod) => (isReady(pod) ? [] : [`${pod.metadata.name} is no longer ready`])),
    ...pods.flatMap(({ metadata, status }) =>
      status?.containerStatuses?.[0]?.restartCount === 0 ? [] : [`${metadata.name} has restarted`],
    ),
    ...(addresses.size === pods.length ? [] : [`${pods.length} pods have ${addresses.size} addresses`]),
    ...(inits.length === pods.length ? [] : [`${pods.length} pods have ${inits.length} first processes`]),
  ];
}

async function deleteAll({ store }: RealNode, watch: PodWatch, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => store.delete(Pods, { namespace, name })));
  await watch.when((pods) => pods.size === 0);
}

async function leftovers({ home }: RealNode, instance: string): Promise<string[]> {
  const disks = (): string[] => filesIn(`${home}/node/disks`).filter((file) => !/(spare|template)-[^/]+$/.test(file));
  return eventuallyEmpty(() => [...podTraces(tracesOf(instance, home)), ...filesIn(`${home}/logs/pods`), ...disks()]);
}

async function eventuallyEmpty(look: () => string[]): Promise<string[]> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const left = look();
    if (left.length === 0 || performance.now() > until) return left.map((one) => `left on the machine: ${one}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
