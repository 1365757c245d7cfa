/** Server-sent events: browsers read them with EventSource, other clients line by line. */
import type { Clock } from "#lib/clock.ts";

/** Often enough for proxies, which drop silent connections after about a minute. */
const heartbeatMs = 15_000;
/** How long a client waits before it reconnects. */
export const retryLine = "retry: 2000\n\n";

/** A comment, which clients pass over. */
const heartbeat = ": still here\n\n";

/** Each item as text when it comes, and a heartbeat when nothing was sent for a while. Asks for the next item when the last one has been taken. */
export async function* withHeartbeats<T>(
  items: AsyncIterator<T, unknown>,
  textOf: (item: T) => string,
  clock: Clock,
): AsyncGenerator<string, void> {
  for (let next = items.next(); ;) {
    // The client may have left before this fails; then nothing else handles it.
    next.catch(() => {});
    const turn = await unlessQuiet(next, clock);
    if (turn === undefined) {
      yield heartbeat;
      continue;
    }
    if (turn.done === true) return;
    yield textOf(turn.value);
    next = items.next();
  }
}

/** Undefined when nothing came for a while. */
async function unlessQuiet<T>(coming: Promise<T>, clock: Clock): Promise<T | undefined> {
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
