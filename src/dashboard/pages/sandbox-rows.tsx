/** The rows of the sandbox list; only visible rows are rendered. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sandbox } from "#client/sandbox-types.ts";
import { Ago } from "../parts/ago.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { visibleRows } from "../parts/visible-rows.ts";
import { hrefOf } from "../route.ts";

interface SandboxRowsProps {
  readonly rows: readonly Sandbox[];
  /** Index of the row for keyboard shortcuts; -1 for none. */
  readonly at: number;
  readonly selected: ReadonlySet<string>;
  readonly onToggle: (sandboxId: string) => void;
  readonly onToggleAll: () => void;
}

const rowHeight = 44;

export function SandboxRows({ rows, at, selected, onToggle, onToggleAll }: SandboxRowsProps) {
  const body = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = body.current;
    if (element === null) return;
    const look = (): void => setScroll({ top: element.scrollTop, height: element.clientHeight });
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => keepVisible(body.current, at), [at]);
  const { first, end } = visibleRows(rows.length, rowHeight, scroll);
  return (
    <div class="grid-list" role="grid" aria-label="Sandboxes" aria-rowcount={rows.length + 1} aria-multiselectable="true">
      <div role="rowgroup">
        <div class="grid-row grid-head" role="row" aria-rowindex={1}>
          <span role="columnheader">
            <input type="checkbox" aria-label="Select all that are listed" checked={selected.size > 0} onChange={onToggleAll} />
          </span>
          <span role="columnheader">Sandbox</span>
          <span role="columnheader">Status</span>
          <span role="columnheader" class="wide">
            Pool
          </span>
          <span role="columnheader" class="wide">
            Owner
          </span>
          <span role="columnheader" class="wide">
            Claimed
          </span>
          <span role="columnheader" class="wide">
            Ends
          </span>
        </div>
      </div>
      <div
        class="grid-body"
        role="rowgroup"
        ref={body}
        tabIndex={-1}
        onScroll={(event) => setScroll({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      >
        <div style={{ height: `${rows.length * rowHeight}px` }} aria-hidden="true" />
        {rows.slice(first, end).map((sandbox, index) => (
          <SandboxRow
            key={sandbox.sandboxId}
            sandbox={sandbox}
            index={first + index}
            isAt={first + index === at}
            isSelected={selected.has(sandbox.sandboxId)}
            onToggle={onToggle}
          />
        ))}
        {rows.length === 0 && (
          <div style={{ position: "absolute", inset: 0 }}>
            <Empty title="No sandbox matches these filters" />
          </div>
        )}
      </div>
    </div>
  );
}

interface SandboxRowProps {
  readonly sandbox: Sandbox;
  readonly index: number;
  readonly isAt: boolean;
  readonly isSelected: boolean;
  readonly onToggle: (sandboxId: string) => void;
}

function SandboxRow({ sandbox, index, isAt, isSelected, onToggle }: SandboxRowProps) {
  const { sandboxId, status, poolName, team, user, claimedAt, endTime } = sandbox;
  return (
    <div
      class={`grid-row ${isAt ? "at" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      style={{ top: `${index * rowHeight}px` }}
    >
      <span role="gridcell">
        <input type="checkbox" aria-label={`Select ${sandboxId}`} checked={isSelected} onChange={() => onToggle(sandboxId)} />
      </span>
      <span role="gridcell" class="cell">
        <Link class="mono" href={hrefOf(["sandboxes", sandboxId])}>
          {sandboxId}
        </Link>
      </span>
      <span role="gridcell">
        <StatusBadge status={status} />
      </span>
      <span role="gridcell" class="cell wide" title={poolName}>
        {poolName}
      </span>
      <span role="gridcell" class="cell wide">
        {[team, user].filter((part) => part !== "").join(" / ") || "–"}
      </span>
      <span role="gridcell" class="cell wide">
        <Ago time={claimedAt} />
      </span>
      <span role="gridcell" class="cell wide">
        {endTime === undefined ? "never" : <Ago time={endTime} />}
      </span>
    </div>
  );
}

function keepVisible(body: HTMLElement | null, at: number): void {
  if (body === null || at < 0) return;
  const top = at * rowHeight;
  if (top < body.scrollTop) body.scrollTop = top;
  else if (top + rowHeight > body.scrollTop + body.clientHeight) body.scrollTop = top + rowHeight - body.clientHeight;
}
