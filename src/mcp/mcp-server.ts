/**
 * The MCP server: tools and resources for one request, or one connection, of one caller. The SDK speaks the protocol's versions.
 *
 * - `tool.ts`        what a tool is           - `sandboxes.ts`      what tools need of sandboxes
 * - `life-tools.ts`  sandboxes themselves     - `command-tools.ts`  commands and code
 * - `file-tools.ts`  files                    - `inputs.ts`         what several of them take
 * - `clip.ts`        outputs within bounds    - `edit-text.ts`      edits of a text
 * - `limits.ts`      the bounds               - `resources.ts`      files and logs as resources
 * - `session-mark.ts` what a session made     - `mcp-http.ts`       the server behind HTTP
 */
import {
  type CallToolResult,
  fromJsonSchema,
  McpServer,
  type ServerContext,
  type ServerOptions,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { Clock } from "#lib/clock.ts";
import { commandTools } from "./command-tools.ts";
import { fileTools } from "./file-tools.ts";
import { lifeTools } from "./life-tools.ts";
import { addResources } from "./resources.ts";
import type { ToolSandboxes } from "./sandboxes.ts";
import { failedResult, type McpSession, type Tool, type ToolCall, ToolFailure } from "./tool.ts";

export interface McpServerDeps {
  readonly sandboxes: ToolSandboxes;
  readonly session: McpSession;
  readonly version: string;
  readonly clock: Pick<Clock, "now">;
  /** Aborted when the caller is gone: nothing that was started for it goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Told what a tool failed of when that is a mistake of ours; the client is told nothing of it. */
  readonly onDefect: (error: unknown, tool: string) => void;
}

export const tools: readonly Tool[] = [...lifeTools, ...commandTools, ...fileTools];

const instructions =
  "Isolated Linux sandboxes. Make one with create_sandbox, and give its sandboxId to the other tools. Run commands with run_command; run_code " +
  "keeps variables between calls and needs a sandbox of the pool code-interpreter-v1. Sandboxes that this session makes end with it unless keep is true.";

/** Compiled once: servers are made for every request. */
const schemas = new Map<string, StandardSchemaWithJSON<never, never>>();

function schemaOf({ name, input }: Tool): StandardSchemaWithJSON<never, never> {
  const known = schemas.get(name) ?? fromJsonSchema<never>(input);
  schemas.set(name, known);
  return known;
}

/** `options`: of the protocol's library, for tools beside ours. */
export function mcpServer(deps: McpServerDeps, options: ServerOptions = {}): McpServer {
  const server = new McpServer({ name: "agentbox", title: "AgentBox", version: deps.version }, { instructions, ...options });
  for (const one of tools) if (one.readOnly || !deps.session.readOnly) addTool(server, one, deps);
  addResources(server, deps);
  return server;
}

function addTool(server: McpServer, one: Tool, deps: McpServerDeps): void {
  const { name, title, description, readOnly, destructive } = one;
  const annotations = { title, readOnlyHint: readOnly, destructiveHint: destructive, openWorldHint: false };
  server.registerTool(name, { title, description, annotations, inputSchema: schemaOf(one) }, async (input: never, context) => {
    const call = callOf(deps, context);
    try {
      return await one.run(input, call);
    } catch (error) {
      return failure(deps, one, call, error);
    }
  });
}

function failure({ onDefect }: McpServerDeps, { name }: Tool, { signal }: ToolCall, error: unknown): CallToolResult {
  if (error instanceof ToolFailure) return failedResult(error.message);
  if (signal.aborted) return failedResult("canceled");
  onDefect(error, name);
  return failedResult("something went wrong inside AgentBox; its log has the reason");
}

/** Between two notices of progress, in milliseconds. */
const progressEvery = 100;

function callOf({ sandboxes, session, clock, signal }: McpServerDeps, { mcpReq }: ServerContext): ToolCall {
  // oxlint-disable-next-line no-underscore-dangle -- the protocol's name
  const progressToken = mcpReq._meta?.progressToken;
  let [told, lastMs] = [0, -Infinity];
  return {
    sandboxes,
    session,
    signal: signal === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, signal]),
    progress: (message) => {
      const nowMs = clock.now();
      if (progressToken === undefined || nowMs - lastMs < progressEvery) return;
      [told, lastMs] = [told + 1, nowMs];
      mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: told, message } }).catch(() => {});
    },
  };
}
