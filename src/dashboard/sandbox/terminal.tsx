/** Shells in the sandbox. They go on without this page: after a reload, and on another page, they are joined again. */
import { useEffect, useState } from "preact/hooks";
import type { KeptTerminal } from "#client/sandboxes.ts";
import { api } from "../api.ts";
import { attempt } from "../parts/toasts.tsx";
import { rememberedShells, rememberShells } from "./open-shells.ts";
import { Screen } from "./screen.tsx";

interface Shell {
  /** Undefined until it has been started. */
  readonly pid?: number;
  readonly key: number;
}

let keys = 0;
const newShell = (pid?: number): Shell => ({ key: ++keys, ...(pid !== undefined && { pid }) });

export function TerminalTab({ sandboxId }: { readonly sandboxId: string }) {
  const [shells, setShells] = useState<readonly Shell[]>([]);
  const [others, setOthers] = useState<readonly KeptTerminal[]>([]);
  const [at, setAt] = useState(0);
  const show = (all: readonly Shell[], chosen: Shell | undefined = all.at(-1)): void => {
    setShells(all);
    setAt(chosen?.key ?? 0);
  };
  useEffect(() => {
    const stop = new AbortController();
    const begin = async (): Promise<void> => {
      const { open, rest } = await findShells(sandboxId, stop.signal);
      if (stop.signal.aborted) return;
      setOthers(rest);
      show(open.length === 0 ? [newShell()] : open.map(({ pid }) => newShell(pid)));
    };
    void begin();
    return () => stop.abort();
  }, [sandboxId]);
  const pids = shells.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  useEffect(() => {
    if (shells.length > 0) rememberShells(sandboxId, pids);
  }, [sandboxId, pids.join()]);
  const shown = shells.find(({ key }) => key === at);
  const close = async (shell: Shell): Promise<void> => {
    if (shell.pid !== undefined) await attempt(() => api.sandboxes.endTerminal(sandboxId, shell.pid ?? 0).catch(() => {}));
    const rest = shells.filter((one) => one !== shell);
    show(rest.length === 0 ? [newShell()] : rest);
  };
  const renew = (shell: Shell): void => {
    const fresh = newShell();
    show(
      shells.map((one) => (one.key === shell.key ? fresh : one)),
      fresh,
    );
  };
  const join = ({ pid }: KeptTerminal): void => {
    setOthers(others.filter((other) => other.pid !== pid));
    show([...shells, newShell(pid)]);
  };
  return (
    <>
      <div class="actions" role="group" aria-label="Terminals">
        {shells.map((shell, index) => (
          <button
            key={shell.key}
            type="button"
            class={`button ${shell.key === at ? "primary" : ""}`}
            aria-pressed={shell.key === at}
            onClick={() => setAt(shell.key)}
          >
            Shell {index + 1}
          </button>
        ))}
        <button type="button" class="button" onClick={() => show([...shells, newShell()])}>
          New shell
        </button>
        {others.map((other) => (
          <button key={other.pid} type="button" class="button" title={other.command.join(" ")} onClick={() => join(other)}>
            Join terminal {other.pid}
          </button>
        ))}
        {shells.length > 1 && shown !== undefined && (
          <button type="button" class="button" onClick={() => void close(shown)}>
            End shell {shells.indexOf(shown) + 1}
          </button>
        )}
      </div>
      {shells.map((shell) => (
        <div key={shell.key} class="terminal-frame" hidden={shell.key !== at} style={shell.key === at ? {} : { display: "none" }}>
          <Screen
            sandboxId={sandboxId}
            pid={shell.pid}
            isShown={shell.key === at}
            onStarted={(pid) => setShells((all) => all.map((one) => (one.key === shell.key ? { ...one, pid } : one)))}
            onAgain={() => renew(shell)}
          />
        </div>
      ))}
    </>
  );
}

interface Found {
  /** That this page had open before. */
  readonly open: readonly KeptTerminal[];
  /** Of other pages and of SDKs. */
  readonly rest: readonly KeptTerminal[];
}

async function findShells(sandboxId: string, signal: AbortSignal): Promise<Found> {
  const remembered = rememberedShells(sandboxId);
  const all = await api.sandboxes.terminals(sandboxId, signal).catch(() => []);
  const open = remembered.flatMap((pid) => all.find((one) => one.pid === pid) ?? []);
  return { open, rest: all.filter(({ pid }) => !remembered.includes(pid)) };
}
