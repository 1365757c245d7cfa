/** Events of real sandboxes, delivered to a receiver that is away while the server is killed. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../world/free-port.ts";
import { UpProcess } from "../world/up-process.ts";

const secret = "a long secret";
let up: UpProcess;
let key = "";
beforeAll(async () => {
  process.env["AGENTBOX_WEBHOOK_HOSTS"] = "127.0.0.1:*";
  up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  key = (await up.access()).apiKey;
}, 120_000);
afterAll(async () => {
  delete process.env["AGENTBOX_WEBHOOK_HOSTS"];
  await up[Symbol.asyncDispose]();
}, 60_000);

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const { url } = await up.access();
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const said = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
  return (said === "" ? undefined : JSON.parse(said)) as T;
}

interface Event {
  readonly sandboxId: string;
  readonly type: string;
}

test("every event is delivered, signed and in order, though the receiver was away and the server was killed", async () => {
  const taken: Event[] = [];
  const receiver = createServer((request, response) => {
    const take = (body: string): void => {
      const signature = createHash("sha256").update(`${secret}${body}`).digest("base64url");
      const isSigned = request.headers["e2b-signature"] === signature;
      if (isSigned) taken.push(JSON.parse(body) as Event);
      response.writeHead(isSigned ? 200 : 401).end();
    };
    void text(request).then(take);
  });
  const port = await freePort();
  const types = ["created", "updated", "paused", "resumed", "killed"].map((type) => `sandbox.lifecycle.${type}`);
  const wish = { name: "all", url: `http://127.0.0.1:${port}/in`, events: types, signatureSecret: secret };
  const { id } = await ask<{ id: string }>("POST", "/events/webhooks", wish);
  const create = async (): Promise<string> => (await ask<{ sandboxID: string }>("POST", "/v2/sandboxes", { templateID: "base" })).sandboxID;
  const ids = [await create(), await create()];
  for (const sandbox of ids) {
    await ask("POST", `/sandboxes/${sandbox}/timeout`, { timeout: 1000 });
    await ask("POST", `/sandboxes/${sandbox}/pause`, {});
  }
  const [first = ""] = ids;
  await expect.poll(() => ask<Event[]>("GET", `/events/sandboxes/${first}?orderAsc=true`), { timeout: 20_000 }).toHaveLength(3);
  await up.process.kill();
  await up.restart();
  await up.process.complete();
  for (const sandbox of ids) {
    await ask("POST", `/v2/sandboxes/${sandbox}/connect`, { timeout: 500 });
    await ask("DELETE", `/sandboxes/${sandbox}`);
  }
  await expect
    .poll(() => ask<Event[]>("GET", `/events/sandboxes/${first}?orderAsc=true&limit=100`), { timeout: 20_000 })
    .toContainEqual(expect.objectContaining({ type: "sandbox.lifecycle.killed" }));
  expect((await ask<unknown[]>("GET", `/events/webhooks/${id}/deliveries`)).length).toBeGreaterThanOrEqual(8);
  await new Promise<void>((resolve) => receiver.listen(port, "127.0.0.1", resolve));
  expect((receiver.address() as AddressInfo).port).toBe(port);
  await expect.poll(() => taken.filter(({ type }) => type.endsWith("killed")).length, { timeout: 90_000, interval: 500 }).toBe(2);
  for (const sandbox of ids) {
    const seen = [...new Set(taken.filter(({ sandboxId }) => sandboxId === sandbox).map(({ type }) => type.split(".").at(-1)))];
    expect(seen.filter((type) => type !== "updated")).toEqual(["created", "paused", "resumed", "killed"]);
    expect(seen.indexOf("updated")).toBe(1);
  }
  expect(await ask("GET", `/events/webhooks/${id}/deliveries`)).toEqual([]);
  await new Promise((resolve) => receiver.close(resolve));
}, 240_000);
