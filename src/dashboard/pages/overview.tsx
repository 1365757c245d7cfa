/** The state of the installation at a glance. */
import type { CreateReport } from "#client/numbers.ts";
import { api } from "../api.ts";
import { msText, numberText } from "../format.ts";
import { isListed, known, pools, sandboxes } from "../live/live-state.ts";
import { Ago } from "../parts/ago.tsx";
import { Bars } from "../parts/bars.tsx";
import { Chart } from "../parts/chart.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { fleetTotals } from "./fleet-totals.ts";

const spanSeconds = 600;

export function Overview() {
  const creates = useLoaded((signal) => api.numbers.creates(spanSeconds, signal), { of: [], everyMs: 5000 });
  const ended = useLoaded((signal) => api.numbers.sandboxes(undefined, signal), { of: [], everyMs: 15_000 });
  const totals = fleetTotals(known.value);
  const report = creates.value;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Overview</h1>
        <div class="actions">
          <Link class="button primary" href={hrefOf(["playground"])}>
            Run code
          </Link>
        </div>
      </div>
      {creates.error !== undefined && <p class="error">{creates.error}</p>}
      <div class="tiles">
        <Tile label="In use" value={String(totals.inUse)} note={totals.paused > 0 ? `${totals.paused} of them paused` : "sandboxes"} />
        <Tile label="Idle" value={String(totals.idle)} note={`of ${totals.wanted} pods wanted`} />
        <Tile label="Waiting" value={String(totals.waiting)} note="requests" />
        <Tile
          label="Creates"
          value={report === undefined ? "–" : `${numberText(report.created / report.seconds)}/s`}
          note={`${report?.created ?? "–"} in 10 min`}
        />
        <Tile label="Create, p50" value={msText(report?.p50Ms)} note={`p99 ${msText(report?.p99Ms)}`} />
        {report?.missed !== undefined && <Tile label="Misses" value={String(report.missed)} note="had to wait for a pod" />}
        <Tile label="Failed" value={String(report?.failed ?? "–")} note="creates in 10 min" />
      </div>
      {isListed.value && totals.pools === 0 ? <NoPools /> : null}
      <div class="columns">
        <section class="card">
          <h2>Creates in the last 10 minutes</h2>
          {report !== undefined && <CreateChart report={report} />}
        </section>
        <section class="card">
          <h2>Failures by reason</h2>
          {report === undefined || report.failures.length === 0 ? (
            <p class="hint">No create has failed in the last 10 minutes.</p>
          ) : (
            <Bars bars={report.failures.map(({ code, count }) => ({ name: code, count, isBad: true }))} />
          )}
          <h2>Why sandboxes ended, last 24 hours</h2>
          {ended.value === undefined || ended.value.ended.total === 0 ? (
            <p class="hint">No sandbox has ended.</p>
          ) : (
            <Bars bars={ended.value.ended.byStatus.map(({ key, count }) => ({ name: key, count }))} />
          )}
        </section>
        <NewestSandboxes />
        <PoolTable />
      </div>
    </div>
  );
}

function Tile({ label, value, note }: { readonly label: string; readonly value: string; readonly note: string }) {
  return (
    <div class="tile">
      <span class="label">{label}</span>
      <span class="value">{value}</span>
      <span class="note">{note}</span>
    </div>
  );
}

function CreateChart({ report }: { readonly report: CreateReport }) {
  const times = report.parts.map(({ start }) => Date.parse(start) / 1000);
  const lines = [
    { name: "created", color: "--accent", values: report.parts.map(({ created }) => created) },
    { name: "failed", color: "--bad", values: report.parts.map(({ failed }) => failed) },
  ];
  return <Chart title="Creates, each 10 seconds" times={times} lines={lines} text={numberText} />;
}

function NewestSandboxes() {
  const newest = sandboxes.value.slice(0, 6);
  return (
    <section class="card">
      <div class="card-head">
        <h2>Newest sandboxes</h2>
        <Link href={hrefOf(["sandboxes"])}>All sandboxes</Link>
      </div>
      {newest.length === 0 ? (
        <Empty title="No sandbox runs">
          <p>
            Run code in the <Link href={hrefOf(["playground"])}>playground</Link>, or in a shell:
          </p>
          <pre class="code">bin/agentbox run base -- python3 -c 'print(6 * 7)'</pre>
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Sandbox</th>
              <th>Status</th>
              <th>Claimed</th>
            </tr>
          </thead>
          <tbody>
            {newest.map(({ sandboxId, status, claimedAt }) => (
              <tr key={sandboxId}>
                <td>
                  <Link class="mono" href={hrefOf(["sandboxes", sandboxId])}>
                    {sandboxId}
                  </Link>
                </td>
                <td>
                  <StatusBadge status={status} />
                </td>
                <td>
                  <Ago time={claimedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function PoolTable() {
  return (
    <section class="card">
      <div class="card-head">
        <h2>Pools</h2>
        <Link href={hrefOf(["pools"])}>All pools</Link>
      </div>
      <table>
        <thead>
          <tr>
            <th>Pool</th>
            <th>State</th>
            <th class="number">Idle</th>
            <th class="number">In use</th>
          </tr>
        </thead>
        <tbody>
          {pools.value.slice(0, 8).map(({ metadata: { namespace = "", name = "" }, status = {} }) => (
            <tr key={`${namespace}/${name}`}>
              <td>
                <Link href={hrefOf(["pools", namespace, name])}>{name}</Link>
              </td>
              <td>
                <StatusBadge status={status.phase ?? "Pending"} />
              </td>
              <td class="number">{status.idleReplicas ?? 0}</td>
              <td class="number">{status.runningReplicas ?? 0}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function NoPools() {
  return (
    <section class="card">
      <Empty title="There is no pool yet">
        <p>Sandboxes come out of pools. Make one from a template:</p>
        <pre class="code">bin/agentbox envs create py --template base --replicas 3</pre>
      </Empty>
    </section>
  );
}
