import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ArmedState } from "#envd/armed-state.ts";
import { interpreterServer } from "#envd/interpreter-server.ts";

const state = new ArmedState();
state.arm("s1", { accessToken: "access-1", trafficToken: "traffic-1" });
// No code is run here, so nothing is ever started.
const server = interpreterServer({ state, helper: "/none", programs: "/none" });

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

async function ask(route: string, headers: Readonly<Record<string, string>>, body?: object): Promise<number> {
  const [method, path] = route.split(" ");
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: method ?? "",
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.text();
  return response.status;
}

const routes = ["GET /contexts", "POST /contexts", "DELETE /contexts/x", "POST /contexts/x/restart", "POST /execute", "GET /nothing"];
const access = { "x-access-token": "access-1" };
const traffic = { "e2b-traffic-access-token": "traffic-1" };

test.each(routes)("%s requires a token of the sandbox", async (route) => {
  for (const headers of [{}, { "x-access-token": "access-2" }, { "e2b-traffic-access-token": "traffic-2" }]) {
    expect(await ask(route, headers, route.startsWith("POST") ? {} : undefined)).toBe(401);
  }
});

test("contexts are for either token: published clients send the one of the ports there, and no other", async () => {
  for (const headers of [access, traffic]) {
    expect(await ask("GET /contexts", headers)).toBe(200);
    expect(await ask("POST /contexts", headers, { language: "python", cwd: "/" })).toBe(200);
    expect(await ask("DELETE /contexts/none", headers)).toBe(404);
  }
});

test("code is run for the access token alone, and health is for all", async () => {
  expect(await ask("POST /execute", traffic, { code: "1" })).toBe(401);
  expect(await ask("POST /execute", access, { code: "1", context_id: "none" })).toBe(404);
  expect(await ask("GET /health", {})).toBe(200);
});
