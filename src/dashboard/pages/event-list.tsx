import type { PoolEvent } from "#client/pools.ts";
import { Ago } from "../parts/ago.tsx";

/** Recent events of an object, newest first. */
export function EventList({ events }: { readonly events: readonly PoolEvent[] }) {
  if (events.length === 0) return <p class="hint">No recent events.</p>;
  return (
    <ol class="timeline">
      {events.slice(0, 40).map(({ type, reason, message, count, lastTime }) => (
        <li key={`${reason} ${lastTime} ${message}`} class={type === "Warning" ? "warn" : "plain"}>
          <div>
            <strong>{reason}</strong>
            {count > 1 && <span class="hint"> {count} times</span>}
            <div class="hint">{message}</div>
          </div>
          <Ago time={lastTime} />
        </li>
      ))}
    </ol>
  );
}
