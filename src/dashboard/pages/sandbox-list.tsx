/** All live sandboxes: filters in the address, thousands of rows, ends for many at once. */
import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { useKeys } from "../keyboard.ts";
import { isListed, pools, sandboxes } from "../live/live-state.ts";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { go, hrefOf, place, setQuery } from "../route.ts";
import { BulkEnd } from "./bulk-end.tsx";
import { filterSandboxes } from "./filter-sandboxes.ts";
import { SandboxRows } from "./sandbox-rows.tsx";

export function SandboxList() {
  const { query } = place.value;
  const filter = { text: query.get("q") ?? "", status: query.get("status") ?? "", pool: query.get("pool") ?? "" };
  const all = sandboxes.value;
  const shown = useMemo(() => filterSandboxes(all, filter), [all, filter.text, filter.status, filter.pool]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState({ filter: "", at: -1 });
  const search = useRef<HTMLInputElement>(null);
  const chosen = useMemo(() => all.filter(({ sandboxId }) => selected.has(sandboxId)), [all, selected]);
  const toggle = (sandboxId: string): void => setSelected(toggled(selected, sandboxId));
  // Another filter has another first row. This is decided here and not in an effect, which would come late and undo a key that follows at once.
  const filterKey = JSON.stringify(filter);
  const at = cursor.filter === filterKey ? cursor.at : -1;
  const move = (by: number): void => setCursor({ filter: filterKey, at: Math.max(0, Math.min(shown.length - 1, at + by)) });
  const current = shown[at];
  useKeys({
    "/": () => search.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    Enter: () => current !== undefined && go(hrefOf(["sandboxes", current.sandboxId])),
    x: () => current !== undefined && toggle(current.sandboxId),
  });
  return (
    <div class="page whole">
      <div class="page-head">
        <h1>Sandboxes</h1>
        <span class="hint" aria-live="polite">
          {shown.length === all.length ? `${all.length} live` : `${shown.length} of ${all.length} live`}
        </span>
        <div class="actions">
          <Link class="button" href={hrefOf(["history"])}>
            Ended ones
          </Link>
          <Link class="button primary" href={hrefOf(["playground"])}>
            New sandbox
          </Link>
        </div>
      </div>
      <Filters filter={filter} search={search} />
      {chosen.length > 0 && <BulkEnd chosen={chosen} onClear={() => setSelected(new Set())} />}
      {isListed.value && all.length === 0 ? (
        <NoSandboxes />
      ) : (
        <SandboxRows
          rows={shown}
          at={at}
          selected={selected}
          onToggle={toggle}
          onToggleAll={() => setSelected(chosen.length === 0 ? new Set(shown.map(({ sandboxId }) => sandboxId)) : new Set())}
        />
      )}
    </div>
  );
}

function toggled(selected: ReadonlySet<string>, sandboxId: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(sandboxId)) next.add(sandboxId);
  return next;
}

interface FiltersProps {
  readonly filter: { readonly text: string; readonly status: string; readonly pool: string };
  readonly search: RefObject<HTMLInputElement | null>;
}

function Filters({ filter, search }: FiltersProps) {
  const names = [...new Set([...pools.value.map(({ metadata }) => metadata.name ?? ""), filter.pool])].filter((name) => name !== "");
  return (
    <div class="filters" role="search">
      <input
        ref={search}
        class="input search"
        type="search"
        placeholder="Id, pool, owner or key=value  ( / )"
        aria-label="Search sandboxes"
        value={filter.text}
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <select class="input" aria-label="Status" value={filter.status} onChange={(event) => setQuery({ status: event.currentTarget.value })}>
        <option value="">Any status</option>
        {liveSandboxStatuses.map((status) => (
          <option key={status} value={status}>
            {status}
          </option>
        ))}
      </select>
      <select class="input" aria-label="Pool" value={filter.pool} onChange={(event) => setQuery({ pool: event.currentTarget.value })}>
        <option value="">Any pool</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

function NoSandboxes() {
  return (
    <div class="card">
      <Empty title="No sandbox runs">
        <p>
          Create one in the <Link href={hrefOf(["playground"])}>playground</Link>, from a shell, or with an SDK. It appears here
          immediately.
        </p>
        <pre class="code">bin/agentbox run base -- python3 -c 'print(6 * 7)'</pre>
      </Empty>
    </div>
  );
}
