/** What teams and users were given over time. */
import type { UsageQuery, UsageReport } from "#client/reports.ts";
import { api } from "../api.ts";
import { numberText } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { CsvButton } from "../parts/csv-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { place, setQuery } from "../route.ts";
import { byOwner, type OwnerUsage, overTime } from "./usage-sums.ts";

const dayMs = 86_400_000;

function usageQuery(query: URLSearchParams): UsageQuery {
  const days = Number(query.get("days") ?? "30") || 30;
  const from = Math.floor((Date.now() - (days - 1) * dayMs) / dayMs) * dayMs;
  return {
    from: new Date(days === 1 ? Date.now() - dayMs : from).toISOString(),
    step: days === 1 ? "hour" : "day",
    by: query.get("by") === "user" ? "user" : "team",
  };
}

export function UsagePage() {
  const { query } = place.value;
  const { value, error } = useLoaded((signal) => api.reports.usage(usageQuery(query), signal), { of: [query.toString()], everyMs: 60_000 });
  return (
    <div class="page">
      <div class="page-head">
        <h1>Usage</h1>
        <div class="actions">
          <CsvButton name="usage" load={() => api.reports.usageCsv(usageQuery(query))} />
        </div>
      </div>
      <Filters />
      {error !== undefined && <p class="error">{error}</p>}
      {value !== undefined && value.rows.length === 0 && (
        <div class="card">
          <Empty title="No sandbox in this time">
            <p>Choose a longer time, or run a sandbox: it counts here from its first second on.</p>
          </Empty>
        </div>
      )}
      {value !== undefined && value.rows.length > 0 && <Report report={value} />}
      <p class="hint">
        Hours count from the claim of a sandbox to its end, pauses included. Core-hours and GiB-hours are what sandboxes were given, not
        what their processes used. Days are in UTC.
      </p>
    </div>
  );
}

function Filters() {
  const { query } = place.value;
  const set = (name: string) => (event: Event) => setQuery({ [name]: (event.currentTarget as HTMLSelectElement).value });
  return (
    <div class="filters">
      <select class="input" aria-label="Time" value={query.get("days") ?? "30"} onChange={set("days")}>
        <option value="1">Last 24 hours</option>
        <option value="7">Last 7 days</option>
        <option value="30">Last 30 days</option>
        <option value="365">Last 365 days</option>
      </select>
      <select class="input" aria-label="Rows" value={query.get("by") ?? "team"} onChange={set("by")}>
        <option value="team">By team</option>
        <option value="user">By user</option>
      </select>
    </div>
  );
}

function Report({ report }: { readonly report: UsageReport }) {
  const hours = overTime(report, ({ sandboxSeconds }) => sandboxSeconds / 3600);
  const cores = overTime(report, ({ cpuSeconds }) => cpuSeconds / 3600);
  const creates = overTime(report, (row) => row.creates);
  return (
    <>
      <div class="columns">
        <section class="card">
          <h2>Hours by {report.step}</h2>
          <Chart
            title={`Hours of sandboxes by ${report.step}`}
            times={hours.times}
            lines={[
              { name: "sandbox-hours", color: "--accent", values: hours.values },
              { name: "core-hours", color: "--warn", values: cores.values },
            ]}
            text={numberText}
          />
        </section>
        <section class="card">
          <h2>Creates by {report.step}</h2>
          <Chart
            title={`Creates by ${report.step}`}
            times={creates.times}
            lines={[{ name: "creates", color: "--accent", values: creates.values }]}
            text={numberText}
          />
        </section>
      </div>
      <Owners owners={byOwner(report)} />
    </>
  );
}

function Owners({ owners }: { readonly owners: readonly OwnerUsage[] }) {
  const hours = (seconds: number): string => numberText(seconds / 3600);
  return (
    <div class="table-wrap" tabIndex={0} role="region" aria-label="Usage by owner">
      <table>
        <thead>
          <tr>
            <th>Owner</th>
            <th class="number">Creates</th>
            <th class="number">Sandbox-hours</th>
            <th class="number">Core-hours</th>
            <th class="number">GiB-hours</th>
          </tr>
        </thead>
        <tbody>
          {owners.map(({ owner, creates, sandboxSeconds, cpuSeconds, memoryGibSeconds }) => (
            <tr key={owner}>
              <td>{owner}</td>
              <td class="number">{numberText(creates)}</td>
              <td class="number">{hours(sandboxSeconds)}</td>
              <td class="number">{hours(cpuSeconds)}</td>
              <td class="number">{hours(memoryGibSeconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
