/** One sandbox's life, cut into the hours of the clock. Pure. */
import { quantityNumber } from "#model/quantity.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { UsageAmounts } from "./usage-store.ts";

export const hourMs = 3_600_000;
/** Of a longer life, the newest part counts: usage is not kept longer either. */
export const maxHours = 400 * 24;

export interface UsageShare extends UsageAmounts {
  /** Hours since 1970. */
  readonly hour: number;
  readonly team: string;
  readonly user: string;
}

/** A share as both databases name its columns. PostgreSQL gives large numbers as text. */
export function storedShare(row: Readonly<Record<string, unknown>>): UsageShare {
  return {
    hour: Number(row["hour"]),
    team: String(row["team"]),
    user: String(row["owner"]),
    creates: Number(row["creates"]),
    sandboxSeconds: Number(row["sandbox_seconds"]),
    cpuSeconds: Number(row["cpu_seconds"]),
    memoryGibSeconds: Number(row["memory_seconds"]),
  };
}

export type UsedSandbox = Pick<SandboxRecord, "team" | "user" | "claimedAt" | "terminatedAt" | "cpu" | "memory">;

/** Until `endMs`, for a sandbox that has not ended. Never throws: a record that cannot be counted would be tried for ever. */
export function usageShares(sandbox: UsedSandbox, endMs = Date.parse(sandbox.terminatedAt ?? sandbox.claimedAt)): readonly UsageShare[] {
  const { team, user } = sandbox;
  const claimedMs = Date.parse(sandbox.claimedAt);
  const lastMs = Math.max(claimedMs, endMs);
  const [cores, gib] = [amount(sandbox.cpu), amount(sandbox.memory) / 1024 ** 3];
  const lastHour = Math.floor(lastMs / hourMs);
  const claimedHour = Math.floor(claimedMs / hourMs);
  const shares: UsageShare[] = [];
  for (let hour = Math.max(claimedHour, lastHour - maxHours + 1); hour <= lastHour; hour++) {
    const seconds = Math.max(0, Math.min(lastMs, (hour + 1) * hourMs) - Math.max(claimedMs, hour * hourMs)) / 1000;
    const creates = hour === claimedHour ? 1 : 0;
    if (seconds === 0 && creates === 0) continue;
    shares.push({ hour, team, user, creates, sandboxSeconds: seconds, cpuSeconds: seconds * cores, memoryGibSeconds: seconds * gib });
  }
  return shares;
}

/** Shares of the same hour and owner as one, in one order for all writers, so that two of them never wait for each other. */
export function summedShares(shares: Iterable<UsageShare>): readonly UsageShare[] {
  const sums = new Map<string, UsageShare>();
  for (const share of shares) {
    const key = JSON.stringify([share.hour, share.team, share.user]);
    const before = sums.get(key);
    sums.set(key, before === undefined ? share : { ...share, ...addedAmounts(before, share) });
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, share]) => share);
}

export function addedAmounts(a: UsageAmounts, b: UsageAmounts): UsageAmounts {
  return {
    creates: a.creates + b.creates,
    sandboxSeconds: a.sandboxSeconds + b.sandboxSeconds,
    cpuSeconds: a.cpuSeconds + b.cpuSeconds,
    memoryGibSeconds: a.memoryGibSeconds + b.memoryGibSeconds,
  };
}

function amount(quantity: string | undefined): number {
  try {
    const value = quantityNumber(quantity) ?? 0;
    return Number.isFinite(value) && value > 0 ? value : 0;
  } catch {
    return 0;
  }
}
