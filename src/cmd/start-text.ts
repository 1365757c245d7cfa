import type { HomeFolder } from "./home-folder.ts";

export interface StartFacts {
  readonly version: string;
  readonly home: HomeFolder;
  readonly address: string;
  readonly logFile: string | undefined;
}

/** What people read when AgentBox has started: what runs, where, and what to do next. */
export function startText({ version, home, address, logFile }: StartFacts): string {
  return `AgentBox ${version} is running.

  Runs      the embedded object store, with the Kubernetes API semantics
            (sandboxes come with the node, which this release does not have yet)
  Data      ${home.folder}
  Objects   ${home.socketPath}   (unix socket, for this user only)
  Health    ${address}/healthz
  Metrics   ${address}/metrics
  Log       ${logFile ?? "here, on stderr"}

Try, in another terminal:
  bin/agentbox apply -f deploy/examples
  bin/agentbox get sandboxpools

Ctrl-C stops it.
`;
}
