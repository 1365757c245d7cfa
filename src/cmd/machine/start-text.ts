import type { HomeFolder } from "#cmd/parts/home-folder.ts";

/** Whether pods are run here, and if not, why. */
export type Sandboxes = "running" | "not root" | "switched off";

export interface StartFacts {
  readonly version: string;
  readonly home: HomeFolder;
  readonly address: string;
  readonly logFile: string | undefined;
  readonly sandboxes: Sandboxes;
  readonly gateway: { readonly address: string; readonly domain: string } | undefined;
  /** Only at the start that made it. */
  readonly firstKey: string | undefined;
  /** What to type next. */
  readonly tries: readonly string[];
}

const runs: Record<Sandboxes, string> = {
  running: "API, gateway, object store, node and controllers; a pool of sandboxes warms up",
  "not root": `object store only: running sandboxes needs root. Pods are kept, but nothing
            runs them. Start with sudo to have them run`,
  "switched off": "object store only, as asked for with --no-sandboxes",
};

/** What people read when AgentBox has started: what runs, where, and what to do next. */
export function startText({ version, home, address, logFile, sandboxes, gateway, firstKey, tries }: StartFacts): string {
  return `AgentBox ${version} is running.

  Runs      ${runs[sandboxes]}
${sandboxes === "running" ? `  Console   ${address}/   (sign in with the key)\n` : ""}  API       ${address}/v1
  Gateway   ${gatewayText(gateway)}
  Key       ${keyText(home, firstKey)}
  Data      ${home.folder}
  Objects   ${home.socketPath}   (unix socket, for this user only)
  Health    ${address}/healthz
  Metrics   ${address}/metrics
  Log       ${logFile ?? "here, on stderr"}

Try, in another terminal:
${tries.map((line) => `  ${line}`).join("\n")}

Ctrl-C stops it.
`;
}

function gatewayText(gateway: StartFacts["gateway"]): string {
  if (gateway === undefined) return "none: there are no sandboxes to reach";
  return `${gateway.address}   and   https://<port>-<sandbox id>.${gateway.domain}`;
}

function keyText(home: HomeFolder, firstKey: string | undefined): string {
  if (firstKey === undefined) return `${home.adminKeyFile}   (or: agentbox key create)`;
  return `${firstKey}
            (admin; shown only once, and stored for this user in ${home.adminKeyFile})`;
}
