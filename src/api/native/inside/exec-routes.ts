/** Commands and terminals in sandboxes. */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ExecTokens } from "#services/inside/exec-tokens.ts";
import { runCommand } from "#services/inside/run-command.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { requestSignal, streamSignal } from "#api/http/request-signal.ts";
import { enterAs } from "#api/http/team-gate.ts";
import { isUpgrade } from "#api/http/upgrades.ts";
import { spanMs } from "#api/native/sandboxes/create-command.ts";
import { execBody } from "./exec-body.ts";
import { openExecStream } from "./exec-stream.ts";
import { type Exchange, type Route, route } from "#api/native/route.ts";
import {
  execResultSchema,
  execSchema,
  type ExecTokenBody,
  execTokenResultSchema,
  execTokenSchema,
  terminalQuery,
} from "#api/native/schemas/execution.ts";
import { sandboxParams } from "#api/native/schemas/sandbox.ts";
import { openTerminal } from "./terminal.ts";

export interface ExecRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly execTokens: ExecTokens<ExecRequest>;
  readonly clock: Clock;
  readonly log: Logger;
}

export function execRoutes(deps: ExecRoutesDeps): readonly Route[] {
  return [runToEnd(deps), stream(deps), giveToken(deps), terminal(deps)];
}

function runToEnd(deps: ExecRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/exec",
    name: "runCommand",
    summary: "Run a command in a sandbox to its end",
    description:
      "For short commands with small outputs. The answer has the first MiB of each output and says if there was more. If the caller disconnects, " +
      "the command is ended. For larger outputs or longer commands use a stream.",
    params: sandboxParams,
    body: execSchema,
    answers: [{ status: 200, description: "The command has ended, with any exit code.", schema: execResultSchema }],
    errors: ["not_found", "conflict", "timeout"],
    handle: async ({ caller, params, body, reply }) => {
      const { command: argv, timeout, stdin, stdinEncoding, ...rest } = body;
      const input = stdinEncoding === "base64" ? bytesOf(stdin ?? "") : stdin;
      const command = { ...params, argv, ...rest, ...withoutUndefined({ stdin: input, timeoutMs: spanMs(timeout) }) };
      return execBody(await runCommand(deps, caller(), command, requestSignal(reply)));
    },
  });
}

function bytesOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.toString("base64") === base64) return bytes;
  throw new ServiceError("invalid_request", "stdin is not valid base64, although stdinEncoding is base64", { field: "stdin" });
}

function stream(deps: ExecRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/exec/stream",
    name: "streamCommand",
    summary: "Run a command in a sandbox and stream its input and output, as a WebSocket",
    description:
      "The client sends the command first, as text: a StreamCommand. Then its binary messages are the command's input, and " +
      '{"type":"eof"} ends it; {"type":"signal","signal":"SIGINT"} signals the command, {"type":"close","stream":"stdout"} says that ' +
      "the client no longer reads this output. The server sends binary messages: the first byte is 1 for stdout or 2 for stderr, the rest " +
      'is the output. {"type":"taken","bytes":N} says that the command has taken N bytes of input in total; while a client is at most 1 MiB ahead of ' +
      'this number, the server reads all its messages. The last message is {"type":"exit","exitCode":0}, with startError if the command could not be started (126, ' +
      '127), or {"type":"error","code":…,"detail":…}. If neither comes, the connection broke. If the client disconnects, the command is ended.',
    params: sandboxParams,
    answers: [{ status: 101, description: "The connection is open; the client sends the command next." }],
    errors: ["not_found", "conflict"],
    handle: async ({ caller, params: { sandboxId }, request, reply }) => {
      const owner = caller();
      await deps.sandboxes.view(owner, sandboxId);
      checkHandshake(request, reply);
      const start = (command: ExecRequest) => deps.sandboxes.exec(owner, sandboxId, command);
      openExecStream({ ...deps, sandboxId, start }, reply, streamSignal(request, reply));
    },
  });
}

/** A login shell: bash if it exists, else sh. */
export const shell = ["/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi"];

function giveToken({ sandboxes, execTokens }: ExecRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/exec-token",
    name: "openTerminal",
    summary: "Create a token that opens one terminal in a sandbox",
    description: "For clients such as browsers, which cannot send a key with a WebSocket. The token is valid for 30 seconds and one use.",
    params: sandboxParams,
    body: execTokenSchema,
    answers: [{ status: 201, description: "The right.", schema: execTokenResultSchema }],
    errors: ["not_found", "conflict"],
    handle: async ({ caller, params: { sandboxId }, body }) => {
      // Fails if the sandbox does not exist or belongs to another tenant, so that no token is issued for it.
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
    summary: "Open a terminal in a sandbox, as a WebSocket",
    description:
      'The server sends the output as binary frames. The client sends JSON text frames: {"type":"stdin","data":"ls\\n"} and ' +
      '{"type":"resize","rows":24,"cols":80}. At the end the server sends {"type":"exit","exitCode":0} and closes.',
    params: sandboxParams,
    query: terminalQuery,
    answers: [{ status: 101, description: "It is open." }],
    errors: ["not_found", "conflict"],
    // The token identifies the caller.
    public: true,
    handle: async ({ params: { sandboxId }, query: { token }, request, reply }) => {
      checkHandshake(request, reply);
      const grant = deps.execTokens.redeem(token, sandboxId);
      if (grant === undefined) {
        throw new ServiceError(
          "unauthenticated",
          "this terminal token is invalid: it was used, is older than 30 seconds, or its key was revoked. Request a new one",
        );
      }
      enterAs(grant.caller, reply);
      const signal = streamSignal(request, reply, grant.caller.keyId);
      const start = (ended: AbortSignal) => deps.sandboxes.exec(grant.caller, sandboxId, { ...grant.command, signal: ended });
      return openTerminal({ ...deps, sandboxId, start }, reply, signal);
    },
  });
}

export function checkHandshake({ headers }: Exchange["request"], reply: Exchange["reply"]): void {
  if (!isUpgrade(reply)) {
    throw new ServiceError("invalid_request", "this is a WebSocket endpoint: connect with ws:// or wss://", { field: "header.upgrade" });
  }
  // Browsers let every page open WebSockets to any server, and send the page's origin.
  if (headers.origin !== undefined && hostOf(headers.origin) !== headers.host) {
    throw new ServiceError("forbidden", "pages of other servers may not open WebSockets", { field: "header.origin" });
  }
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
}
