/** Builds of templates, newest first. */
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { Table } from "../parts/table.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { buildTimeText, statusWord } from "./build-words.ts";

export function BuildList() {
  const { value, error } = useLoaded((signal) => api.builds.list(signal), { of: [], everyMs: 3000 });
  return (
    <div class="page">
      <h1>Builds</h1>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && (
        <div class="card">
          <Empty title="No template was built yet">
            <p>A Dockerfile becomes a template, and E2B's SDKs build them too:</p>
            <pre class="code">agentbox build --name app .</pre>
          </Empty>
        </div>
      )}
      {value !== undefined && value.length > 0 && (
        <Table columns={["Template", "State", "Tags", "Build", "Began", "Took"]}>
          {value.map((build) => (
            <tr key={build.buildId}>
              <td>
                <Link href={hrefOf(["builds", build.buildId])}>{build.name}</Link>
              </td>
              <td>
                <StatusBadge status={statusWord(build.status)} />
              </td>
              <td>{build.tags.join(", ") || "–"}</td>
              <td class="mono">{build.buildId}</td>
              <td>
                <Ago time={build.startedAt ?? build.createdAt} />
              </td>
              <td>{buildTimeText(build) ?? "–"}</td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  );
}
