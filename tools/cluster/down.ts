/** Ends the cluster and gives the machine back as it was. Only the built programs stay. */
import { rm } from "node:fs/promises";
import { restoreKernelSettings } from "./kernel-settings.ts";
import type { ClusterLayout } from "./layout.ts";
import { removeNetwork } from "./network.ts";
import { Programs } from "./programs.ts";
import { type Say, step } from "./progress.ts";
import { endContainers, removeTraces, tracesOf } from "./sweep.ts";

/** May be called when there is nothing, or only half of it. The caller holds the cluster's lock. */
export async function takeDown(layout: ClusterLayout, say: Say): Promise<void> {
  // First, so that no program takes it for a running cluster.
  await rm(layout.description, { force: true });
  const programs = new Programs(layout);
  const stop = (names: readonly string[]): Promise<unknown> => Promise.all(names.map((name) => programs.stop(name)));
  await step(say, "stopping the programs", async () => {
    // kubelet before containerd, and the API server before etcd: so no program logs that another one is missing.
    await stop(["kubelet", "kube-proxy", "kube-scheduler", "kube-controller-manager"]);
    await stop(programs.recorded().filter((name) => name !== "etcd"));
    await stop(programs.recorded());
  });
  await step(say, "ending the containers", () => endContainers(layout));
  await step(say, "removing mounts, control groups and network", async () => {
    await removeTraces(layout);
    await removeNetwork();
    restoreKernelSettings(layout);
  });
  await step(say, "removing its files", () => rm(layout.folder, { recursive: true, force: true }));
  const left = tracesOf(layout);
  if (left.length > 0) throw new Error(`this is left of the cluster and could not be removed:\n  ${left.join("\n  ")}`);
}
