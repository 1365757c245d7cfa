/** Orders that come twice, at once, or to another daemon than they were signed for. The programs are the real ones. */
import { describe, expect, test } from "vitest";
import { header } from "#envd-protocol/arming.ts";
import { exchange, request } from "../fuzz/raw-exchange.ts";
import { type Daemon, sandboxId, startDaemon } from "./daemon.ts";

/** An order for a sandbox, as bytes that can be sent again anywhere. */
async function orderFor(daemon: Daemon, forWhom: string): Promise<Buffer> {
  const body = Buffer.from(JSON.stringify({ accessToken: forWhom, envVars: { FOR: forWhom } }));
  return request("POST /init", Object.entries(await daemon.signed(body, forWhom)), body);
}

async function send(daemon: Daemon, order: Buffer, pieces = 1): Promise<number | undefined> {
  const size = Math.ceil(order.length / pieces);
  const bytes = Array.from({ length: pieces }, (_, at) => order.subarray(at * size, (at + 1) * size));
  return (await exchange({ port: Number(new URL(daemon.url).port), bytes, cut: false })).statuses[0];
}

const byNumber = (left = 0, right = 0): number => left - right;

async function armedFor(daemon: Daemon): Promise<string | null> {
  return (await fetch(`${daemon.url}/health`)).headers.get(header.sandboxId);
}

async function variableFor(daemon: Daemon, token: string): Promise<unknown> {
  const answer = await fetch(`${daemon.url}/envs`, { headers: { "x-access-token": token } });
  return answer.status === 200 ? ((await answer.json()) as Record<string, unknown>)["FOR"] : answer.status;
}

describe("of orders for many sandboxes at once exactly one arms the daemon, and the others are told so", () => {
  test.each([
    ["whole, to its doorman", 1],
    ["in pieces", 3],
  ])("%s", async (_, pieces) => {
    await using daemon = await startDaemon("waiting");
    const all = Array.from({ length: 8 }, (_unused, index) => `sandbox${index}`);
    const orders = await Promise.all(all.map((each) => orderFor(daemon, each)));
    const statuses = await Promise.all(orders.map((order) => send(daemon, order, pieces)));
    const winner = all[statuses.indexOf(204)];
    expect(statuses.toSorted(byNumber)).toEqual([204, ...Array.from({ length: 7 }, () => 409)]);
    expect(await armedFor(daemon)).toBe(winner);
    for (const each of all) expect(await variableFor(daemon, each)).toBe(each === winner ? each : 401);
  });

  test("to a daemon that answers by itself", async () => {
    await using daemon = await startDaemon("waiting");
    // A request that its doorman does not know.
    expect((await fetch(`${daemon.url}/envs`)).status).toBe(503);
    const all = Array.from({ length: 8 }, (_, index) => `sandbox${index}`);
    const orders = await Promise.all(all.map((each) => orderFor(daemon, each)));
    const statuses = await Promise.all(orders.map((order) => send(daemon, order)));
    expect(statuses.toSorted(byNumber)).toEqual([204, ...Array.from({ length: 7 }, () => 409)]);
    expect(await armedFor(daemon)).toBe(all[statuses.indexOf(204)]);
  });
});

describe("an order that is sent again", () => {
  test("to the daemon that has it is taken, and changes nothing", async () => {
    await using daemon = await startDaemon("waiting");
    const order = await orderFor(daemon, sandboxId);
    expect([await send(daemon, order), await send(daemon, order), await send(daemon, order)]).toEqual([204, 204, 204]);
    expect(await variableFor(daemon, sandboxId)).toBe(sandboxId);
  });

  test("to a daemon that was armed with other values is refused, and brings nothing of them back", async () => {
    await using daemon = await startDaemon("waiting");
    const captured = Buffer.from(JSON.stringify({ accessToken: "captured" }));
    const late = request("POST /init", Object.entries(await daemon.signed(captured, sandboxId)), captured);
    expect([await send(daemon, await orderFor(daemon, sandboxId)), await send(daemon, late)]).toEqual([204, 409]);
    expect(await variableFor(daemon, sandboxId)).toBe(sandboxId);
    expect(await variableFor(daemon, "captured")).toBe(401);
  });

  test.each([
    ["another boot of the same pod", {}],
    ["another pod", { AGENTBOX_POD_UID: "pod-2" }],
  ])("to %s is refused by the doorman and by the daemon behind it", async (_, env) => {
    const first = await startDaemon("waiting");
    const order = await orderFor(first, sandboxId);
    expect(await send(first, order)).toBe(204);
    await first[Symbol.asyncDispose]();
    await using second = await startDaemon("waiting", env);
    expect([await send(second, order), await send(second, order)]).toEqual([401, 401]);
    expect(await armedFor(second)).toBeNull();
  });

  test("to a daemon that another sandbox has is refused, though it was signed for this boot", async () => {
    await using daemon = await startDaemon("waiting");
    const [late, order] = [await orderFor(daemon, "sandbox2"), await orderFor(daemon, sandboxId)];
    expect([await send(daemon, order), await send(daemon, late), await send(daemon, late)]).toEqual([204, 409, 409]);
    expect(await armedFor(daemon)).toBe(sandboxId);
    expect(await variableFor(daemon, "sandbox2")).toBe(401);
  });
});
