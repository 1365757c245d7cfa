/** One build: what it makes, how far it is, and its log as it is written. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Build, BuildLogEntry } from "#client/builds.ts";
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { attempt } from "../parts/toasts.tsx";
import { hrefOf } from "../route.ts";
import { plainLine } from "../sandbox/log-text.ts";
import { buildTimeText, isOver, statusWord } from "./build-words.ts";
import { useBuild } from "./use-build.ts";

export function BuildPage({ buildId }: { readonly buildId: string }) {
  const { build, entries, error } = useBuild(buildId);
  const [isEnding, setEnding] = useState(false);
  if (build === undefined) {
    if (error === undefined) return <div class="page" />;
    return (
      <div class="page">
        <Empty title="This build cannot be shown">
          <p>{error}</p>
          <Link href={hrefOf(["builds"])}>All builds</Link>
        </Empty>
      </div>
    );
  }
  const cancel = async (): Promise<void> => {
    if (await attempt(() => api.builds.cancel(buildId), "The build ends")) setEnding(false);
  };
  return (
    <div class="page whole">
      <div class="page-head">
        <h1>Build of {build.name}</h1>
        <span aria-live="polite">
          <StatusBadge status={statusWord(build.status)} />
        </span>
        {!isOver(build) && (
          <div class="actions">
            <button type="button" class="button danger" onClick={() => setEnding(true)}>
              End it…
            </button>
          </div>
        )}
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      <Facts build={build} />
      <BuildLog entries={entries} />
      {isEnding && (
        <ConfirmDialog title="End this build?" action="End" onClose={() => setEnding(false)} onConfirm={() => void cancel()}>
          <p>Layers that are ready stay for the next build.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function Facts({ build }: { readonly build: Build }) {
  const { tags, startedAt, createdAt, reason, buildId } = build;
  return (
    <dl class="facts">
      <dt>Build</dt>
      <dd class="mono">{buildId}</dd>
      <dt>Tags</dt>
      <dd>{tags.join(", ") || "–"}</dd>
      <dt>{startedAt === undefined ? "Asked for" : "Began"}</dt>
      <dd>
        <Ago time={startedAt ?? createdAt} />
        {buildTimeText(build) !== undefined && `, took ${buildTimeText(build)}`}
      </dd>
      {reason !== undefined && (
        <>
          <dt>Failed{reason.step !== undefined && ` at ${reason.step}`}</dt>
          <dd class="error">{reason.message}</dd>
        </>
      )}
    </dl>
  );
}

function BuildLog({ entries }: { readonly entries: readonly BuildLogEntry[] }) {
  const element = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  useEffect(() => {
    if (isFollowing) element.current?.scrollTo(0, element.current.scrollHeight);
  }, [entries, isFollowing]);
  return (
    <div
      ref={element}
      class="log"
      role="log"
      tabIndex={0}
      aria-label="Log of the build"
      aria-live="off"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
        setFollowing(scrollHeight - scrollTop - clientHeight <= 40)
      }
    >
      {entries.map(({ message }) => plainLine(message)).join("\n")}
    </div>
  );
}
