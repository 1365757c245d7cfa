import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ArmedState } from "#envd/armed-state.ts";
import { noProgram } from "#envd/own-program.ts";
import { envdServer } from "#envd/server.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { type DaemonAddress, type DaemonClient, DaemonError, type InitOrder } from "./daemon-client.ts";
import { httpDaemonClient } from "./http-daemon-client.ts";
import { openPodHttp } from "./pod-http.ts";

const keys = generateKeyPairSync("ed25519");
const order: InitOrder = { podUid: "pod-1", bootId: "boot-1", sandboxId: "s1", body: { accessToken: "t", envVars: { A: "1" } } };

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

async function listening(server: Server, ip = "127.0.0.1"): Promise<DaemonAddress> {
  await new Promise<void>((resolve) => server.listen(0, ip, resolve));
  parts.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { ip, port: (server.address() as AddressInfo).port };
}

function aDaemon(ip?: string): Promise<DaemonAddress> {
  return listening(
    envdServer(
      { podUid: "pod-1", bootId: "boot-1", controlPlaneKey: publicKeyText(keys.publicKey) },
      { state: new ArmedState(), helper: "", program: noProgram, endProcesses: async () => true },
    ),
    ip,
  );
}

function aClient(privateKey = keys.privateKey): DaemonClient {
  const http = openPodHttp();
  parts.defer(() => http.close());
  return httpDaemonClient({ http, privateKey });
}

async function failure(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DaemonError)) throw new Error(`not a DaemonError: ${String(error)}`);
  return error.failure;
}

test("a waiting daemon reports its identity, and after an order its sandbox", async () => {
  const [at, client] = [await aDaemon(), aClient()];
  expect(await client.health(at)).toEqual({ podUid: "pod-1", bootId: "boot-1" });
  await client.init(at, order);
  expect(await client.health(at)).toEqual({ podUid: "pod-1", bootId: "boot-1", sandboxId: "s1" });
});

test("an order that is repeated is a success, one for another sandbox finds the daemon taken", async () => {
  const [at, client] = [await aDaemon(), aClient()];
  await client.init(at, order);
  await client.init(at, order);
  expect(await failure(client.init(at, { ...order, sandboxId: "s2" }))).toBe("taken");
});

test("an order for another boot is told from one that is refused", async () => {
  const [at, client] = [await aDaemon(), aClient()];
  expect(await failure(client.init(at, { ...order, bootId: "boot-0" }))).toBe("other-boot");
  expect(await failure(client.init(at, { ...order, body: { accessToken: "x".repeat(1024 * 1024) } }))).toBe("refused");
  expect((await client.health(at)).sandboxId).toBeUndefined();
});

test("a daemon at an IPv6 address is asked there", async () => {
  const [at, client] = [await aDaemon("::1"), aClient()];
  expect((await client.health(at)).podUid).toBe("pod-1");
});

describe("a daemon that does not answer is unreachable:", () => {
  test("no program listens", async () => {
    const at = await aDaemon();
    await parts.disposeAsync();
    parts = new AsyncDisposableStack();
    expect(await failure(aClient().health(at))).toBe("unreachable");
  });

  test("it hangs up", async () => {
    const at = await listening(createServer((request) => request.socket.destroy()));
    expect(await failure(aClient().init(at, order))).toBe("unreachable");
  });

  test("it fails", async () => {
    const at = await listening(createServer((_, response) => response.writeHead(503).end("not yet")));
    expect(await failure(aClient().init(at, order))).toBe("unreachable");
  });
});

test("another program that listens there is not taken for a daemon", async () => {
  const at = await listening(createServer((_, response) => response.end("hello")));
  expect(await failure(aClient().health(at))).toBe("refused");
});

test("a caller that aborts does not wait, and gets its own reason", async () => {
  const at = await listening(createServer(() => {}));
  const leaving = new AbortController();
  const asked = aClient().health(at, { signal: leaving.signal });
  leaving.abort(new Error("gone"));
  await expect(asked).rejects.toThrow("gone");
});

test("of an answer without end only the beginning is read", async () => {
  const server = createServer((_, response) => {
    const more = (): void => void (response.destroyed || response.write("x".repeat(8192), () => setImmediate(more)));
    more();
  });
  const http = openPodHttp();
  parts.defer(() => http.close());
  expect((await http.send(await listening(server), { method: "GET", path: "/" })).text).toBe("x".repeat(4096));
});

test("an answer that stops in the middle is waited for no longer than the request says", async () => {
  const server = createServer((_, response) => void response.write("half"));
  const http = openPodHttp();
  parts.defer(() => http.close());
  const asked = http.send(await listening(server), { method: "GET", path: "/", timeoutMs: 50 });
  await expect(asked).rejects.toThrow("no complete answer within 0.05 s");
});
