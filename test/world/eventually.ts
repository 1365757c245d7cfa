import { vi } from "vitest";

/** Repeats the check until it passes. For results of real sockets and processes, which come soon but at an unknown time. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 20_000, interval: 5 });
}
