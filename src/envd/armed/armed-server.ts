/** The HTTP server of an armed daemon. Loaded after the start, by a rehearsal or by the first request of a sandbox. */
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
  /** The program to start when the daemon is armed. */
  readonly program: OwnProgram;
  /** The daemon's ports, if the daemon forwards the loopback ports of other programs. */
  readonly forwardsBeside?: OwnPort;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Programs need time to start listening; no client waits for their port before. */
const forwardAfterMs = 500;

/** Called once, after arming. */
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
      // An unread rest of the body would block the next request of the connection.
      request.resume();
    }
  };
}

async function startEntrypoint(argv: readonly string[], state: ArmedState, accounts: Accounts): Promise<void> {
  const { runEntrypoint } = await import("./entrypoint.ts");
  runEntrypoint(argv, state, accounts.ofProcess(process.getuid?.() ?? 0, process.getgid?.() ?? 0));
}
