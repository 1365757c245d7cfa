/**
 * The floor: `runc run` by hand, with the very same specification that our node gives it, and everything that can be made
 * ahead made ahead. Whatever a pod costs more than this is ours.
 */
import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { noEgress } from "#engines/embedded/node/network/egress.ts";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { assemble } from "#engines/embedded/node/pods/assemble-container.ts";
import { NodePod } from "#engines/embedded/node/pods/node-pod.ts";
import { type OpenNode, openNode } from "#engines/embedded/node/pods/open-node.ts";
import { erasePodRuntime } from "#engines/embedded/node/runc-pod-runtime.ts";
import { findRuntime } from "#engines/embedded/node/runtime/find-command.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";

export interface PreparedBundle {
  readonly ip: string;
  /** `runc run --detach`, nothing else. */
  run(): Promise<void>;
  remove(): Promise<void>;
}

export class PlainRunc implements AsyncDisposable {
  readonly #home: string;
  readonly #options: Parameters<typeof openNode>[0];
  readonly #node: OpenNode;
  readonly #plan: ContainerPlan;

  private constructor(home: string, options: Parameters<typeof openNode>[0], node: OpenNode, plan: ContainerPlan) {
    this.#home = home;
    this.#options = options;
    this.#node = node;
    this.#plan = plan;
  }

  /** `plan`: that of a sandbox, as the node agent has made it. */
  static async open(plan: ContainerPlan): Promise<PlainRunc> {
    const home = await mkdtemp(join(tmpdir(), "agentbox-floor-"));
    const log = openLog({ clock: systemClock, out: { write: () => true } });
    const options = { home, instance: `f${randomBytes(2).toString("hex")}`, clock: systemClock, log, slotsAhead: 0 };
    const daemon = await daemonFolder({ parent: join(home, "daemons") });
    return new PlainRunc(home, options, await openNode({ ...options, daemonFolder: daemon }, () => {}), plan);
  }

  /** Namespaces, address, mounts and config.json. */
  async prepare(): Promise<PreparedBundle> {
    const { context, pods } = this.#node;
    const slot = await context.slots.take();
    const plan = { uid: randomUUID(), namespace: "default", name: "floor", hostname: "floor", limits: { pids: 2048 } };
    const pod = new NodePod({ context, record: { plan, slot: slot.index, disk: "none" }, slot, egress: noEgress, isUsed: false });
    pods.set(plan.uid, pod);
    await pod.complete();
    const id = randomBytes(32).toString("hex");
    const bundle = pod.folder.container(id);
    mkdirSync(bundle, { recursive: true });
    const runtime = await context.runtime(undefined);
    const { stage } = await assemble(context, pod, { ...this.#plan, id, podUid: plan.uid }, runtime);
    const state = join(this.#home, "by-hand");
    return {
      ip: slot.ip,
      run: () => runc(["--root", state, "run", "--detach", "--bundle", bundle, id]),
      remove: async () => {
        await runc(["--root", state, "delete", "--force", id]);
        stage.clear();
        await pod.remove();
        pods.delete(plan.uid);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node.close();
    await erasePodRuntime(this.#options);
    await rm(this.#home, { recursive: true, force: true });
  }
}

async function runc(args: readonly string[]): Promise<void> {
  const child = spawn(findRuntime("runc") ?? "runc", args, { stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`runc ${args.join(" ")}: exit code ${code}`);
}
