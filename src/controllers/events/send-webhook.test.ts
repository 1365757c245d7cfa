import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import type { Webhook } from "#sandbox/events/webhook.ts";
import { webhookSender } from "./send-webhook.ts";

let server: Server;
let port = 0;
let status = 200;
let heard: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
beforeEach(async () => {
  [status, heard] = [200, []];
  const hear: RequestListener = async (request, response) => {
    heard.push({ headers: request.headers, body: await text(request) });
    response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("done");
  };
  server = createServer((request, response) => void hear(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(() => void server.close());

const event = {
  id: "e1",
  sandboxId: "abc",
  type: "created",
  at: "2026-01-01T00:00:00Z",
  team: "red",
  user: "",
  template: "base",
  data: null,
} as SandboxEvent;
const signal = new AbortController().signal;
const hook = (url: string): Webhook => ({
  id: "w1",
  team: "red",
  name: "n",
  url,
  enabled: true,
  events: ["created"],
  createdAt: "",
  secret: "shh",
});

test("a delivery is signed so that its receiver can check it, and has the same id each time", async () => {
  await using sender = webhookSender([`127.0.0.1:${port}`]);
  const sent = () => sender.send(hook(`http://127.0.0.1:${port}/in`), { event }, signal);
  expect([await sent(), await sent()]).toEqual([{ kind: "accepted" }, { kind: "accepted" }]);
  const [first, second] = heard;
  expect(JSON.parse(first?.body ?? "")).toMatchObject({
    type: "sandbox.lifecycle.created",
    sandboxId: "abc",
    sandboxTeamId: "red",
    eventData: null,
  });
  // As E2B's documents say that receivers do it.
  const expected = createHash("sha256")
    .update(`shh${first?.body}`)
    .digest("base64")
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  expect(first?.headers).toMatchObject({ "e2b-signature": expected, "e2b-signature-version": "v1", "e2b-webhook-id": "w1" });
  expect(second?.headers["e2b-delivery-id"]).toBe(first?.headers["e2b-delivery-id"]);
});

test.each([500, 404, 302])("an answer %i is a failure, and no redirect is followed", async (answered) => {
  status = answered;
  await using sender = webhookSender([`127.0.0.1:${port}`]);
  expect(await sender.send(hook(`http://127.0.0.1:${port}/`), { event }, signal)).toEqual({
    kind: "refused",
    why: `it answered ${answered}`,
  });
});

test.each(["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0.0.0.0"])(
  "nothing is sent to %s, which is not public",
  async (host) => {
    await using sender = webhookSender([]);
    const outcome = await sender.send(hook(`http://${host}:${port}/`), { event }, signal);
    expect(outcome).toEqual({ kind: "refused", why: "it cannot be reached, or its address is not allowed" });
    expect(heard).toEqual([]);
  },
);
