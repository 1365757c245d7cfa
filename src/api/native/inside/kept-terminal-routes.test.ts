import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { NativeApi } from "../../../../test/world/native-api.ts";
import type { Caller } from "#services/caller.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import type { JoinTerminal } from "#services/inside/kept-terminals.ts";
import { ServiceError } from "#services/service-error.ts";
import { keptTerminalRoutes } from "./kept-terminal-routes.ts";

const { privateKey } = generateKeyPairSync("ed25519");

/** With a sandbox s1 of ann's, which has the terminal 7. */
async function open() {
  const did: unknown[] = [];
  const own = ({ user }: Caller, sandboxId: string): void => {
    if (user !== "ann" || sandboxId !== "s1") throw new ServiceError("not_found", `there is no sandbox "${sandboxId}"`);
  };
  const stdout = new PassThrough();
  const inside = {
    startTerminal: async (caller: Caller, id: string, wanted: object) => (own(caller, id), did.push(wanted), 7),
    listTerminals: async (caller: Caller, id: string) => (own(caller, id), [{ pid: 7, command: ["sh"] }]),
    endTerminal: async (caller: Caller, id: string, wanted: object) => (own(caller, id), void did.push(wanted)),
    joinTerminal: async (caller: Caller, id: string, wanted: JoinTerminal) => {
      own(caller, id);
      did.push(wanted);
      return {
        stdin: new PassThrough(),
        stdout,
        stderr: new PassThrough().end(),
        resize: () => {},
        exitCode: new Promise<number>(() => {}),
      };
    },
  };
  const api = await NativeApi.over(({ clock, log, keys }) => {
    const joinTokens = new ExecTokens<JoinTerminal>({ clock, privateKey, purpose: "join", keys });
    return keptTerminalRoutes({ inside, joinTokens, clock, log });
  });
  return { api, did, stdout, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

test("a terminal is started, listed and ended by its process id", async () => {
  await using bench = await open();
  const started = await bench.api.ask("POST /v1/sandboxes/s1/terminals", { body: { command: ["sh"], rows: 30 } });
  expect([started.status, started.json]).toEqual([201, { pid: 7 }]);
  expect((await bench.api.ask("GET /v1/sandboxes/s1/terminals")).json).toEqual({ terminals: [{ pid: 7, command: ["sh"] }] });
  expect((await bench.api.ask("DELETE /v1/sandboxes/s1/terminals/7")).status).toBe(204);
  expect(bench.did).toEqual([{ argv: ["sh"], rows: 30, cols: 80 }, { pid: 7 }]);
});

test("I8: another tenant's terminals are as if the sandbox did not exist, and a token is given for a terminal that is there", async () => {
  await using bench = await open();
  for (const what of ["GET /v1/sandboxes/s1/terminals", "DELETE /v1/sandboxes/s1/terminals/7"]) {
    expect((await bench.api.ask(what, { by: "eve" })).status).toBe(404);
  }
  const token = async (pid: string, by: "ann" | "eve"): Promise<number> =>
    (await bench.api.ask(`POST /v1/sandboxes/s1/terminals/${pid}/token`, { by, body: {} })).status;
  expect(await Promise.all([token("7", "eve"), token("8", "ann"), token("-1", "ann"), token("x", "ann")])).toEqual([404, 404, 400, 400]);
});

test("joining with a token shows what the terminal writes; the token is for this terminal, once", async () => {
  await using bench = await open();
  const url = (await bench.api.listen()).replace("http", "ws");
  const answer = await bench.api.ask("POST /v1/sandboxes/s1/terminals/7/token", { body: { rows: 30, cols: 100 } });
  const { path } = answer.json as { readonly path: string };
  const refused = new WebSocket(url + path.replace("/terminals/7/", "/terminals/8/"));
  const [, response] = (await once(refused, "unexpected-response")) as [unknown, { readonly statusCode: number }];
  expect(response.statusCode).toBe(401);
  refused.on("error", () => {});
  refused.terminate();
  const { path: fresh } = (await bench.api.ask("POST /v1/sandboxes/s1/terminals/7/token", { body: { rows: 30, cols: 100 } })).json as {
    readonly path: string;
  };
  const socket = new WebSocket(url + fresh);
  await once(socket, "open");
  const message = once(socket, "message");
  bench.stdout.write("hello");
  expect(String((await message)[0])).toBe("hello");
  expect(bench.did).toEqual([{ pid: 7, rows: 30, cols: 100 }]);
  socket.terminate();
});
