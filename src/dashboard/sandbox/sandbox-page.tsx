/** Everything about one sandbox, at one address. */
import { useEffect, useState } from "preact/hooks";
import type { Sandbox } from "#client/sandbox-types.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { api } from "../api.ts";
import { useKeys } from "../keyboard.ts";
import { known } from "../live/live-state.ts";
import { Empty } from "../parts/empty.tsx";
import { Lazy } from "../parts/lazy.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf, place, setQuery } from "../route.ts";
import { Details } from "./details.tsx";
import { SandboxActions } from "./sandbox-actions.tsx";

const tabs = ["details", "terminal", "files", "logs", "processes", "ports"] as const;
type Tab = (typeof tabs)[number];

const tabNames: Readonly<Record<Tab, string>> = {
  details: "Details",
  terminal: "Terminal",
  files: "Files",
  logs: "Logs",
  processes: "Processes",
  ports: "Ports",
};

export function SandboxPage({ sandboxId }: { readonly sandboxId: string }) {
  const live = known.value.sandboxes.get(sandboxId);
  // The stream has the state; diagnosis and the record of an ended sandbox are requested separately.
  const loaded = useLoaded((signal) => api.sandboxes.get(sandboxId, signal), { of: [sandboxId, live?.status ?? ""] });
  const [last, setLast] = useState<Sandbox>();
  useEffect(() => setLast(loaded.value ?? last), [loaded.value]);
  const sandbox = merged(live, loaded.value ?? last);
  const tab = tabs.find((one) => one === place.value.query.get("tab")) ?? "details";
  useKeys({ t: () => setQuery({ tab: "terminal" }), l: () => setQuery({ tab: "logs" }), f: () => setQuery({ tab: "files" }) });
  if (sandbox === undefined) {
    if (loaded.error === undefined) return <div class="page" />;
    return (
      <div class="page">
        <Empty title="This sandbox cannot be shown">
          <p>{loaded.error}</p>
          <Link href={hrefOf(["sandboxes"])}>All sandboxes</Link>
        </Empty>
      </div>
    );
  }
  const isEnded = isTerminalStatus(sandbox.status);
  return (
    <div class={`page ${tab === "details" ? "" : "whole"}`}>
      <div class="page-head">
        <h1 class="mono">{sandboxId}</h1>
        <span aria-live="polite">
          <StatusBadge status={sandbox.status} />
        </span>
        {!isEnded && <SandboxActions sandbox={sandbox} />}
      </div>
      <nav class="tabs" aria-label="Parts of the sandbox">
        {tabs.map((one) => (
          <Link key={one} href={hrefOf(["sandboxes", sandboxId], one === "details" ? {} : { tab: one })} current={tab === one}>
            {tabNames[one]}
          </Link>
        ))}
      </nav>
      <TabContent tab={tab} sandbox={sandbox} />
    </div>
  );
}

function TabContent({ tab, sandbox }: { readonly tab: Tab; readonly sandbox: Sandbox }) {
  const { sandboxId, status } = sandbox;
  if (tab === "details") return <Details sandbox={sandbox} />;
  if (tab === "logs") return <Lazy load={async () => (await import("./logs.tsx")).Logs} props={{ sandbox }} />;
  if (status !== "Running") {
    return (
      <Empty title={isTerminalStatus(status) ? "This sandbox has ended" : `This sandbox is ${status.toLowerCase()}`}>
        <p>
          {status === "Paused"
            ? "Resume it first."
            : isTerminalStatus(status)
              ? "Its files and processes are gone; details and logs stay."
              : "It can be used once it runs."}
        </p>
      </Empty>
    );
  }
  if (tab === "terminal")
    return <Lazy key={sandboxId} load={async () => (await import("./terminal.tsx")).TerminalTab} props={{ sandboxId }} />;
  if (tab === "files") return <Lazy load={async () => (await import("./files.tsx")).Files} props={{ sandboxId }} />;
  if (tab === "processes") return <Lazy load={async () => (await import("./processes.tsx")).Processes} props={{ sandboxId }} />;
  return <Lazy load={async () => (await import("./ports.tsx")).Ports} props={{ sandbox }} />;
}

/** The stream is newer; the answer has more fields. */
function merged(live: Sandbox | undefined, answered: Sandbox | undefined): Sandbox | undefined {
  if (live === undefined || answered === undefined) return live ?? answered;
  if (live.status !== answered.status) return live;
  return { ...live, ...(answered.diagnosis !== undefined && { diagnosis: answered.diagnosis }) };
}
