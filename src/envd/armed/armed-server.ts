/** What an armed daemon serves. Loaded after the start, by a rehearsal or by the first request of a sandbox. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { systemClock } from "#lib/clock.ts";
import { Accounts } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { serveRpc } from "#envd/connect/rpc-server.ts";
import { type OwnProgram, programOf } from "#envd/own-program.ts";
import { forwardPorts, type OwnPort } from "#envd/ports/forward-ports.ts";
import { sandboxVariables } from "#envd/process/environment.ts";
import { hasToken } from "./access-token.ts";
import { allowBrowsers } from "./browsers.ts";
import { sendError, sendJson } from "./http-answer.ts";
import { LoadedParts } from "./loaded-parts.ts";

export interface ArmedOptions {
  readonly state: ArmedState;
  /** Where the helper is. */
  readonly helper: string;
  /** What is run when it is armed. */
  readonly program: OwnProgram;
  /** Where the daemon listens, if it is the sandbox's to forward the ports of others. */
  readonly forwardsBeside?: OwnPort;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** A program that listens has to be started first; until then nobody waits for its port. */
const forwardAfterMs = 500;

/** Called once, when the daemon has been armed. */
export function armedHandler({ state, helper, program, forwardsBeside }: ArmedOptions): RequestHandler {
  const clock = systemClock;
  const accounts = new Accounts();
  const parts = new LoadedParts({ state, accounts, clock, helper });
  const argv = programOf(program, state.init);
  if (argv.length > 0) void startEntrypoint(argv, state, accounts);
  if (forwardsBeside !== undefined) clock.after(forwardAfterMs, () => forwardPorts(clock, forwardsBeside));
  const answer: RequestHandler = async (request, response) => {
    if (allowBrowsers(request, response)) return;
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path.startsWith("/files") && (await parts.serveFiles(request, response))) return;
    if (!hasToken(state, request))
      return sendError(response, 401, "unauthorized access, please provide a valid access token or method signing if supported");
    if (path === "/envs") return sendJson(response, 200, sandboxVariables(state.sandboxId ?? "", state.init.envVars));
    if (path === "/metrics") return sendJson(response, 200, await (await parts.metrics()).read(clock.now()));
    if (await serveRpc((service) => parts.handlersOf(service), request, response)) return;
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

async function startEntrypoint(argv: readonly string[], state: ArmedState, accounts: Accounts): Promise<void> {
  const { runEntrypoint } = await import("./entrypoint.ts");
  runEntrypoint(argv, state, accounts.ofProcess(process.getuid?.() ?? 0, process.getgid?.() ?? 0));
}
