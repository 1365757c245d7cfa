/** The log of the sandbox, past and live. */
import { useEffect, useRef, useState } from "preact/hooks";
import { plainLine } from "./log-text.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { api, messageOf } from "../api.ts";

const mostLines = 5000;
const firstLines = 1000;

export function Logs({ sandbox: { sandboxId, status } }: { readonly sandbox: Sandbox }) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [end, setEnd] = useState<string>();
  const [filter, setFilter] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const element = useRef<HTMLDivElement>(null);
  const isEnded = isTerminalStatus(status);
  useEffect(() => {
    const stop = new AbortController();
    setLines([]);
    setEnd(undefined);
    const add = (more: readonly string[]): void => setLines((known) => [...known, ...more].slice(-mostLines));
    void readLog({ sandboxId, isEnded, add, signal: stop.signal }).then((why) => stop.signal.aborted || setEnd(why));
    return () => stop.abort();
  }, [sandboxId, isEnded]);
  const shown = filter === "" ? lines : lines.filter((line) => line.toLowerCase().includes(filter.toLowerCase()));
  useEffect(() => {
    if (isFollowing) element.current?.scrollTo(0, element.current.scrollHeight);
  }, [shown, isFollowing]);
  return (
    <>
      <div class="filters">
        <input
          class="input search"
          type="search"
          placeholder="Lines that have"
          aria-label="Filter lines"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <label class="actions">
          <input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.currentTarget.checked)} />
          <span>Follow</span>
        </label>
        <span class="hint">
          {shown.length} lines{end === undefined ? ", live" : `; ${end}`}
        </span>
      </div>
      <div
        ref={element}
        class="log"
        role="log"
        tabIndex={0}
        aria-label="Log"
        aria-live="off"
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          if (scrollHeight - scrollTop - clientHeight > 40 && isFollowing) setFollowing(false);
        }}
      >
        {shown.join("\n")}
        {lines.length === 0 && end !== undefined && (
          <span class="hint">The main process has written nothing. The output of commands goes to their callers.</span>
        )}
      </div>
    </>
  );
}

interface ReadLog {
  readonly sandboxId: string;
  readonly isEnded: boolean;
  readonly add: (lines: readonly string[]) => void;
  readonly signal: AbortSignal;
}

/** Resolves with the reason why the log ended. */
async function readLog({ sandboxId, isEnded, add, signal }: ReadLog): Promise<string> {
  try {
    if (isEnded) {
      const { lines, truncated } = await api.sandboxes.logs(sandboxId, { tail: firstLines }, signal);
      add(lines);
      return truncated ? "the oldest lines are missing" : "complete";
    }
    let gathered: string[] = [];
    const timer = window.setInterval(() => {
      if (gathered.length > 0) add(gathered);
      gathered = [];
    }, 100);
    try {
      for await (const line of api.sandboxes.followLogs(sandboxId, { tail: firstLines }, signal)) {
        const { line: text, _meta: end } = { line: undefined, _meta: undefined, ...line };
        if (end !== undefined) return end.message ?? end.reason;
        gathered.push(plainLine(text ?? ""));
      }
      return "the connection ended";
    } finally {
      window.clearInterval(timer);
      add(gathered);
    }
  } catch (error) {
    return messageOf(error);
  }
}
