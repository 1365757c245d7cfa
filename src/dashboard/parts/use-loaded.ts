/** Data that a page requests: once, and again at intervals while the page is visible. */
import { useEffect, useState } from "preact/hooks";
import { isClientError } from "#client/client-error.ts";
import { messageOf } from "../api.ts";
import { sessionEnded } from "../session/session.ts";

export interface Loaded<Value> {
  readonly value: Value | undefined;
  readonly error: string | undefined;
  readonly reload: () => void;
}

interface LoadOptions {
  /** Requested again when one of these changes. */
  readonly of: readonly unknown[];
  readonly everyMs?: number;
}

export function useLoaded<Value>(load: (signal: AbortSignal) => Promise<Value>, { of, everyMs }: LoadOptions): Loaded<Value> {
  const [state, setState] = useState<{ readonly value?: Value; readonly error?: string }>({});
  const [turn, setTurn] = useState(0);
  useEffect(() => setState({}), of);
  useEffect(() => {
    const end = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const value = await load(end.signal);
        if (!end.signal.aborted) setState({ value });
      } catch (error) {
        if (end.signal.aborted) return;
        if (isClientError(error, "unauthenticated")) sessionEnded();
        setState(({ value }) => ({ ...(value !== undefined && { value }), error: messageOf(error) }));
      }
    };
    void ask();
    const timer = everyMs === undefined ? undefined : window.setInterval(() => document.hidden || void ask(), everyMs);
    return () => {
      end.abort();
      window.clearInterval(timer);
    };
  }, [...of, turn]);
  return { value: state.value, error: state.error, reload: () => setTurn((last) => last + 1) };
}
