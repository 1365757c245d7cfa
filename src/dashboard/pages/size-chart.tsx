/** The size of a pool over the last hour, with the autoscaler's decisions under the cursor. */
import type { PoolName, PoolSize } from "#client/pools.ts";
import { api } from "../api.ts";
import { numberText } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { useLoaded } from "../parts/use-loaded.ts";

export function SizeChart({ pool }: { readonly pool: PoolName }) {
  const { value, error } = useLoaded((signal) => api.pools.sizes(pool, signal), { of: [pool.namespace, pool.name], everyMs: 10_000 });
  if (error !== undefined) return <p class="error">{error}</p>;
  if (value === undefined || value.length < 2)
    return <p class="hint">The server records sizes every 10 seconds; the chart starts with the second one.</p>;
  const decisions = decisionsAt(value);
  const line = (name: string, color: string, of: (size: PoolSize) => number) => ({ name, color, values: value.map(of) });
  return (
    <Chart
      title={`Sizes of pool ${pool.name}`}
      times={value.map(({ at }) => Date.parse(at) / 1000)}
      lines={[
        line("wanted", "--muted", ({ wanted }) => wanted),
        line("idle", "--accent", ({ idle }) => idle),
        line("in use", "--calm", ({ inUse }) => inUse),
        line("waiting", "--bad", ({ waiting }) => waiting),
      ]}
      text={numberText}
      noteAt={(index) => decisions[index]}
      noted="wanted"
    />
  );
}

/** The decision in force at each moment. */
function decisionsAt(sizes: readonly PoolSize[]): readonly (string | undefined)[] {
  let last: string | undefined;
  return sizes.map(({ decision }) => (last = decision ?? last));
}
