/** Server-sent events: browsers read them with EventSource, other clients line by line. */
import type { Clock } from "#lib/clock.ts";

/** Often enough for proxies, which drop silent connections after about a minute. */
const heartbeatMs = 15_000;
/** How long a client waits before it reconnects. */
export const retryLine = "retry: 2000\n\n";

/** Sends a comment when nothing else was sent for a while. */
export const heartbeat = ": still here\n\n";

/** The next event, or undefined when none came for a while. */
export async function quietFor<T>(coming: Promise<T>, clock: Clock): Promise<T | undefined> {
  const quiet = Promise.withResolvers<undefined>();
  const timer = clock.after(heartbeatMs, () => quiet.resolve(undefined));
  try {
    return await Promise.race([coming, quiet.promise]);
  } finally {
    timer.cancel();
  }
}

export function eventText(name: string, id: string, data: unknown): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
