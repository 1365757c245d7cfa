/** A shell in the sandbox. It ends with its connection; Enter starts another one. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ClientTerminal } from "#client/terminal.ts";
import { api, messageOf } from "../api.ts";
import { withStyleNonce } from "./style-nonce.ts";

interface Shell {
  readonly id: number;
}

export function TerminalTab({ sandboxId }: { readonly sandboxId: string }) {
  const [shells, setShells] = useState<readonly Shell[]>([{ id: 1 }]);
  const [at, setAt] = useState(1);
  const add = (): void => {
    const id = Math.max(0, ...shells.map((shell) => shell.id)) + 1;
    setShells([...shells, { id }]);
    setAt(id);
  };
  const remove = (id: number): void => {
    const rest = shells.filter((shell) => shell.id !== id);
    setShells(rest);
    if (at === id) setAt(rest.at(-1)?.id ?? 0);
  };
  return (
    <>
      <div class="actions" role="group" aria-label="Terminals">
        {shells.map(({ id }) => (
          <button key={id} type="button" class={`button ${id === at ? "primary" : ""}`} aria-pressed={id === at} onClick={() => setAt(id)}>
            Shell {id}
          </button>
        ))}
        <button type="button" class="button" onClick={add}>
          New shell
        </button>
        {shells.length > 1 && (
          <button type="button" class="button" onClick={() => remove(at)}>
            Close shell {at}
          </button>
        )}
      </div>
      {shells.map(({ id }) => (
        <div key={id} class="terminal-frame" hidden={id !== at} style={id === at ? {} : { display: "none" }}>
          <OneTerminal sandboxId={sandboxId} isShown={id === at} />
        </div>
      ))}
    </>
  );
}

function OneTerminal({ sandboxId, isShown }: { readonly sandboxId: string; readonly isShown: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const host = element.current;
    if (host === null) return;
    return openTerminal(host, sandboxId, () => setTurn((last) => last + 1));
  }, [sandboxId, turn]);
  useEffect(() => {
    if (isShown) element.current?.querySelector<HTMLElement>("textarea")?.focus();
  }, [isShown]);
  return <div ref={element} style={{ height: "100%" }} />;
}

/** Returns a function that ends it. `again` is called when the user wants a new shell. */
function openTerminal(host: HTMLElement, sandboxId: string, again: () => void): () => void {
  const screen = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    fontSize: 13,
    theme: { background: "#0b0e13", foreground: "#e8ecf1" },
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  withStyleNonce(() => screen.open(host));
  fit.fit();
  const end = new AbortController();
  const watch = new ResizeObserver(() => host.clientHeight > 0 && fit.fit());
  watch.observe(host);
  const live = async (): Promise<void> => {
    const why = await run(screen, sandboxId, end.signal);
    if (end.signal.aborted) return;
    screen.write(`\r\n\x1b[2m${why}. Press Enter for a new shell.\x1b[0m\r\n`);
    screen.onData((typed) => typed === "\r" && again());
  };
  void live();
  screen.focus();
  return () => {
    end.abort();
    watch.disconnect();
    screen.dispose();
  };
}

/** Resolves with the reason of its end. */
async function run(screen: Terminal, sandboxId: string, signal: AbortSignal): Promise<string> {
  try {
    const wish = { rows: screen.rows, cols: screen.cols, env: { TERM: "xterm-256color" } };
    const shell: ClientTerminal = await api.sandboxes.terminal(sandboxId, wish, { onOutput: (bytes) => screen.write(bytes), signal });
    const listeners = [screen.onData((typed) => shell.type(typed)), screen.onResize(({ rows, cols }) => shell.resize(rows, cols))];
    try {
      const { exitCode } = await shell.ended;
      return `The shell has ended with exit code ${exitCode}`;
    } finally {
      for (const listener of listeners) listener.dispose();
    }
  } catch (error) {
    return messageOf(error).replace(/\.$/, "");
  }
}
