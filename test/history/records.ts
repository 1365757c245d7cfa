import type { SandboxRecord } from "#model/sandbox-record.ts";

/** The whole record of a sandbox that ended well; a test says what is different about its own. */
export function aRecord(sandboxId: string, different: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    sandboxId,
    namespace: "default",
    poolName: "python",
    envName: "python",
    templateName: "python-3",
    podName: `python-${sandboxId}`,
    team: "red",
    user: "rosa",
    status: "Completed",
    claimedAt: "2026-01-10T10:00:00.000Z",
    startedAt: "2026-01-10T10:00:00.250Z",
    terminatedAt: "2026-01-10T10:05:00.000Z",
    stopReason: "Completed",
    containerId: "containerd://0123",
    containerImages: { main: "registry.test/python:3-u1@sha256:00" },
    metadata: { run: "7", stage: "test" },
    cpu: "1",
    memory: "512Mi",
    node: "node-1",
    ...different,
  };
}

/** Without the fields of an end. */
export function aLiveRecord(sandboxId: string, different: Partial<SandboxRecord> = {}): SandboxRecord {
  const { terminatedAt: _, stopReason: __, ...live } = aRecord(sandboxId);
  return { ...live, status: "Running", ...different };
}

/** A moment, so many seconds into the day of the records. */
export function at(second: number, ms = 0): string {
  return new Date(Date.UTC(2026, 0, 10) + second * 1000 + ms).toISOString();
}
