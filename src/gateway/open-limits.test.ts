import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { gatewayWorld, type GatewayWorld, send, to } from "../../test/world/gateway-world.ts";

/** A program that answers nobody until it is told to. */
async function patientProgram(world: GatewayWorld) {
  const go = Promise.withResolvers<void>();
  let arrived = 0;
  const port = await world.program(async (_, response) => {
    arrived++;
    await go.promise;
    response.end("done");
  });
  const untilArrived = async (count: number): Promise<void> => {
    await expect.poll(() => arrived).toBe(count);
  };
  return { port, go: () => go.resolve(), untilArrived };
}

async function refusal(world: GatewayWorld, headers: Record<string, string>) {
  const [response] = await send(world, { headers });
  return { status: response.statusCode, retryAfter: response.headers["retry-after"], body: JSON.parse(await text(response)) as unknown };
}

test("a sandbox with too many open requests is told so, others are not, and what ends makes room", async () => {
  await using world = await gatewayWorld({ limits: { perSandbox: 2, total: 100 } });
  const { port, go, untilArrived } = await patientProgram(world);
  world.sandbox("abc");
  world.sandbox("def");
  const waiting = [send(world, { headers: to("abc", port) }), send(world, { headers: to("abc", port) })];
  await untilArrived(2);
  expect(await refusal(world, to("abc", port))).toMatchObject({
    status: 429,
    retryAfter: "1",
    body: { sandboxId: "abc", code: 429, message: expect.stringContaining("has 2 requests and connections open") },
  });
  waiting.push(send(world, { headers: to("def", port) }));
  await untilArrived(3);
  go();
  for (const [response] of await Promise.all(waiting)) expect(await text(response)).toBe("done");
  const [after] = await send(world, { headers: to("abc", port) });
  expect(await text(after)).toBe("done");
});

test("the gateway has a limit over all sandboxes, for requests and for upgrades", async () => {
  await using world = await gatewayWorld({ limits: { perSandbox: 100, total: 1 } });
  const { port, go, untilArrived } = await patientProgram(world);
  world.sandbox("abc");
  world.sandbox("def");
  const waiting = send(world, { headers: to("abc", port) });
  await untilArrived(1);
  expect(await refusal(world, to("def", port))).toMatchObject({ status: 429, body: { message: expect.stringContaining("This gateway") } });
  const socket = new WebSocket(world.url.replace("http", "ws"), { headers: to("def", port) });
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number; headers: Record<string, string> }];
  expect([response.statusCode, response.headers["retry-after"]]).toEqual([429, "1"]);
  go();
  const [first] = await waiting;
  expect(await text(first)).toBe("done");
});
