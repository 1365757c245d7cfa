/**
 * A process that runs a node until it is killed. `pods`: makes some and says so, then waits. `churn`: makes and removes
 * pods without end. Speaks JSON lines.
 */
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { openPodRuntime, type PodRuntimeOptions } from "#engines/embedded/node/runc-pod-runtime.ts";
import { systemClock } from "#lib/clock.ts";
import { recordedLog } from "../../world/recorded-log.ts";
import { aPod } from "./node-world.ts";

export interface NodeTask {
  readonly kind: "pods" | "churn";
  readonly options: Omit<PodRuntimeOptions, "clock" | "log">;
  /** One for each container to be made, each in a pod of its own; of those that churn only the first is used. */
  readonly containers: readonly (ContainerPlan & { readonly start: boolean })[];
}

const task = JSON.parse(process.argv[2] ?? "") as NodeTask;
const runtime = await openPodRuntime({ ...task.options, clock: systemClock, log: recordedLog().log });
if (task.kind === "pods") await makePods();
else await Promise.all([churn(), churn(), churn()]);

async function makePods(): Promise<void> {
  for (const plan of task.containers) {
    const pod = await runtime.ensurePod(aPod({ uid: plan.podUid }));
    await runtime.createContainer(plan);
    const started = plan.start ? await runtime.startContainer(plan.id) : undefined;
    console.log(JSON.stringify({ id: plan.id, ip: pod.ip, ...started }));
  }
  console.log(JSON.stringify({ done: true }));
  // Only a signal ends it.
  setInterval(() => {}, 60_000);
}

async function churn(): Promise<never> {
  for (;;) {
    const { uid } = await runtime.ensurePod(aPod({ limits: { pids: 50, ephemeralStorageBytes: 20 << 20 } }));
    const plan = aContainer(uid);
    await runtime.createContainer(plan);
    await runtime.startContainer(plan.id);
    console.log(JSON.stringify({ uid }));
    await runtime.removeContainer(plan.id);
    const next = { ...aContainer(uid), attempt: 1 };
    await runtime.createContainer(next);
    await runtime.startContainer(next.id);
    await runtime.removePod(uid);
  }
}

function aContainer(podUid: string): ContainerPlan {
  const id = randomBytes(32).toString("hex");
  const like = task.containers[0] as ContainerPlan;
  return { ...like, podUid, id, logFile: join(dirname(like.logFile), id) };
}
