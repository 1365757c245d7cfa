/**
 * MCP over the same use cases as the other APIs.
 *
 * - `mcp-routes.ts`  the transport
 * - `caller-sandboxes.ts`  the use cases as the tools see them
 */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { McpHttp } from "#mcp/mcp-http.ts";
import type { McpServerDeps } from "#mcp/mcp-server.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { isServiceError } from "#services/service-error.ts";
import type { ApiFace } from "#api/http/api-server.ts";
import { callerOf } from "#api/http/caller-of.ts";
import { noteSubject } from "#api/http/observe-requests.ts";
import { problemShape } from "#api/http/problem.ts";
import { callerSandboxes, type CallerSandboxesDeps } from "./caller-sandboxes.ts";
import { mcpRoutes } from "./mcp-routes.ts";
import { sessionMetadataKey } from "#mcp/session-mark.ts";
import type { Caller } from "#services/caller.ts";

export interface McpFaceDeps extends CallerSandboxesDeps {
  readonly sandboxes: SandboxService;
  readonly version: string;
  /** Host names of this server, without ports; left out: any. */
  readonly hosts?: readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export function mcpFace(deps: McpFaceDeps): ApiFace {
  const { sandboxes, version, hosts, clock, log } = deps;
  return {
    errors: problemShape,
    routes: (app) =>
      mcpRoutes<McpServerDeps>(app, {
        hosts,
        load: async () => await loadServer(log),
        contextOf: (request, session, signal) => ({
          sandboxes: callerSandboxes(deps, callerOf(request)),
          session,
          version,
          clock,
          signal,
          onDefect: (error, tool) => log.error({ error, tool, requestId: request.id }, "tool failed"),
        }),
        endSession: async (request, session) => {
          const ended = await endSession(sandboxes, callerOf(request), session);
          noteSubject(request, { ended: ended.join(",") });
        },
      }),
  };
}

async function loadServer(log: Logger): Promise<McpHttp<McpServerDeps>> {
  const [{ mcpHttp }, { mcpServer }] = await Promise.all([import("#mcp/mcp-http.ts"), import("#mcp/mcp-server.ts")]);
  return mcpHttp(mcpServer, { onError: (error) => log.info({ error: error.message }, "MCP request refused") });
}

/** Ends the sandboxes that an MCP session created and did not keep. The mark is on the sandboxes, so any process can do this, at any time and repeatedly. */
async function endSession(sandboxes: Pick<SandboxService, "list" | "end">, caller: Caller, session: string): Promise<readonly string[]> {
  const ended: string[] = [];
  let cursor: string | undefined;
  do {
    const metadata = { [sessionMetadataKey]: session };
    const page = await sandboxes.list(caller, {
      metadata,
      status: ["Starting", "Running", "Paused"],
      limit: 1000,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { sandboxId } of page.sandboxes) {
      try {
        await sandboxes.end(caller, sandboxId);
      } catch (error) {
        // Another process has ended this sandbox and its record has expired; continue with the others.
        if (!isServiceError(error) || error.code !== "not_found") throw error;
      }
      ended.push(sandboxId);
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return ended;
}
