import type { HomeFolder } from "./home-folder.ts";

/** Whether pods are run here, and if not, why. */
export type Sandboxes = "running" | "not root" | "switched off";

export interface StartFacts {
  readonly version: string;
  readonly home: HomeFolder;
  readonly address: string;
  readonly logFile: string | undefined;
  readonly sandboxes: Sandboxes;
}

const runs: Record<Sandboxes, string> = {
  running: `object store, node and pool controller; a pool of sandboxes warms up
            (sandboxes can be watched, but not claimed yet: that comes with the API)`,
  "not root": `object store only: running sandboxes needs root. Pods are kept, but nothing
            runs them. Start with sudo to have them run`,
  "switched off": "object store only, as asked for with --no-sandboxes",
};

/** What people read when AgentBox has started: what runs, where, and what to do next. */
export function startText({ version, home, address, logFile, sandboxes }: StartFacts): string {
  return `AgentBox ${version} is running.

  Runs      ${runs[sandboxes]}
  Data      ${home.folder}
  Objects   ${home.socketPath}   (unix socket, for this user only)
  Health    ${address}/healthz
  Metrics   ${address}/metrics
  Log       ${logFile ?? "here, on stderr"}

Try, in another terminal:
  bin/agentbox get sandboxpools
  bin/agentbox get pods -w
  bin/agentbox apply -f deploy/examples

Ctrl-C stops it.
`;
}
