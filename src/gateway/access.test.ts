import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { fileSignature } from "#envd-protocol/file-signature.ts";
import { annotationKeys } from "#model/keys.ts";
import { gatewayWorld, type GatewayWorld, get, send, to } from "../../test/world/gateway-world.ts";

const daemonPort = 49_983;
const signed = (path: string, operation: "read" | "write", by = "access-abc") =>
  `/files?path=${path}&signature=${encodeURIComponent(fileSignature(by, { path, operation, user: "" }))}`;

interface Request {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

type Door = "daemon" | "interpreter" | "swerex";

/** Requests without access: each is refused, or told only public facts. */
const strangers: readonly (readonly [string, Door, Request])[] = [
  ["no token", "daemon", { path: "/process.Process/List", method: "POST" }],
  ["a token of another sandbox", "daemon", { path: "/envs", headers: { "x-access-token": "access-xyz" } }],
  ["the traffic token instead of the access token", "daemon", { path: "/envs", headers: { "e2b-traffic-access-token": "traffic-abc" } }],
  ["a question for its health", "daemon", { path: "/health" }],
  ["a file without a signature", "daemon", { path: "/files?path=/x" }],
  ["a signature for another operation", "daemon", { path: signed("/x", "read"), method: "POST" }],
  ["a signature by another token", "daemon", { path: signed("/x", "read", "access-xyz") }],
  ["a signature over no path", "daemon", { path: signed("", "write"), method: "POST" }],
  ["a signature on another route", "daemon", { path: signed("/x", "read").replace("/files", "/envs") }],
  ["no token", "interpreter", { path: "/execute", method: "POST" }],
  ["a wrong token", "interpreter", { path: "/contexts", headers: { "x-access-token": "access-xyz" } }],
  ["no key", "swerex", { path: "/is_alive" }],
  ["a wrong key", "swerex", { path: "/execute", method: "POST", headers: { "x-api-key": "access-xyz" } }],
  ["a wrong traffic token", "interpreter", { path: "/contexts", headers: { "e2b-traffic-access-token": "traffic-xyz" } }],
];

const owners: readonly (readonly [string, Door, Request])[] = [
  ["its access token", "daemon", { path: "/envs", headers: { "x-access-token": "access-abc" } }],
  ["a signature of a read", "daemon", { path: signed("/x", "read") }],
  ["a signature of a write", "daemon", { path: signed("/x", "write"), method: "POST" }],
  ["its access token", "interpreter", { path: "/execute", method: "POST", headers: { "x-access-token": "access-abc" } }],
  ["its access token as key", "swerex", { path: "/execute", method: "POST", headers: { "x-api-key": "access-abc" } }],
  ["its traffic token", "interpreter", { path: "/contexts", headers: { "e2b-traffic-access-token": "traffic-abc" } }],
];

interface DaemonWorld extends AsyncDisposable {
  readonly world: GatewayWorld;
  readonly woken: string[];
  readonly ask: (door: Door, request: Request) => Promise<number | undefined>;
  readonly is: (state: "paused" | "running", annotations?: Record<string, string>) => void;
}

/** The sandbox `abc`. Its daemon refuses every request: the tests look at what the gateway does first. */
async function daemonWorld(): Promise<DaemonWorld> {
  const woken: string[] = [];
  const ports = { daemonPort: 0, interpreterPort: 0, swerexPort: 0 };
  const world = await gatewayWorld({
    wake: async (id) => {
      woken.push(id);
      world.sandbox(id, ports);
    },
  });
  const program = (): Promise<number> => world.program((_, response) => void response.writeHead(401).end());
  [ports.daemonPort, ports.interpreterPort, ports.swerexPort] = [await program(), await program(), await program()];
  const paused = { [annotationKeys.paused]: "2026-01-01T00:00:00Z", [annotationKeys.autoResume]: "true" };
  return {
    world,
    woken,
    is: (state, annotations = {}) =>
      world.sandbox("abc", { ...ports, annotations: { ...(state === "paused" ? paused : {}), ...annotations } }),
    ask: async (door, { path = "/", headers = {}, method = "GET" }) => {
      const at = to("abc", { daemon: daemonPort, interpreter: ports.interpreterPort, swerex: ports.swerexPort }[door]);
      const [response] = await send(world, { path, method, headers: { ...at, ...headers } });
      await text(response);
      return response.statusCode;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

describe("a request without access neither resumes a paused sandbox nor counts as its use", () => {
  test.each(strangers)("%s, to the %s", async (_, door, request) => {
    await using scene = await daemonWorld();
    scene.is("paused");
    expect(await scene.ask(door, request)).toBe(502);
    expect(scene.woken).toEqual([]);
    scene.is("running");
    expect(await scene.ask(door, request)).toBe(401);
    expect(scene.world.traffic.of("abc")).toBeUndefined();
    expect(scene.world.traffic.strangersOf("abc")).toBe(0);
  });

  test("a signature whose time is over", async () => {
    await using scene = await daemonWorld();
    const end = Math.floor(scene.world.clock.now() / 1000) - 1;
    const signature = encodeURIComponent(fileSignature("access-abc", { path: "/x", operation: "read", user: "", expiration: end }));
    scene.is("paused");
    await scene.ask("daemon", { path: `/files?path=/x&signature=${signature}&signature_expiration=${end}` });
    expect(scene.woken).toEqual([]);
  });

  test("a traffic token that is merely as long as the right one", async () => {
    await using scene = await daemonWorld();
    const port = await scene.world.program((_, response) => response.end("in"));
    const token = (given: string) => ({ ...to("abc", port), "e2b-traffic-access-token": given });
    scene.is("paused", { [annotationKeys.privateTraffic]: "true" });
    expect((await get(scene.world, "/", token("traffic-xyz"))).status).toBe(403);
    expect(scene.woken).toEqual([]);
    scene.is("running", { [annotationKeys.privateTraffic]: "true" });
    expect((await get(scene.world, "/", token("traffic-xyz"))).status).toBe(403);
    expect(scene.world.traffic.of("abc")).toBeUndefined();
    expect((await get(scene.world, "/", token("traffic-abc"))).body).toBe("in");
  });
});

describe("a request with access resumes it, and counts as its use", () => {
  test.each(owners)("with %s, to the %s", async (_, door, request) => {
    await using scene = await daemonWorld();
    scene.is("paused");
    expect(await scene.ask(door, request)).toBe(401);
    expect(scene.woken).toEqual(["abc"]);
    expect(scene.world.traffic.of("abc")).toMatchObject({ open: 0 });
  });

  test("with the key of SWE-ReX, where its ports are private", async () => {
    await using scene = await daemonWorld();
    scene.is("running", { [annotationKeys.privateTraffic]: "true" });
    const asked = (key: string) => scene.ask("swerex", { path: "/is_alive", headers: { "x-api-key": key } });
    expect([await asked("access-abc"), await asked("access-xyz")]).toEqual([401, 403]);
  });

  test("without any token, where the sandbox was made without one", async () => {
    await using scene = await daemonWorld();
    scene.is("paused", { [annotationKeys.openDaemon]: "true" });
    expect(await scene.ask("daemon", { path: "/envs" })).toBe(401);
    expect(scene.woken).toEqual(["abc"]);
  });
});

test("requests without access take no place from those with access", async () => {
  const world = await gatewayWorld({ limits: { perSandbox: 1, total: 100 } });
  await using _ = world;
  const go = Promise.withResolvers<void>();
  let arrived = 0;
  const port = await world.program(async (_request, response) => {
    arrived++;
    await go.promise;
    response.end("done");
  });
  world.sandbox("abc", { daemonPort: port });
  const stranger = send(world, { headers: to("abc", daemonPort) });
  await expect.poll(() => arrived).toBe(1);
  const owner = send(world, { headers: { ...to("abc", daemonPort), "x-access-token": "access-abc" } });
  await expect.poll(() => arrived).toBe(2);
  expect((await get(world, "/", to("abc", daemonPort))).status).toBe(429);
  go.resolve();
  for (const [response] of await Promise.all([stranger, owner])) expect(await text(response)).toBe("done");
});

test("the control plane's routes are closed on the daemon's own port too, where that is another one", async () => {
  const world = await gatewayWorld();
  await using _ = world;
  const port = await world.program((_request, response) => response.end("daemon"));
  world.sandbox("abc", { daemonPort: port });
  expect((await get(world, "/init", to("abc", port))).status).toBe(404);
  expect((await get(world, "/health", to("abc", port))).body).toBe("daemon");
});
