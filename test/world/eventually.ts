import { vi } from "vitest";

/** Looks again until the check passes. For what real sockets and processes do: soon, but nobody can say when. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 20_000, interval: 5 });
}
