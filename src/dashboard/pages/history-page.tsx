/** Ended sandboxes and their reasons, searched by the server, page by page. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import { api } from "../api.ts";
import { spanText } from "../format.ts";
import { Ago } from "../parts/ago.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type LoadPage, usePages } from "../parts/use-pages.ts";
import { hrefOf, place, setQuery } from "../route.ts";
import { historyQuery } from "./history-query.ts";

export function HistoryPage() {
  const { query } = place.value;
  const load: LoadPage<Sandbox> = async (cursor, signal) => {
    const { sandboxes: rows, next } = await api.sandboxes.page({ ...historyQuery(query), ...cursor }, signal);
    return { rows, next };
  };
  const { rows, next, error, isLoading, more } = usePages(load, query.toString());
  return (
    <div class="page">
      <h1>History</h1>
      <Filters />
      {error !== undefined && <p class="error">{error}</p>}
      {rows.length === 0 && !isLoading ? (
        <div class="card">
          <Empty title="No ended sandbox matches">
            <p>Sandboxes stay here for 30 days after their end, unless the server is told otherwise.</p>
          </Empty>
        </div>
      ) : (
        <Rows rows={rows} />
      )}
      {next !== undefined && (
        <div class="actions">
          <button type="button" class="button" onClick={more}>
            Show older ones
          </button>
        </div>
      )}
    </div>
  );
}

function Filters() {
  const { query } = place.value;
  const set = (name: string) => (event: Event) => setQuery({ [name]: (event.currentTarget as HTMLInputElement).value });
  return (
    <div class="filters" role="search">
      <input
        class="input search"
        type="search"
        placeholder="Start of an id, or key=value"
        aria-label="Id or metadata"
        value={query.get("q") ?? ""}
        onInput={set("q")}
      />
      <input
        class="input search"
        type="search"
        placeholder="Pool"
        aria-label="Pool"
        value={query.get("pool") ?? ""}
        onInput={set("pool")}
      />
      <select class="input" aria-label="Stop reason" value={query.get("status") ?? ""} onChange={set("status")}>
        <option value="">Any end</option>
        {sandboxStopReasons.map((reason) => (
          <option key={reason} value={reason}>
            {reason}
          </option>
        ))}
      </select>
      <select class="input" aria-label="Ended within" value={query.get("within") ?? ""} onChange={set("within")}>
        <option value="">Any time</option>
        <option value="1">Last hour</option>
        <option value="24">Last day</option>
        <option value="168">Last week</option>
      </select>
    </div>
  );
}

function Rows({ rows }: { readonly rows: readonly Sandbox[] }) {
  return (
    <div class="table-wrap">
      <table>
        <thead>
          <tr>
            <th>Sandbox</th>
            <th>End</th>
            <th>Why</th>
            <th>Pool</th>
            <th>Owner</th>
            <th>Ended</th>
            <th class="number">Lived</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ sandboxId, status, failureReason, failureMessage, exitCode, poolName, team, user, claimedAt, terminatedAt }) => (
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
                {[failureReason, failureMessage, exitCode !== undefined && `exit code ${exitCode}`].filter(Boolean).join("; ") || "–"}
              </td>
              <td>{poolName}</td>
              <td>{[team, user].filter((part) => part !== "").join(" / ") || "–"}</td>
              <td>
                <Ago time={terminatedAt} />
              </td>
              <td class="number">{terminatedAt === undefined ? "–" : spanText(Date.parse(terminatedAt) - Date.parse(claimedAt))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
