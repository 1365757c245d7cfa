/**
 * Replaces every part of an installation while clients use it: no request may fail, and no sandbox may be harmed.
 *
 * - `installation.ts`  the chart on the cluster        - `visitors.ts`  the clients, in a separate process
 * - `streams.ts`       what they listen to             - `ticks.py`     … and what speaks
 * - `tally.ts`         what is counted                 - `report.ts`    … and how it is told
 * - `simulated-node.ts`  room for twenty creates a second
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Installation, type InstallationOptions, type Part } from "./installation.ts";
import { SimulatedNode } from "./simulated-node.ts";
import type { FromVisitors, Tally, VisitorsOrder } from "./tally.ts";

export interface RolloutOptions extends InstallationOptions, VisitorsOrder {
  readonly replicas: number;
  /** Pods that wait on the simulated node; each is used once or twice. */
  readonly simulatedReplicas: number;
  readonly onProgress: (text: string) => void;
}

export interface RolloutResult {
  readonly tally: Tally;
  /** Seconds from the order to the end of the last old pod. */
  readonly restarts: Readonly<Record<Part, number>>;
  /** Sandboxes that were answered and have no record of a good end. */
  readonly unrecorded: readonly string[];
}

const [pool, simulatedPool] = ["rollout", "rollout-simulated"];
const parts: readonly Part[] = ["api", "controllers", "gateway"];
/** Between two restarts, and after the last one. */
const calmMs = 5_000;
const patienceMs = 10 * 60_000;

export async function rolloutRun(options: RolloutOptions): Promise<RolloutResult> {
  const { onProgress, replicas, simulatedReplicas, perSecond, simulatedPerSecond, streams } = options;
  onProgress("installing");
  await using opened = new AsyncDisposableStack();
  const installation = opened.use(await Installation.install(options));
  // A client that gives up must leave nothing behind.
  const leave = (): void => void opened.disposeAsync().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, leave);
  onProgress(`a pool of ${replicas}`);
  await installation.pool(pool, replicas);
  await until(async () => (await installation.idleOf(pool)) >= replicas);
  onProgress(`a pool of ${simulatedReplicas} on a simulated node`);
  const { client, sandboxNamespace: namespace } = installation;
  const node = opened.use(await SimulatedNode.start({ client, namespace, pool: simulatedPool }));
  await node.createPool(simulatedReplicas);
  await until(async () => (await installation.idleOf(simulatedPool)) >= simulatedReplicas);
  const pools = { ROLLOUT_POOL: pool, ROLLOUT_SIMULATED_POOL: simulatedPool };
  using visitors = startVisitors({ ...(await installation.surroundings()), ...pools });
  onProgress(`${streams} streams`);
  visitors.process.send({ perSecond, simulatedPerSecond, streams } satisfies VisitorsOrder);
  await visitors.says("settled");
  onProgress(`${perSecond} creates a second, and ${simulatedPerSecond} on the simulated node`);
  await sleep(calmMs);
  const restarts: Record<Part, number> = { api: 0, controllers: 0, gateway: 0 };
  for (const part of parts) {
    const began = performance.now();
    await installation.restart(part);
    restarts[part] = (performance.now() - began) / 1000;
    onProgress(`${part} exchanged in ${restarts[part].toFixed(0)} s`);
    await sleep(calmMs);
  }
  const told = visitors.says("tally");
  visitors.process.send("over");
  const message = await told;
  if (message.kind !== "tally") throw new Error("the visitors said something else than what they saw");
  onProgress("records");
  return { tally: message.tally, restarts, unrecorded: await unrecorded(installation, message.tally) };
}

interface Visitors extends Disposable {
  readonly process: ChildProcess;
  says(kind: FromVisitors["kind"]): Promise<FromVisitors>;
}

function startVisitors(env: Readonly<Record<string, string>>): Visitors {
  const child = fork(join(import.meta.dirname, "visitors.ts"), { env: { ...process.env, ...env } });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the visitors have ended with ${String(code)}`);
  });
  ended.catch(() => {});
  const heard = async (kind: FromVisitors["kind"]): Promise<FromVisitors> => {
    for (;;) {
      const [message] = (await once(child, "message")) as [FromVisitors];
      if (message.kind === kind) return message;
    }
  };
  return {
    process: child,
    says: (kind) => Promise.race([heard(kind), ended]),
    [Symbol.dispose]: () => child.disconnect(),
  };
}

/** The database has them all at once; they are shown from it when their pods have been renewed. */
async function unrecorded(installation: Installation, { passing, staying }: Tally): Promise<readonly string[]> {
  const { sandboxes } = await installation.api();
  /** Each with what is told of it instead. */
  let open: ReadonlyMap<string, string> = new Map([...passing, ...staying].map((id) => [id, "not asked for"]));
  const look = async (): Promise<boolean> => {
    const left = new Map<string, string>();
    for (const id of open.keys()) {
      const told = await sandboxes.get(id).then(
        ({ status, failureReason, podName }) => (status === "Completed" ? undefined : `${status} ${failureReason ?? ""} in ${podName}`),
        (error: unknown) => String(error),
      );
      if (told !== undefined) left.set(id, told);
    }
    open = left;
    return open.size === 0;
  };
  await until(look, 5 * 60_000).catch(() => {});
  return [...open].map(([id, told]) => `${id} (${told})`);
}

async function until(check: () => Promise<boolean>, ms = patienceMs): Promise<void> {
  const end = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`it has not come to that within ${ms / 1000} s`);
    await sleep(500);
  }
}
