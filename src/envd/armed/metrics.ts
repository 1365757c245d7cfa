/** Resource usage of the sandbox: from its cgroup if visible, else from the kernel's figures for the whole machine. */
import { readFile, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";

export interface Metrics {
  /** Unix seconds. */
  readonly ts: number;
  readonly cpu_count: number;
  /** Share of all processors since the last call. */
  readonly cpu_used_pct: number;
  /** Total processor time used, so that several readers do not disturb each other. */
  readonly cpu_used_ms: number;
  readonly mem_total: number;
  readonly mem_used: number;
  readonly mem_cache: number;
  readonly disk_used: number;
  readonly disk_total: number;
  readonly mem_total_mib: number;
  readonly mem_used_mib: number;
}

const mebibyte = 1024 * 1024;
const cgroup = "/sys/fs/cgroup";

export class MetricsReader {
  #last: { readonly at: number; readonly usedMs: number } | undefined;

  async read(now: number): Promise<Metrics> {
    const [cpus, usedMs, memory, disk] = await Promise.all([cpuCount(), cpuTime(), memoryUse(), statfs("/")]);
    const share = this.#last === undefined || now <= this.#last.at ? 0 : (usedMs - this.#last.usedMs) / (now - this.#last.at) / cpus;
    this.#last = { at: now, usedMs };
    return {
      ts: Math.floor(now / 1000),
      cpu_count: cpus,
      cpu_used_pct: Math.max(0, Math.round(share * 10_000) / 100),
      cpu_used_ms: Math.round(usedMs),
      mem_total: memory.total,
      mem_used: memory.used,
      mem_cache: memory.cache,
      disk_used: (disk.blocks - disk.bfree) * disk.bsize,
      disk_total: disk.blocks * disk.bsize,
      mem_total_mib: Math.floor(memory.total / mebibyte),
      mem_used_mib: Math.floor(memory.used / mebibyte),
    };
  }
}

async function cpuCount(): Promise<number> {
  const [quota, period] = (await text(`${cgroup}/cpu.max`))?.split(" ").map(Number) ?? [
    await number(`${cgroup}/cpu/cpu.cfs_quota_us`),
    await number(`${cgroup}/cpu/cpu.cfs_period_us`),
  ];
  const isLimited = quota !== undefined && period !== undefined && quota > 0 && period > 0;
  return isLimited ? Math.max(1, Math.ceil(quota / period)) : availableParallelism();
}

/** In ms, summed over all processors. */
async function cpuTime(): Promise<number> {
  const [, unified] = /^usage_usec (\d+)$/m.exec((await text(`${cgroup}/cpu.stat`)) ?? "") ?? [];
  if (unified !== undefined) return Number(unified) / 1000;
  const hybrid = await number(`${cgroup}/cpuacct/cpuacct.usage`);
  if (hybrid !== undefined) return hybrid / 1e6;
  const [user = 0, nice = 0, system = 0] =
    /^cpu +(.*)$/m
      .exec((await text("/proc/stat")) ?? "")?.[1]
      ?.split(" ")
      .map(Number) ?? [];
  return (user + nice + system) * 10;
}

interface MemoryUse {
  readonly total: number;
  readonly used: number;
  readonly cache: number;
}

async function memoryUse(): Promise<MemoryUse> {
  const machine = await machineMemory();
  const stat = (await text(`${cgroup}/memory.stat`)) ?? (await text(`${cgroup}/memory/memory.stat`));
  const usage = (await number(`${cgroup}/memory.current`)) ?? (await number(`${cgroup}/memory/memory.usage_in_bytes`));
  if (stat === undefined || usage === undefined) return machine;
  const limit = (await number(`${cgroup}/memory.max`)) ?? (await number(`${cgroup}/memory/memory.limit_in_bytes`)) ?? machine.total;
  const cache = Number(/^(?:file|total_cache|cache) (\d+)$/m.exec(stat)?.[1] ?? 0);
  return { total: Math.min(limit, machine.total), used: Math.max(0, usage - cache), cache };
}

async function machineMemory(): Promise<MemoryUse> {
  const info = (await text("/proc/meminfo")) ?? "";
  const value = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(info)?.[1] ?? 0) * 1024;
  const total = value("MemTotal") || totalmem();
  const cache = value("Cached") + value("Buffers");
  return { total, used: Math.max(0, total - value("MemFree") - cache), cache };
}

async function text(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

async function number(path: string): Promise<number | undefined> {
  const value = Number((await text(path))?.trim() ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}
