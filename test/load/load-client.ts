/**
 * One client of a server that is killed again and again: creates a sandbox, uses it, ends it, and notes the answers. What it cannot know it asks again, as
 * any client would: a create with the same idempotency key, a delete until it is answered.
 */
import { randomUUID } from "node:crypto";
import { ClientError } from "#client/client-error.ts";
import type { AgentBoxClient } from "#client/agentbox-client.ts";
import type { CreatedSandbox } from "#client/sandbox-types.ts";

export interface LoadDeps {
  /** The server as it is now: its address changes with every start. */
  readonly client: () => Promise<AgentBoxClient>;
  readonly poolName: string;
  readonly told: LoadLog;
  readonly signal: AbortSignal;
}

/** What all users were told, and what they found wrong. */
export class LoadLog {
  /** Ids given to clients, with the client. */
  readonly given = new Map<string, string>();
  readonly failed = new Map<string, number>();
  readonly problems: string[] = [];
  /** The current user of each pod. */
  readonly #usersOfPods = new Map<string, string>();
  ended = 0;
  repeated = 0;

  take(sandboxId: string, podName: string, user: string): void {
    const before = this.given.get(sandboxId);
    if (before !== undefined) this.problems.push(`I1: sandbox ${sandboxId} was given to ${before} and to ${user}`);
    this.given.set(sandboxId, user);
    const other = this.#usersOfPods.get(podName);
    if (other !== undefined) this.problems.push(`I1: pod ${podName} carries ${other} and was given for ${sandboxId}`);
    this.#usersOfPods.set(podName, sandboxId);
  }

  leave(podName: string): void {
    this.#usersOfPods.delete(podName);
  }

  fail(code: string): void {
    this.failed.set(code, (this.failed.get(code) ?? 0) + 1);
  }
}

/** Until the signal: one sandbox after the other. */
export async function runUser(deps: LoadDeps, user: string): Promise<void> {
  while (!deps.signal.aborted) {
    const created = await create(deps);
    if (created === undefined) continue;
    const { sandboxId, podName } = created.sandbox;
    deps.told.take(sandboxId, podName, user);
    await use(deps, sandboxId);
    deps.told.leave(podName);
    await until(deps, (client) => client.sandboxes.end(sandboxId));
    deps.told.ended++;
  }
}

/** Undefined when it was refused, or when all is over. */
async function create(deps: LoadDeps): Promise<CreatedSandbox | undefined> {
  const idempotencyKey = randomUUID();
  try {
    return await until(deps, (client) => client.sandboxes.create({ poolName: deps.poolName, startupTimeout: "15s" }, { idempotencyKey }));
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    deps.told.fail(error.code);
    if (error.code === "internal") deps.told.problems.push(`a create was answered: ${error.message}`);
    await pause((error.details.retryAfterSeconds ?? 1) * 1000);
    return undefined;
  }
}

/** Prints the mark that is there; else makes one in both places where a user would. A repeated run finds its own. */
const mark = 'for f in /tmp/mark "$HOME/mark"; do [ -e "$f" ] || echo "$1" > "$f"; cat "$f"; done';

/** Leaves a mark, after checking that no earlier user left one (I2). */
async function use(deps: LoadDeps, sandboxId: string): Promise<void> {
  try {
    const { stdout, exitCode } = await until(deps, (client) =>
      client.sandboxes.exec(sandboxId, { command: ["sh", "-c", mark, "sh", sandboxId] }),
    );
    if (stdout !== `${sandboxId}\n${sandboxId}\n` || exitCode !== 0) {
      deps.told.problems.push(`I2: sandbox ${sandboxId} was not clean: ${JSON.stringify(stdout)} ${exitCode}`);
    }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    deps.told.problems.push(`I11: sandbox ${sandboxId} could not be used: ${error.code} ${error.message}`);
  }
}

/** Repeats while the server does not answer: it is being killed, and comes back. */
async function until<Result>(deps: LoadDeps, call: (client: AgentBoxClient) => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await call(await deps.client());
    } catch (error) {
      if (!isWorthAnother(error) || tries > 600) throw error;
      deps.told.repeated++;
      await pause(100);
    }
  }
}

function isWorthAnother(error: unknown): boolean {
  if (!(error instanceof ClientError)) return error instanceof TypeError || (error as Error).name === "AbortError";
  if (error.code === "unreachable" || error.code === "unavailable") return true;
  // Under way under the same key: by a server that was killed meanwhile, or by the present one.
  return error.code === "conflict" && error.message.includes("under way");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
