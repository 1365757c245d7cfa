/** Recent events from two sources, oldest first: the history of sandboxes, and events of pools and Envs. */
import type { AgentBoxClient } from "#client/agentbox-client.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import type { CliContext } from "../context.ts";
import { collectSandboxes } from "./collect-sandboxes.ts";

const sandboxLimit = 500;

export interface Happening {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTime: string;
  readonly count: number;
}

export async function recentEvents(context: CliContext, client: AgentBoxClient, fromMs: number): Promise<readonly Happening[]> {
  const { signal } = context;
  const [{ found }, pools] = await Promise.all([collectSandboxes(context, client.sandboxes, {}, sandboxLimit), client.pools.list(signal)]);
  const ofPools = await Promise.all(
    pools.map(async ({ metadata: { name = "", namespace } }) => {
      const events = await client.pools.events({ name, namespace }, signal).catch(noEvents);
      return events.map((event) => ({ ...event, kind: "SandboxPool", name }));
    }),
  );
  const ofEnvs = await Promise.all(
    (await client.envs.list(undefined, signal)).map(({ metadata }) =>
      client.envs.events({ name: metadata.name ?? "", namespace: metadata.namespace }, signal).catch(noEvents),
    ),
  );
  const all = new Map([...found.flatMap(sandboxEvents), ...ofPools.flat(), ...ofEnvs.flat()].map((event) => [eventKey(event), event]));
  return [...all.values()]
    .filter(({ lastTime }) => Date.parse(lastTime) >= fromMs)
    .sort((a, b) => Date.parse(a.lastTime) - Date.parse(b.lastTime));
}

/** An Env or a pool may be deleted between the two requests. */
function noEvents(): readonly [] {
  return [];
}

function sandboxEvents(sandbox: Sandbox): readonly Happening[] {
  const { sandboxId: name, poolName, claimedAt, terminatedAt, status, failureReason, failureMessage } = sandbox;
  const base = { kind: "Sandbox", name, count: 1 };
  const made = { ...base, type: "Normal", reason: "Created", message: `out of ${poolName}`, lastTime: claimedAt };
  if (terminatedAt === undefined || !isTerminalStatus(status)) return [made];
  const isBad = failureReason !== undefined;
  const message = isBad ? [failureReason, failureMessage].filter((text) => text !== undefined).join(": ") : "has ended";
  return [made, { ...base, type: isBad ? "Warning" : "Normal", reason: status, message, lastTime: terminatedAt }];
}

export function eventKey({ kind, name, reason, message, lastTime, count }: Happening): string {
  return [kind, name, reason, message, lastTime, count].join("\n");
}
