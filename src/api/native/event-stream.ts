/** Server-sent events: what a browser reads with EventSource, and everybody else line by line. */
import type { Clock } from "#lib/clock.ts";

/** Often enough for what stands between us and the reader, which forgets silent connections after a minute or so. */
const heartbeatMs = 15_000;
/** How long a reader waits before it comes again. */
export const retryLine = "retry: 2000\n\n";

/** A comment, when nothing else came for a while. */
export const heartbeat = ": still here\n\n";

/** What comes, or undefined when nothing came for a while. */
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
