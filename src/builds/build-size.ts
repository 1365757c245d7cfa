/** How large sandboxes of a template are. Pure. */

export interface BuildSize {
  readonly cpuCount: number;
  readonly memoryMB: number;
  /** What a sandbox may write, in MiB, where more than the usual is wanted. */
  readonly diskMB?: number;
}

export const usualSize: BuildSize = { cpuCount: 2, memoryMB: 1024 };

const maxCpu = 32;
const minMemory = 128;
const maxMemory = 1024 * 1024;

/** A sentence about what is wrong with it, and the field. */
export function complaintAboutSize({ cpuCount, memoryMB }: BuildSize): { readonly field: string; readonly message: string } | undefined {
  if (!Number.isInteger(cpuCount) || cpuCount < 1 || cpuCount > maxCpu || (cpuCount !== 1 && cpuCount % 2 !== 0)) {
    return { field: "cpuCount", message: `cpuCount must be 1 or an even number up to ${maxCpu}, not ${cpuCount}` };
  }
  if (!Number.isInteger(memoryMB) || memoryMB < minMemory || memoryMB > maxMemory || memoryMB % 2 !== 0) {
    return { field: "memoryMB", message: `memoryMB must be an even number of at least ${minMemory}, not ${memoryMB}` };
  }
  return undefined;
}
