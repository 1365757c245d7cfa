/** The audit log: who changed what, from where, with which result. */
import type { AuditEntry } from "#client/reports.ts";
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { CsvButton } from "../parts/csv-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { type LoadPage, usePages } from "../parts/use-pages.ts";
import { hrefOf, place, setQuery } from "../route.ts";
import { signedIn } from "../session/session.ts";
import { auditQuery } from "./audit-query.ts";

export function AuditPage() {
  const { query } = place.value;
  const load: LoadPage<AuditEntry> = async (cursor, signal) => {
    const { entries: rows, next } = await api.reports.audit({ ...auditQuery(query), ...cursor }, signal);
    return { rows, next };
  };
  const { rows, next, error, isLoading, more } = usePages(load, query.toString());
  return (
    <div class="page">
      <div class="page-head">
        <h1>Audit log</h1>
        <div class="actions">
          <CsvButton name="audit" load={() => api.reports.auditCsv(auditQuery(query))} />
        </div>
      </div>
      <Filters />
      {error !== undefined && <p class="error">{error}</p>}
      {rows.length === 0 && !isLoading && error === undefined ? (
        <div class="card">
          <Empty title="No entry matches">
            <p>Every request that may change something has an entry here, for 90 days unless the server is told otherwise.</p>
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
  const search = (name: string, label: string) => (
    <input class="input search" type="search" placeholder={label} aria-label={label} value={query.get(name) ?? ""} onInput={set(name)} />
  );
  return (
    <div class="filters" role="search">
      {search("target", "Sandbox, pool or other object")}
      {search("key", "Key id")}
      {signedIn().caller.role === "admin" && search("team", "Team")}
      <select class="input" aria-label="Result" value={query.get("result") ?? ""} onChange={set("result")}>
        <option value="">Any result</option>
        <option value="ok">Successful</option>
        <option value="refused">Refused</option>
        <option value="failed">Failed</option>
      </select>
      <select class="input" aria-label="Within" value={query.get("within") ?? ""} onChange={set("within")}>
        <option value="">Any time</option>
        <option value="1">Last hour</option>
        <option value="24">Last day</option>
        <option value="168">Last week</option>
      </select>
    </div>
  );
}

function Rows({ rows }: { readonly rows: readonly AuditEntry[] }) {
  return (
    <div class="table-wrap" tabIndex={0} role="region" aria-label="Entries">
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Caller</th>
            <th>Action</th>
            <th>Object</th>
            <th>Result</th>
            <th>From</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EntryRow({ entry }: { readonly entry: AuditEntry }) {
  const { at, keyId, action, target, subject, status, code, address, agent, requestId } = entry;
  const sandboxId = subject["sandboxId"];
  return (
    <tr title={`Request ${requestId}`}>
      <td>
        <Ago time={at} />
      </td>
      <td title={keyId === undefined ? undefined : `Key ${keyId}`}>{callerText(entry)}</td>
      <td class="mono">{action}</td>
      <td class="mono">
        {sandboxId !== undefined && sandboxId === target ? <Link href={hrefOf(["sandboxes", sandboxId])}>{target}</Link> : target || "–"}
      </td>
      <td>
        <span class={`status ${status < 400 ? "good" : "bad"}`}>{code ?? status}</span>
      </td>
      <td title={agent}>{address ?? "–"}</td>
    </tr>
  );
}

function callerText({ role, team, user }: AuditEntry): string {
  const owner = [team, user].filter((part) => part !== "").join(" / ");
  if (role === "tenant") return owner;
  return owner === "" ? "Admin" : `Admin as ${owner}`;
}
