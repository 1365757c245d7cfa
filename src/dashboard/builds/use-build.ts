/** A build and its log: read again until the build is over, each time from where the log ended. */
import { useEffect, useState } from "preact/hooks";
import type { Build, BuildLogEntry } from "#client/builds.ts";
import { isClientError } from "#client/client-error.ts";
import { api, messageOf } from "../api.ts";
import { sessionEnded } from "../session/session.ts";
import { isOver } from "./build-words.ts";

interface ShownBuild {
  readonly build?: Build;
  readonly entries: readonly BuildLogEntry[];
  readonly error?: string;
}

const askAgainMs = 700;

export function useBuild(buildId: string): ShownBuild {
  const [shown, setShown] = useState<ShownBuild>({ entries: [] });
  useEffect(() => {
    const end = new AbortController();
    let timer: number | undefined;
    let entries: readonly BuildLogEntry[] = [];
    setShown({ entries });
    const ask = async (): Promise<void> => {
      try {
        // The state first: a log that is read after the end is complete.
        const build = await api.builds.get(buildId, end.signal);
        const more = await api.builds.logs(buildId, entries.length, end.signal);
        if (end.signal.aborted) return;
        entries = [...entries, ...more];
        setShown({ build, entries });
        if (!isOver(build) || more.length > 0) timer = window.setTimeout(() => void ask(), more.length > 0 ? 0 : askAgainMs);
      } catch (error) {
        if (end.signal.aborted) return;
        if (isClientError(error, "unauthenticated")) return sessionEnded();
        setShown((last) => ({ ...last, error: messageOf(error) }));
        if (!isClientError(error, "not_found")) timer = window.setTimeout(() => void ask(), 3000);
      }
    };
    void ask();
    return () => {
      end.abort();
      window.clearTimeout(timer);
    };
  }, [buildId]);
  return shown;
}
