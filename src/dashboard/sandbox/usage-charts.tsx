/** Processor, memory and disk of a live sandbox over the last hour. */
import type { Usage } from "#client/numbers.ts";
import { api } from "../api.ts";
import { bytesText, numberText } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { useLoaded } from "../parts/use-loaded.ts";

export function UsageCharts({ sandboxId }: { readonly sandboxId: string }) {
  const { value, error } = useLoaded((signal) => api.numbers.usage(sandboxId, signal), { of: [sandboxId], everyMs: 5000 });
  return (
    <section class="card">
      <h2>Use in the last hour</h2>
      {error !== undefined && <p class="hint">{error}</p>}
      {value !== undefined && value.samples.length === 0 && <p class="hint">The first values arrive in a few seconds.</p>}
      {value !== undefined && value.samples.length > 0 && <Charts usage={value} />}
    </section>
  );
}

function Charts({ usage: { limits, samples } }: { readonly usage: Usage }) {
  const times = samples.map(({ at }) => Date.parse(at) / 1000);
  const last = samples.at(-1);
  return (
    <>
      <h3>
        Processor: {numberText(last?.cpuPercent ?? 0)} % of {limits.cpus === 0 ? "the node" : `${numberText(limits.cpus)} CPU`}
      </h3>
      <Chart
        title="Processor, percent"
        times={times}
        max={10}
        lines={[{ name: "processor", color: "--accent", values: samples.map(({ cpuPercent }) => cpuPercent) }]}
        text={(value) => `${numberText(value)} %`}
      />
      <h3>
        Memory: {bytesText(last?.memoryBytes ?? 0)}
        {limits.memoryBytes > 0 && ` of ${bytesText(limits.memoryBytes)}`}; disk: {bytesText(last?.diskBytes ?? 0)}
        {limits.diskBytes > 0 && ` of ${bytesText(limits.diskBytes)}`}
      </h3>
      <Chart
        title="Memory and disk"
        times={times}
        lines={[
          { name: "memory", color: "--calm", values: samples.map(({ memoryBytes }) => memoryBytes) },
          { name: "disk", color: "--warn", values: samples.map(({ diskBytes }) => diskBytes) },
        ]}
        text={bytesText}
      />
    </>
  );
}
