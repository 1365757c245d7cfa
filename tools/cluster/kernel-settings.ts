/**
 * Settings of the kernel that kubelet (and our network) change without being asked. What they were is written down before
 * the first start and put back at the end.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import type { ClusterLayout } from "./layout.ts";
import { networkSettings } from "./network.ts";

const ofKubelet = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
].map((name) => `/proc/sys/${name}`);

function rememberedIn(layout: ClusterLayout): string {
  return join(layout.folder, "kernel-settings.json");
}

/** Only the first time: later they are what the cluster made of them. */
export function rememberKernelSettings(layout: ClusterLayout): void {
  if (existsSync(rememberedIn(layout))) return;
  const values = [...ofKubelet, ...networkSettings()].map((path) => [path, readIfPresent(path)?.trim()]);
  writeFileSync(rememberedIn(layout), JSON.stringify(Object.fromEntries(values), null, 2));
}

export function restoreKernelSettings(layout: ClusterLayout): void {
  const stillOurs = new Set([...ofKubelet, ...networkSettings()]);
  const values = JSON.parse(readIfPresent(rememberedIn(layout)) ?? "{}") as Record<string, string>;
  for (const [path, value] of Object.entries(values)) {
    // Written only where it differs: a machine may forbid writing what it lets one read.
    if (stillOurs.has(path) && readFileSync(path, "utf8").trim() !== value) writeFileSync(path, value);
  }
}
