/** Health of the parts: this server, the stream of changes, unhealthy pools, clusters. */
import { api } from "../api.ts";
import { isLive, pools } from "../live/live-state.ts";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { signedIn } from "../session/session.ts";

export function HealthPage() {
  const ready = useLoaded(async (signal) => await api.health.ready(signal), { of: [], everyMs: 5000 });
  const clusters = useLoaded((signal) => api.envs.clusters(signal), { of: [] });
  const unwell = pools.value.filter(({ status }) => status?.phase === "Degraded");
  const { version, domain } = signedIn();
  return (
    <div class="page">
      <h1>Health</h1>
      <div class="columns">
        <section class="card">
          <h2>Server</h2>
          <dl class="facts">
            <dt>API</dt>
            <dd>
              <StatusBadge status={ready.value === undefined ? "Unknown" : ready.value.isReady ? "Ready" : "Degraded"} />{" "}
              {ready.value?.text ?? ready.error ?? ""}
            </dd>
            <dt>Answers in</dt>
            <dd>{ready.value === undefined ? "–" : `${Math.round(ready.value.tookMs)} ms`}</dd>
            <dt>Live changes</dt>
            <dd>
              <StatusBadge status={isLive.value ? "Ready" : "Degraded"} />
            </dd>
            <dt>Version</dt>
            <dd>{version}</dd>
            <dt>Hosts of sandboxes</dt>
            <dd class="mono">*.{domain}</dd>
          </dl>
        </section>
        <section class="card">
          <h2>Clusters</h2>
          <dl class="facts">
            {(clusters.value ?? []).map(({ id, engine, isLocal }) => (
              <>
                <dt>{id ?? "unnamed"}</dt>
                <dd>
                  {engine}
                  {isLocal && " (this one)"}
                </dd>
              </>
            ))}
          </dl>
        </section>
        <section class="card">
          <h2>Pools that are not well</h2>
          {unwell.length === 0 ? <p class="hint">All pools can create their pods.</p> : null}
          {unwell.map(({ metadata: { namespace = "", name = "" }, status }) => (
            <p key={`${namespace}/${name}`}>
              <Link href={hrefOf(["pools", namespace, name])}>{name}</Link>:{" "}
              {status?.conditions?.find(({ type }) => type === "Degraded")?.message}
            </p>
          ))}
        </section>
      </div>
    </div>
  );
}
