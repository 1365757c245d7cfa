import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import { noTracing } from "#lib/tracing.ts";
import { openTracing } from "./tracing.ts";

afterEach(() => vi.unstubAllEnvs());

test("tracing is off unless a collector is named", async () => {
  await using tracing = await openTracing({ env: {}, version: "1" });
  expect(tracing.tracer).toBe(noTracing);
});

interface SentSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceId: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly unknown[];
}

test("spans reach the collector with their children, and failed ones say so without the text of the failure", async () => {
  const sent = Promise.withResolvers<readonly SentSpan[]>();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { resourceSpans } = (await json(request)) as {
      resourceSpans: readonly { scopeSpans: readonly { spans: readonly SentSpan[] }[] }[];
    };
    sent.resolve(resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  };
  const collector = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
  const tracing = await openTracing({ env: process.env, version: "1" });
  const outcome = tracing.tracer.span("create", { pool: "base" }, async (create) => {
    create.set({ sandboxId: "i1" });
    await create.span("claim", {}, async () => {});
    await create.span("arm", {}, async () => Promise.reject(new TypeError("secret text")));
  });
  await expect(outcome).rejects.toThrow("secret text");
  await tracing[Symbol.asyncDispose]();
  const spans = await sent.promise;
  const byName = Object.fromEntries(spans.map((span) => [span.name, span]));
  expect(Object.keys(byName).sort()).toEqual(["arm", "claim", "create"]);
  expect([byName["claim"]?.parentSpanId, byName["arm"]?.parentSpanId]).toEqual([byName["create"]?.spanId, byName["create"]?.spanId]);
  expect(byName["arm"]?.status).toEqual({ code: 2, message: "TypeError" });
  expect(JSON.stringify(byName["create"]?.attributes)).toMatch(/base.*i1/);
  expect(JSON.stringify(spans)).not.toContain("secret text");
  collector.close();
});

test("a collector that is gone does not hold up the end", async () => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
  const tracing = await openTracing({ env: process.env, version: "1" });
  await tracing.tracer.span("create", {}, async () => {});
  await expect(tracing[Symbol.asyncDispose]()).resolves.toBeUndefined();
}, 7000);
