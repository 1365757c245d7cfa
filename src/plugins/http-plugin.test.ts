import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { hooks } from "./call-plugin.ts";
import { httpPlugin } from "./http-plugin.ts";
import type { PluginChain } from "./plugin.ts";
import { openPluginChain } from "./plugin-chain.ts";
import { isSignatureGood, signatureHeader, signatureOf, timestampHeader } from "./http-plugin.ts";

const secret = "a secret of enough letters";
const { signal } = new AbortController();
const pool: SandboxPool = { metadata: { namespace: "default", name: "py" }, spec: { replicas: 3 } };
const pod: Pod = { metadata: { name: "py-x" }, spec: { containers: [{ name: "main" }] } };

interface Endpoint extends AsyncDisposable {
  readonly chain: PluginChain;
  readonly bodies: readonly string[];
  /** Of the log. */
  readonly lines: readonly object[];
}

type Answer = (body: string, response: ServerResponse, request: IncomingMessage) => void;

async function endpoint(answer: Answer, deadlineMs = 5000): Promise<Endpoint> {
  const bodies: string[] = [];
  const { log, lines } = recordedLog();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    bodies.push(Buffer.concat(parts).toString());
    answer(bodies.at(-1) ?? "", response, request);
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
  const plugin = httpPlugin({ name: "remote", url, secret, hooks, clock: systemClock });
  const chain = openPluginChain([plugin], {
    clock: systemClock,
    log,
    metrics: prometheusMetrics(new Registry()),
    deadlineMs,
  });
  return {
    chain,
    bodies,
    lines,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const json = (response: ServerResponse, body: unknown): void => void response.writeHead(200).end(JSON.stringify(body));

test("a hook is one signed request with the object, and its answer is the verdict", async () => {
  let isGood = false;
  await using at = await endpoint((body, response, { headers, method }) => {
    const [timestamp, signature] = [String(headers[timestampHeader]), String(headers[signatureHeader])];
    isGood = method === "POST" && isSignatureGood(secret, { body, timestamp, signature }, Date.now());
    const { object } = JSON.parse(body) as { object: SandboxPool };
    json(response, { object: { ...object, metadata: { ...object.metadata, annotations: { seen: "yes" } } } });
  });
  expect(await at.chain.preCreatePool(pool, signal)).toMatchObject({ object: { metadata: { annotations: { seen: "yes" } } } });
  expect(isGood).toBe(true);
  expect(at.bodies.map((body) => JSON.parse(body) as unknown)).toEqual([{ hook: "preCreatePool", object: pool }]);
});

test("a pod is sent with its pool", async () => {
  await using at = await endpoint((body, response) => json(response, { object: (JSON.parse(body) as { object: Pod }).object }));
  expect(await at.chain.preCreatePod(pod, pool, signal)).toEqual({ object: pod });
  expect(at.bodies.map((body) => JSON.parse(body) as unknown)).toEqual([{ hook: "preCreatePod", object: pod, pool }]);
});

test("a refusal comes with what would fit", async () => {
  const refusal = { kind: "InsufficientResources", message: "full", wouldFit: 2, retryAfterMs: 2500 };
  await using at = await endpoint((_, response) => json(response, { refusal }));
  expect(await at.chain.preUpdatePool(pool, signal)).toEqual({ refusal: { ...refusal, plugin: "remote" } });
});

test.each<[string, Answer, RegExp]>([
  ["fails", (_, response) => void response.writeHead(500).end("sick"), /answered 500: sick/],
  ["sends elsewhere", (_, response) => void response.writeHead(307, { location: "http://127.0.0.1:1/" }).end(), /cannot be reached/],
  ["answers no JSON", (_, response) => void response.end("hello"), /not JSON/],
  ["never stops answering", (_, response) => void response.end(Buffer.alloc(3 * 2 ** 20, 32)), /longer than/],
  ["hangs up", (_, response) => void response.destroy(), /cannot be reached/],
])("an endpoint that %s has refused, with its name; only the log says what it did", async (_, answer, why) => {
  await using at = await endpoint(answer);
  expect(await at.chain.preCreatePool(pool, signal)).toEqual({
    refusal: { kind: "Internal", plugin: "remote", message: "preCreatePool failed; the server's log says why" },
  });
  expect(at.lines).toEqual([expect.objectContaining({ plugin: "remote", why: expect.stringMatching(why) as string })]);
});

test("an endpoint that does not answer in time has refused", async () => {
  await using at = await endpoint(() => {}, 50);
  expect(await at.chain.preCreatePool(pool, signal)).toMatchObject({
    refusal: { message: expect.stringMatching(/^preCreatePool gave no answer within/) as string },
  });
});

test("a signature is good for this body, this secret and these minutes only", () => {
  const [body, timestamp, nowMs] = ["{}", "1000", 1_000_000];
  const signature = signatureOf(secret, { body, timestamp });
  expect(isSignatureGood(secret, { body, timestamp, signature }, nowMs)).toBe(true);
  expect(isSignatureGood("another secret", { body, timestamp, signature }, nowMs)).toBe(false);
  expect(isSignatureGood(secret, { body: "{ }", timestamp, signature }, nowMs)).toBe(false);
  expect(isSignatureGood(secret, { body, timestamp, signature }, nowMs + 301_000)).toBe(false);
  expect(isSignatureGood(secret, { body, timestamp, signature: "" }, nowMs)).toBe(false);
  expect(isSignatureGood(secret, { body, timestamp: "no time", signature }, nowMs)).toBe(false);
});
