/** A history as a busy installation would have it after 30 days: a few large tenants and many small ones. */
import type { SandboxStopReason } from "#model/keys.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";

export const firstDay = Date.UTC(2026, 0, 1);
export const days = 30;
export const bigTeam = "team-0";
export const smallTeam = "team-49";

/** The same numbers in every run. */
function mixed(index: number, salt: number): number {
  let x = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

function teamOf(index: number): string {
  const share = mixed(index, 1);
  return share < 0.2 ? bigTeam : `team-${1 + Math.floor((share - 0.2) * 61)}`;
}

function endOf(index: number): SandboxStopReason {
  const share = mixed(index, 2);
  if (share < 0.9) return "Completed";
  if (share < 0.96) return "Released";
  return share < 0.99 ? "Failed" : "Canceled";
}

export function sampleRecord(index: number, total: number): SandboxRecord {
  const claimed = firstDay + Math.floor((index / total) * days * 86_400_000);
  const status = endOf(index);
  const pool = `pool-${Math.floor(mixed(index, 3) * 40)}`;
  return {
    sandboxId: `${claimed.toString(16).padStart(12, "0")}${Math.floor(mixed(index, 4) * 2 ** 32)
      .toString(16)
      .padStart(8, "0")}${index.toString(16)}`,
    namespace: "default",
    poolName: pool,
    envName: `env-${Math.floor(mixed(index, 3) * 10)}`,
    templateName: "python-3",
    podName: `${pool}-${index.toString(36)}`,
    team: teamOf(index),
    user: `user-${Math.floor(mixed(index, 5) * 20)}`,
    status,
    claimedAt: new Date(claimed).toISOString(),
    startedAt: new Date(claimed + 5).toISOString(),
    terminatedAt: new Date(claimed + 60_000 + Math.floor(mixed(index, 6) * 3_600_000)).toISOString(),
    stopReason: status,
    ...(status === "Failed"
      ? { failureReason: "OOMKilled", failureMessage: "the container used more memory than it may", exitCode: 137 }
      : {}),
    containerId: `containerd://${index.toString(16).padStart(64, "0")}`,
    containerImages: { main: `registry.test/python:3-u${index % 40}@sha256:${"0".repeat(64)}` },
    metadata: { run: `run-${Math.floor(index / 20)}`, stage: mixed(index, 7) < 0.7 ? "production" : "test", agent: `agent-${index % 100}` },
    cpu: "1",
    memory: "512Mi",
    node: `node-${index % 8}`,
  };
}
