/** Envs, and the pools that sandboxes come from. */
import { envs, isListed, pools } from "../live/live-state.ts";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { hrefOf } from "../route.ts";

export function PoolList() {
  return (
    <div class="page">
      <div class="page-head">
        <h1>Envs and pools</h1>
      </div>
      {isListed.value && pools.value.length === 0 && envs.value.length === 0 && (
        <div class="card">
          <Empty title="There is no pool yet">
            <p>Sandboxes come out of pools, and Envs keep pools for you. Make one from a template:</p>
            <pre class="code">bin/agentbox envs create py --template base --replicas 3</pre>
          </Empty>
        </div>
      )}
      {envs.value.length > 0 && <EnvTable />}
      {pools.value.length > 0 && <PoolTable />}
    </div>
  );
}

function EnvTable() {
  return (
    <div class="table-wrap">
      <table>
        <caption class="hidden-visually">Envs</caption>
        <thead>
          <tr>
            <th>Env</th>
            <th>Template</th>
            <th class="number">Members</th>
            <th>Sized by</th>
          </tr>
        </thead>
        <tbody>
          {envs.value.map(({ metadata: { namespace = "", name = "" }, spec }) => {
            const members = (spec.clusters ?? []).flatMap((cluster) => cluster.members ?? []);
            const groups = (spec.autoscaling?.groups ?? []).filter(({ enabled }) => enabled === true);
            return (
              <tr key={`${namespace}/${name}`}>
                <td>
                  <Link href={hrefOf(["envs", namespace, name])}>{name}</Link>
                </td>
                <td>
                  {spec.templateRef?.name === undefined ? (
                    "–"
                  ) : (
                    <Link href={hrefOf(["templates", spec.templateRef.name])}>{spec.templateRef.name}</Link>
                  )}
                </td>
                <td class="number">{members.length}</td>
                <td>{groups.length === 0 ? "hand" : `demand, in ${groups.map((group) => group.name).join(", ")}`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function PoolTable() {
  return (
    <div class="table-wrap">
      <table>
        <caption class="hidden-visually">Pools</caption>
        <thead>
          <tr>
            <th>Pool</th>
            <th>State</th>
            <th class="number">Wanted</th>
            <th class="number">Idle</th>
            <th class="number">In use</th>
            <th class="number">Waiting</th>
            <th>Template</th>
          </tr>
        </thead>
        <tbody>
          {pools.value.map(({ metadata: { namespace = "", name = "" }, spec, status = {} }) => (
            <tr key={`${namespace}/${name}`}>
              <td>
                <Link href={hrefOf(["pools", namespace, name])}>{name}</Link>
              </td>
              <td>
                <StatusBadge status={status.phase ?? "Pending"} />
              </td>
              <td class="number">{spec.replicas}</td>
              <td class="number">{status.idleReplicas ?? 0}</td>
              <td class="number">{(status.runningReplicas ?? 0) + (status.startingReplicas ?? 0) + (status.stoppingReplicas ?? 0)}</td>
              <td class="number">{status.pendingRequests ?? 0}</td>
              <td>{spec.templateName ?? "of its Env"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
