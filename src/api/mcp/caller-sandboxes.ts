/** Sandboxes of one caller as the MCP tools see them: the use cases, with failures described for a model. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { formatDuration } from "#model/duration.ts";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import type { CreateWish, SandboxFacts, ToolSandboxes } from "#mcp/sandboxes.ts";
import { ToolFailure } from "#mcp/tool.ts";
import { mcpLimits } from "#mcp/limits.ts";
import type { Caller } from "#services/caller.ts";
import { inTime } from "#services/inside/in-time.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import type { CreateSandbox, SandboxService, SandboxView } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import type { Clock } from "#lib/clock.ts";

export interface CallerSandboxesDeps {
  readonly sandboxes: Pick<SandboxService, "create" | "list" | "view" | "end" | "logs">;
  readonly inside: SandboxInside;
  /** The domain of the sandboxes' hosts; unknown when left out. */
  readonly domain?: string | undefined;
  readonly clock: Clock;
}

export function callerSandboxes({ sandboxes, inside, domain, clock }: CallerSandboxesDeps, caller: Caller): ToolSandboxes {
  return {
    create: async (wish, signal) => factsOf((await told(sandboxes.create(caller, createCommand(wish), { signal, wait: true }))).sandbox),
    list: async ({ limit, cursor, includeEnded }) => {
      const query = { limit, ...withoutUndefined({ cursor }), ...(!includeEnded && { status: liveSandboxStatuses }) };
      const page = await told(sandboxes.list(caller, query));
      return { sandboxes: page.sandboxes.map(factsOf), ...withoutUndefined({ next: page.next }) };
    },
    view: async (id) => factsOf(await told(sandboxes.view(caller, id))),
    end: async (id) => await told(sandboxes.end(caller, id)),
    logs: async (id, lines, signal) => await told(lastOf(sandboxes.logs(caller, id, { tail: lines, signal }))),
    run: async (id, command, signal) => await told(inside.run(caller, id, command, signal)),
    start: async (id, command, signal) => await told(inside.start(caller, id, command, signal)),
    runCode: async (id, { timeoutMs, ...code }, signal) =>
      await told(
        inTime({ clock, ms: timeoutMs, late: () => tooLong(timeoutMs), signal }, (until) => inside.runCode(caller, id, code, until)),
      ),
    readFile: async (id, wanted, signal) => await told(inside.readFile(caller, id, wanted, signal)),
    writeFile: async (id, path, bytes, signal) => await told(inside.writeFile(caller, id, { path, bytes }, signal)),
    listFolder: async (id, wanted, signal) => await told(inside.listFolder(caller, id, wanted, signal)),
    portUrl: (id, port) => (domain === undefined ? undefined : `https://${port}-${id}.${domain}`),
  };
}

function tooLong(timeoutMs: number): ServiceError {
  return new ServiceError("timeout", `the code did not end within ${formatDuration(timeoutMs)}, and was interrupted`);
}

function createCommand({ pool, ...wish }: CreateWish): CreateSandbox {
  return { from: pool, ...wish };
}

function factsOf(view: SandboxView): SandboxFacts {
  const { sandboxId, status, poolName, templateName, claimedAt, endTime, metadata, privateTraffic } = view;
  return { sandboxId, status, poolName, claimedAt, metadata, ...withoutUndefined({ templateName, endTime, privateTraffic }) };
}

async function told<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!isServiceError(error) || error.code === "internal") throw error;
    const { available, retryAfterSeconds } = error.details;
    const hints = [
      ...(available === undefined || available.length === 0 ? [] : [`there is: ${available.slice(0, 50).join(", ")}`]),
      ...(retryAfterSeconds === undefined ? [] : [`try again after ${Math.ceil(retryAfterSeconds)} s`]),
    ];
    throw new ToolFailure([error.message, ...hints].join("; "), { cause: error });
  }
}

/** The newest part: a log may be endless. */
async function lastOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  const kept = new GrowingBuffer();
  for await (const piece of pieces) {
    kept.add(piece);
    if (kept.size > 2 * mcpLimits.logs) kept.drop(kept.size - mcpLimits.logs);
  }
  return kept.view().subarray(-mcpLimits.logs).toString("utf8");
}
