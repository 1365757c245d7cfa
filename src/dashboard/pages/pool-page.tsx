/** One pool: its size over time with the reasons, and its events. */
import { useState } from "preact/hooks";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { api } from "../api.ts";
import { known } from "../live/live-state.ts";
import { nameOf } from "../live/apply-changes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { EventList } from "./event-list.tsx";
import { SizeChart } from "./size-chart.tsx";

export function PoolPage({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const pool = known.value.pools.get(nameOf({ namespace, name }));
  const events = useLoaded((signal) => api.pools.events({ namespace, name }, signal), { of: [namespace, name], everyMs: 10_000 });
  const [isScaling, setScaling] = useState(false);
  if (pool === undefined) {
    return (
      <div class="page">
        <Empty title={`There is no pool ${name}`}>
          <Link href={hrefOf(["pools"])}>All pools</Link>
        </Empty>
      </div>
    );
  }
  const { spec, status = {} } = pool;
  const env = envOf(pool);
  return (
    <div class="page">
      <div class="page-head">
        <h1>Pool {name}</h1>
        <StatusBadge status={status.phase ?? "Pending"} />
        <div class="actions">
          <Link class="button" href={hrefOf(["sandboxes"], { pool: name })}>
            Its sandboxes
          </Link>
          {env === undefined ? (
            <button type="button" class="button" onClick={() => setScaling(true)}>
              Change its size…
            </button>
          ) : (
            <Link class="button" href={hrefOf(["envs", namespace, env])}>
              Its Env
            </Link>
          )}
        </div>
      </div>
      {(status.conditions ?? [])
        .filter(({ type, status: state }) => type === "Degraded" && state === "True")
        .map(({ reason, message }) => (
          <div key={reason} class="notice bad" role="status">
            <strong>{reason}</strong>: {message}
          </div>
        ))}
      <div class="columns">
        <section class="card">
          <h2>Sizes in the last hour</h2>
          <SizeChart pool={{ namespace, name }} />
          {status.autoscaling?.decision !== undefined && <p class="hint">Latest decision: {status.autoscaling.decision}</p>}
        </section>
        <section class="card">
          <h2>Now</h2>
          <dl class="facts">
            <dt>Wanted</dt>
            <dd>{spec.replicas}</dd>
            <dt>Idle</dt>
            <dd>{status.idleReplicas ?? 0}</dd>
            <dt>Running</dt>
            <dd>{status.runningReplicas ?? 0}</dd>
            <dt>Starting</dt>
            <dd>{status.startingReplicas ?? 0}</dd>
            <dt>Stopping</dt>
            <dd>{status.stoppingReplicas ?? 0}</dd>
            <dt>Waiting requests</dt>
            <dd>{status.pendingRequests ?? 0}</dd>
            <dt>Template</dt>
            <dd>
              {spec.templateName === undefined ? (
                "its own"
              ) : (
                <Link href={hrefOf(["templates", spec.templateName])}>{spec.templateName}</Link>
              )}
            </dd>
          </dl>
        </section>
        <section class="card">
          <h2>What happened</h2>
          <EventList events={events.value ?? []} />
        </section>
      </div>
      {isScaling && <ScaleDialog pool={pool} onClose={() => setScaling(false)} />}
    </div>
  );
}

function envOf({ metadata }: SandboxPool): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === "SandboxEnv")?.name;
}

function ScaleDialog({ pool, onClose }: { readonly pool: SandboxPool; readonly onClose: () => void }) {
  const { namespace = "", name = "" } = pool.metadata;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const replicas = Number(new FormData(event.currentTarget as HTMLFormElement).get("replicas"));
    if (await attempt(() => api.pools.scale({ namespace, name }, replicas), `Pool ${name} shall have ${replicas} pods`)) onClose();
  };
  return (
    <Dialog title={`Size of pool ${name}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <label class="field">
          Pods, idle and in use
          <input class="input" name="replicas" type="number" min="0" max="100000" required value={pool.spec.replicas} />
        </label>
        <p class="hint">A smaller size never deletes pods with a sandbox.</p>
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Change
          </button>
        </div>
      </form>
    </Dialog>
  );
}
