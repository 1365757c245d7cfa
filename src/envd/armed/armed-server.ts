/** What an armed daemon serves. Loaded when the first sandbox comes: a waiting daemon does without. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { systemClock } from "#lib/clock.ts";
import { Accounts } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { serveRpc, type Handlers } from "#envd/connect/rpc-server.ts";
import { serveFiles } from "#envd/files/file-service.ts";
import { MetadataStore } from "#envd/files/metadata.ts";
import { filesystemHandlers } from "#envd/filesystem/filesystem-service.ts";
import { sandboxVariables } from "#envd/process/environment.ts";
import { ProcessService } from "#envd/process/process-service.ts";
import { forwardPorts } from "#envd/ports/forward-ports.ts";
import { accountOf } from "#envd/accounts/caller.ts";
import { hasToken } from "./access-token.ts";
import { allowBrowsers } from "./browsers.ts";
import { runEntrypoint } from "./entrypoint.ts";
import { sendError, sendJson } from "./http-answer.ts";
import { MetricsReader } from "./metrics.ts";

export interface ArmedOptions {
  readonly state: ArmedState;
  /** Where the step runner is. */
  readonly runner: string;
  /** What the image would have run, as JSON. */
  readonly entrypoint?: string;
  /** Where the daemon listens, if it is the sandbox's to forward the ports of others. */
  readonly forwardsBeside?: number;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Called once, when the daemon has been armed. */
export function armedHandler({ state, runner, entrypoint, forwardsBeside }: ArmedOptions): RequestHandler {
  const clock = systemClock;
  const accounts = new Accounts();
  const processes = new ProcessService({ state, accounts, clock, runner });
  const metadata = new MetadataStore(runner);
  const handlers = merged(processes.handlers, filesystemHandlers({ state, accounts, clock, runner, metadata }));
  const metrics = new MetricsReader();
  runEntrypoint(entrypoint, state, accountOf(accounts, { defaultUser: accounts.userName(process.getuid?.() ?? 0) }, undefined));
  if (forwardsBeside !== undefined) forwardPorts(clock, forwardsBeside);
  const answer: RequestHandler = async (request, response) => {
    if (allowBrowsers(request, response)) return;
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (await serveFiles({ state, accounts, metadata, clock }, request, response)) return;
    if (!hasToken(state, request))
      return sendError(response, 401, "unauthorized access, please provide a valid access token or method signing if supported");
    if (path === "/envs") return sendJson(response, 200, sandboxVariables(state.sandboxId ?? "", state.init.envVars));
    if (path === "/metrics") return sendJson(response, 200, await metrics.read(clock.now()));
    if (await serveRpc(handlers, request, response)) return;
    sendError(response, 404, `there is nothing at ${path}`);
  };
  return async (request, response) => {
    try {
      await answer(request, response);
    } finally {
      // What was not wanted of a body would stand in the way of the next request.
      request.resume();
    }
  };
}

function merged(left: Handlers, right: Handlers): Handlers {
  return {
    unary: { ...left.unary, ...right.unary },
    streamOut: { ...left.streamOut, ...right.streamOut },
    streamIn: { ...left.streamIn, ...right.streamIn },
  };
}
