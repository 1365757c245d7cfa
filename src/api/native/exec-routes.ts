/** Commands and terminals in sandboxes. */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ExecTokens } from "#services/exec-tokens.ts";
import { runCommand } from "#services/run-command.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { requestSignal, streamSignal } from "../http/request-signal.ts";
import { isUpgrade } from "../http/upgrades.ts";
import { spanMs } from "./create-command.ts";
import { type Exchange, type Route, route } from "./route.ts";
import {
  execResultSchema,
  execSchema,
  type ExecTokenBody,
  execTokenResultSchema,
  execTokenSchema,
  terminalQuery,
} from "./schemas/execution.ts";
import { sandboxParams } from "./schemas/sandbox.ts";
import { openTerminal } from "./terminal.ts";

export interface ExecRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly execTokens: ExecTokens<ExecRequest>;
  readonly clock: Clock;
  readonly log: Logger;
}

export function execRoutes(deps: ExecRoutesDeps): readonly Route[] {
  return [runToEnd(deps), giveToken(deps), terminal(deps)];
}

function runToEnd(deps: ExecRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/exec",
    name: "runCommand",
    summary: "Run a command in a sandbox to its end",
    description: "Whoever goes away before ends it.",
    params: sandboxParams,
    body: execSchema,
    answers: [{ status: 200, description: "It has ended, whatever its exit code.", schema: execResultSchema }],
    errors: ["not_found", "conflict", "timeout"],
    handle: ({ caller, params, body, reply }) => {
      const { command: argv, timeout, ...rest } = body;
      const command = { ...params, argv, ...rest, ...withoutUndefined({ timeoutMs: spanMs(timeout) }) };
      return runCommand(deps, caller(), command, requestSignal(reply));
    },
  });
}

/** A login shell, and the better one of the two where there is one. */
const shell = ["/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi"];

function giveToken({ sandboxes, execTokens }: ExecRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/exec-token",
    name: "openTerminal",
    summary: "Get the right to open one terminal in a sandbox",
    description: "For whoever cannot send a key with a WebSocket, such as a browser. Good for 30 seconds and one use.",
    params: sandboxParams,
    body: execTokenSchema,
    answers: [{ status: 201, description: "The right.", schema: execTokenResultSchema }],
    errors: ["not_found", "conflict"],
    handle: async ({ caller, params: { sandboxId }, body }) => {
      // Nobody is given a right to what is not there, or not his.
      await sandboxes.view(caller(), sandboxId);
      const granted = execTokens.issue({ caller: caller(), sandboxId, command: terminalCommand(body) });
      return { ...granted, path: `/v1/sandboxes/${sandboxId}/terminal?token=${granted.token}` };
    },
  });
}

function terminalCommand({ command = shell, rows = 24, cols = 80, env, ...rest }: ExecTokenBody): ExecRequest {
  return { argv: command, tty: { rows, cols }, env: { TERM: "xterm-256color", ...env }, ...rest };
}

function terminal(deps: ExecRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/terminal",
    name: "terminal",
    summary: "A terminal in a sandbox, as a WebSocket",
    description:
      'What it writes comes as binary frames. It is sent text frames of JSON: {"type":"stdin","data":"ls\\n"} and ' +
      '{"type":"resize","rows":24,"cols":80}. At its end it sends {"type":"exit","exitCode":0} and closes.',
    params: sandboxParams,
    query: terminalQuery,
    answers: [{ status: 101, description: "It is open." }],
    errors: ["not_found", "conflict"],
    // The token says who asks.
    public: true,
    handle: async ({ params: { sandboxId }, query: { token }, request, reply }) => {
      checkHandshake(request, reply);
      const grant = deps.execTokens.redeem(token, sandboxId);
      if (grant === undefined) {
        throw new ServiceError(
          "unauthenticated",
          "this terminal token was used, is older than 30 seconds, or never was one: get a new one",
        );
      }
      const signal = streamSignal(request, reply);
      const start = (ended: AbortSignal) => deps.sandboxes.exec(grant.caller, sandboxId, { ...grant.command, signal: ended });
      return openTerminal({ ...deps, sandboxId, start }, reply, signal);
    },
  });
}

function checkHandshake({ headers }: Exchange["request"], reply: Exchange["reply"]): void {
  if (!isUpgrade(reply)) {
    throw new ServiceError("invalid_request", "this is a WebSocket: connect to it with ws:// or wss://", { field: "header.upgrade" });
  }
  // Browsers let every page open WebSockets anywhere, and say which page it was.
  if (headers.origin !== undefined && hostOf(headers.origin) !== headers.host) {
    throw new ServiceError("forbidden", "terminals are not for pages of other servers", { field: "header.origin" });
  }
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
}
