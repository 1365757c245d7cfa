/** One terminal on the page. A connection that breaks is made again; the shell goes on meanwhile. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef } from "preact/hooks";
import { isClientError } from "#client/client-error.ts";
import { api, messageOf } from "../api.ts";
import { withStyleNonce } from "./style-nonce.ts";

interface ScreenProps {
  readonly sandboxId: string;
  /** Of a shell that runs; a new one is started when left out. */
  readonly pid: number | undefined;
  readonly isShown: boolean;
  readonly onStarted: (pid: number) => void;
  /** The shell has ended, and the user wants a new one. */
  readonly onAgain: () => void;
}

export function Screen({ sandboxId, pid, isShown, onStarted, onAgain }: ScreenProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = element.current;
    if (host === null) return;
    return openScreen(host, { sandboxId, pid, onStarted, onAgain });
    // The pid that it gets later is that of the shell which it has started.
  }, [sandboxId]);
  useEffect(() => {
    if (isShown) element.current?.querySelector<HTMLElement>("textarea")?.focus();
  }, [isShown]);
  return <div ref={element} style={{ height: "100%" }} />;
}

type Wanted = Omit<ScreenProps, "isShown">;

/** Returns a function that ends it, and leaves the shell. */
function openScreen(host: HTMLElement, wanted: Wanted): () => void {
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
    const why = await follow(screen, wanted, end.signal);
    if (end.signal.aborted) return;
    screen.write(`\r\n\x1b[2m${why}. Press Enter for a new shell.\x1b[0m\r\n`);
    screen.onData((typed) => typed === "\r" && wanted.onAgain());
  };
  void live();
  screen.focus();
  return () => {
    end.abort();
    watch.disconnect();
    screen.dispose();
  };
}

const [firstPauseMs, longestPauseMs] = [500, 10_000];

/** Resolves with the reason of the shell's end. */
async function follow(screen: Terminal, { sandboxId, pid: known, onStarted }: Wanted, signal: AbortSignal): Promise<string> {
  let pid = known;
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      if (pid === undefined) {
        pid = await api.sandboxes.startTerminal(sandboxId, { rows: screen.rows, cols: screen.cols }, signal);
        onStarted(pid);
      }
      return await join(screen, { sandboxId, pid, onOpen: () => (pauseMs = firstPauseMs) }, signal);
    } catch (error) {
      if (signal.aborted) break;
      if (!isClientError(error, "unavailable") && !isClientError(error, "unreachable")) return messageOf(error).replace(/\.$/, "");
      await new Promise((resolve) => window.setTimeout(resolve, pauseMs));
    }
  }
  return "The page has left";
}

interface Joined {
  readonly sandboxId: string;
  readonly pid: number;
  readonly onOpen: () => void;
}

async function join(screen: Terminal, { sandboxId, pid, onOpen }: Joined, signal: AbortSignal): Promise<string> {
  const wish = { pid, rows: screen.rows, cols: screen.cols };
  let isFirst = true;
  const onOutput = (bytes: Uint8Array): void => {
    // It begins with what the shell wrote last, which is on the screen already if this is not the first connection.
    if (isFirst) screen.reset();
    isFirst = false;
    screen.write(bytes);
  };
  const shell = await api.sandboxes.joinTerminal(sandboxId, wish, { onOutput, signal });
  onOpen();
  const listeners = [screen.onData((typed) => shell.type(typed)), screen.onResize(({ rows, cols }) => shell.resize(rows, cols))];
  try {
    const { exitCode } = await shell.ended;
    return `The shell has ended with exit code ${exitCode}`;
  } finally {
    for (const listener of listeners) listener.dispose();
  }
}
