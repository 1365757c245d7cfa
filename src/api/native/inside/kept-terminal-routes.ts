/** Terminals that go on without a connection: start, list, join and end them. */
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { text } from "#model/schema-builders.ts";
import type { ExecTokens } from "#services/inside/exec-tokens.ts";
import type { JoinTerminal } from "#services/inside/kept-terminals.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import { ServiceError } from "#services/service-error.ts";
import { noteSubject } from "#api/http/observe-requests.ts";
import { requestSignal, streamSignal } from "#api/http/request-signal.ts";
import { enterAs } from "#api/http/team-gate.ts";
import { type Route, route } from "#api/native/route.ts";
import { closed, named, open } from "#api/native/schemas/builders.ts";
import { execTokenResultSchema, keptTerminalSchema, terminalQuery, terminalSizeSchema } from "#api/native/schemas/execution.ts";
import { sandboxParams } from "#api/native/schemas/sandbox.ts";
import { checkHandshake, shell } from "./exec-routes.ts";
import { openTerminal } from "./terminal.ts";

export interface KeptTerminalRoutesDeps {
  readonly inside: Pick<SandboxInside, "startTerminal" | "listTerminals" | "endTerminal" | "joinTerminal">;
  /** Rights to join a terminal, for clients that cannot send a key with a WebSocket. */
  readonly joinTokens: ExecTokens<JoinTerminal>;
  readonly clock: Clock;
  readonly log: Logger;
}

const pid = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: "Process id of the terminal's command in the sandbox." });
/** Paths have texts. */
const pidText = text("Process id of the terminal's command in the sandbox.", { pattern: "^[1-9][0-9]{0,9}$" });
const terminalParams = closed({ ...sandboxParams.properties, pid: pidText }, "Which terminal.");
const terminalSchema = named(
  "Terminal",
  open({ pid, command: Type.Array(Type.String(), { description: "Program and arguments." }) }, "A terminal that runs."),
);
const errors = ["not_found", "conflict"] as const;

export function keptTerminalRoutes(deps: KeptTerminalRoutesDeps): readonly Route[] {
  return [startRoute(deps), listRoute(deps), endRoute(deps), tokenRoute(deps), joinRoute(deps)];
}

function startRoute({ inside }: KeptTerminalRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/terminals",
    name: "startTerminal",
    summary: "Start a terminal that goes on without a connection",
    description:
      "It runs until its command ends, or the sandbox. Clients join and leave it. It counts as use of the sandbox while a client is connected.",
    params: sandboxParams,
    body: keptTerminalSchema,
    answers: [{ status: 201, description: "It runs.", schema: open({ pid }, "The terminal.") }],
    errors,
    handle: async ({ caller, params, body, request, reply }) => {
      const { command: argv = shell, rows = 24, cols = 80, ...rest } = body;
      const started = await inside.startTerminal(caller(), params.sandboxId, { argv, rows, cols, ...rest }, requestSignal(reply));
      noteSubject(request, { pid: String(started) });
      return { pid: started };
    },
  });
}

function listRoute({ inside }: KeptTerminalRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/terminals",
    name: "listTerminals",
    summary: "List the terminals of a sandbox that go on without a connection",
    description: "Those that were started here, and those of E2B's SDKs (`sandbox.pty`).",
    params: sandboxParams,
    answers: [{ status: 200, description: "All of them.", schema: open({ terminals: Type.Array(terminalSchema) }, "Terminals.") }],
    errors,
    handle: async ({ caller, params, reply }) => ({
      terminals: await inside.listTerminals(caller(), params.sandboxId, {}, requestSignal(reply)),
    }),
  });
}

function endRoute({ inside }: KeptTerminalRoutesDeps): Route {
  return route({
    method: "DELETE",
    path: "/sandboxes/{sandboxId}/terminals/{pid}",
    name: "endTerminal",
    summary: "End a terminal and its command",
    params: terminalParams,
    answers: [{ status: 204, description: "It ends." }],
    errors,
    handle: async ({ caller, params, reply }) => {
      await inside.endTerminal(caller(), params.sandboxId, { pid: Number(params.pid) }, requestSignal(reply));
    },
  });
}

function tokenRoute({ inside, joinTokens }: KeptTerminalRoutesDeps): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/terminals/{pid}/token",
    name: "openJoin",
    summary: "Create a token that joins a terminal",
    description: "For clients such as browsers, which cannot send a key with a WebSocket. The token is valid for 30 seconds and one use.",
    params: terminalParams,
    body: terminalSizeSchema,
    answers: [{ status: 201, description: "The right.", schema: execTokenResultSchema }],
    errors,
    handle: async ({ caller, params, body: { rows = 24, cols = 80 }, reply }) => {
      const { sandboxId } = params;
      const wanted = Number(params.pid);
      // Fails for another tenant's sandbox, so that no token is issued for it.
      const terminals = await inside.listTerminals(caller(), sandboxId, {}, requestSignal(reply));
      if (!terminals.some((one) => one.pid === wanted)) throw new ServiceError("not_found", `the sandbox has no terminal ${wanted}`);
      const granted = joinTokens.issue({ caller: caller(), sandboxId, command: { pid: wanted, rows, cols } });
      return { ...granted, path: `/v1/sandboxes/${sandboxId}/terminals/${wanted}/join?token=${granted.token}` };
    },
  });
}

function joinRoute(deps: KeptTerminalRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/terminals/{pid}/join",
    name: "joinTerminal",
    summary: "Join a terminal, as a WebSocket",
    description:
      "Messages as for a terminal that ends with its connection. The first output is what the terminal wrote last, up to 64 KiB. When the client disconnects, " +
      "the terminal goes on. Several clients may be connected; the size is that of the one that set it last.",
    params: terminalParams,
    query: terminalQuery,
    answers: [{ status: 101, description: "It is open." }],
    errors,
    // The token identifies the caller.
    public: true,
    handle: async ({ params: { sandboxId, pid: wanted }, query: { token }, request, reply }) => {
      checkHandshake(request, reply);
      const grant = deps.joinTokens.redeem(token, sandboxId);
      if (grant === undefined || grant.command.pid !== Number(wanted)) {
        throw new ServiceError(
          "unauthenticated",
          "this token is invalid: it was used, is older than 30 seconds, or its key was revoked. Request a new one",
        );
      }
      enterAs(grant.caller, reply);
      const signal = streamSignal(request, reply, grant.caller.keyId);
      const start = (ended: AbortSignal) => deps.inside.joinTerminal(grant.caller, sandboxId, grant.command, ended);
      return openTerminal({ ...deps, sandboxId, start }, reply, signal);
    },
  });
}
