/** The routes of sandboxes over real services, with claims and all. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { expect, test } from "vitest";
import { ExecActivity } from "#services/inside/exec-activity.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { embeddedClaimScene } from "../../../../test/world/embedded-scenes.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { FakePodAccess } from "../../../../test/world/fake-pod-access.ts";
import { type CallerName, NativeApi, only } from "../../../../test/world/native-api.ts";
import { routesOver } from "../../../../test/world/sandbox-api.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";

interface World extends AsyncDisposable {
  readonly api: NativeApi;
  readonly pods: FakePodAccess;
  /** A sandbox of ann's, made through the API. */
  created(): Promise<string>;
}

async function open(idle = 2): Promise<World> {
  const parts = new AsyncDisposableStack();
  const { scene, clock } = parts.use(await embeddedClaimScene({ pods: idle }));
  const { cache, claims, logged } = await scene.process();
  const live = parts.use(new LiveSandboxes(cache.shown));
  const pods = new FakePodAccess();
  const { client, history } = scene;
  const activity = new ExecActivity(clock);
  const deps = { client, cache, history, pods, live, activity, claims, clock, log: logged.log };
  const sandboxes = openSandboxService({ ...deps, abilities: embeddedAbilities });
  const api = parts.use(await NativeApi.over(routesOver(sandboxes), clock));
  return {
    api,
    pods,
    created: async () => {
      const { json } = await api.ask("POST /v1/sandboxes", { body: { poolName: "ns/py" } });
      return (json as { sandbox: { sandboxId: string } }).sandbox.sandboxId;
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

test("a sandbox is created, read, used, changed and ended", async () => {
  await using world = await open();
  const { api, pods } = world;
  const body = { poolName: "ns/py", metadata: { task: "7" }, idleTimeout: "10m" };
  const made = await api.ask("POST /v1/sandboxes", { body });
  expect(made).toMatchObject({ status: 201, json: { sandbox: { status: "Running", metadata: { task: "7" }, idleTimeout: "10m" } } });
  const { sandbox } = made.json as { sandbox: { sandboxId: string } };
  const place = String(made.headers["location"]);
  expect(await api.ask(`GET ${place}`)).toMatchObject({ status: 200, json: { sandbox } });
  expect(await api.ask("GET /v1/sandboxes?metadata=task=7&status=Running")).toMatchObject({
    json: { sandboxes: [{ sandboxId: sandbox.sandboxId }] },
  });
  const exec = api.ask(`POST ${place}/exec`, { body: { command: ["echo", "hi"] } });
  await eventually(() => expect(pods.ran).toHaveLength(1));
  pods.end(0, "hi\n");
  expect(await exec).toMatchObject({ status: 200, json: { exitCode: 0, stdout: "hi\n" } });
  expect(await api.ask(`PUT ${place}/timeout`, { body: { lifetime: "1h" } })).toMatchObject({
    status: 200,
    json: { sandbox: { endTime: "2026-01-01T01:00:00.000Z" } },
  });
  for (let turn = 0; turn < 2; turn++) expect(await api.ask(`DELETE ${place}`)).toMatchObject({ status: 202, text: "" });
  expect(await api.ask(`GET ${place}`)).toMatchObject({ json: { sandbox: { status: "Stopping" } } });
  expect(await api.ask(`POST ${place}/exec`, { body: { command: ["ls"] } })).toMatchObject({ status: 409 });
});

test("a repeated request with the same idempotency key returns the same sandbox", async () => {
  await using world = await open();
  const asked = { body: { poolName: "ns/py" }, headers: { "idempotency-key": "k1" } };
  const [first, second] = [await world.api.ask("POST /v1/sandboxes", asked), await world.api.ask("POST /v1/sandboxes", asked)];
  expect([second.status, second.headers["location"]]).toEqual([201, first.headers["location"]]);
  const other = await world.api.ask("POST /v1/sandboxes", { ...asked, body: { poolName: "ns/py", metadata: { a: "b" } } });
  expect(other).toMatchObject({ status: 409, json: { code: "conflict", field: "header.idempotency-key" } });
});

test("several sandboxes are created at once; if they are too few, all are ended", async () => {
  await using world = await open(2);
  const { api } = world;
  const body = { count: 3, sandbox: { poolName: "ns/py", startupTimeout: "1s" } };
  const tooFew = api.ask("POST /v1/sandboxes/batch", { body });
  await api.clock.step(1000);
  expect(await tooFew).toMatchObject({ status: 429, json: { code: "no_capacity" } });
  expect(await api.ask("GET /v1/sandboxes?status=Running,Starting")).toMatchObject({ json: { sandboxes: [] } });
});

test("errors of every layer name the field as the request calls it", async () => {
  await using world = await open();
  const ask = (body: object) => world.api.ask("POST /v1/sandboxes", { body });
  expect(await ask({ poolName: "none" })).toMatchObject({ status: 404, json: { field: "poolName", available: ["ns/py"] } });
  expect(await ask({ poolName: "ns/py", idleTimeout: "1ms" })).toMatchObject({ status: 400, json: { field: "idleTimeout" } });
  const hook = { exec: { command: ["x"], timeout: "1h" } };
  expect(await ask({ poolName: "ns/py", postStartHooks: [hook] })).toMatchObject({
    status: 400,
    json: { field: "postStartHooks[0].exec.timeout", detail: expect.stringMatching(/^postStartHooks\[0\]\.exec\.timeout /) },
  });
  expect(await world.api.ask("GET /v1/sandboxes?cursor=abc")).toMatchObject({ status: 400, json: { field: "query.cursor" } });
  const place = `PUT /v1/sandboxes/${await world.created()}/timeout`;
  for (const [field, value] of [
    ["lifetime", "9000h"],
    ["endTime", "2027-06-01T00:00:00Z"],
    ["idleTimeout", "9000h"],
  ] as const) {
    expect(await world.api.ask(place, { body: { [field]: value } })).toMatchObject({
      status: 400,
      json: { field, detail: expect.stringMatching(new RegExp(`^${field} must be `)) },
    });
  }
});

/** A good body for each route that has one. */
const bodies: Readonly<Record<string, object>> = {
  setTimeouts: { lifetime: "1h" },
  runCommand: { command: ["ls"] },
  openTerminal: {},
};
const unopened = { clock: new SteppedClock(), log: recordedLog().log, keys: { isLive: () => true } };
const routes = routesOver(only({}))(unopened).filter(({ path }) => path.includes("{sandboxId}"));

test.for(routes.map((one) => [`${one.method} ${one.path}`, one] as const))(
  "I8: %s of a foreign sandbox answers as if it did not exist",
  async ([, { method, path, name }]) => {
    await using world = await open();
    const id = await world.created();
    const ask = async (by: CallerName, sandboxId: string) => {
      const body = bodies[name];
      const what = `${method} /v1${path.replace("{sandboxId}", sandboxId)}`;
      const { status, text, headers } = await world.api.ask(what, { by, ...(body && { body }) });
      const words = text.replaceAll(sandboxId, "…").replace(/"requestId":"[^"]+"/, "");
      return { status, words, type: headers["content-type"] };
    };
    const missing = await ask("eve", "inothing");
    // A terminal's token identifies the caller, so these routes need no key.
    expect(missing.status).toBe(name === "terminal" ? 400 : 404);
    // Another team, and another user of the same one.
    expect(await ask("eve", id)).toEqual(missing);
    expect(await ask("bob", id)).toEqual(missing);
    expect(await world.api.ask(`GET /v1/sandboxes/${id}`)).toMatchObject({ json: { sandbox: { status: "Running" } } });
    expect([world.pods.ran, world.pods.read]).toEqual([[], []]);
  },
);

test("I8: a list never has sandboxes of another tenant", async () => {
  await using world = await open();
  const id = await world.created();
  for (const [by, seen] of [
    ["ann", [id]],
    ["admin", [id]],
    ["bob", []],
    ["eve", []],
  ] as const) {
    const { json } = await world.api.ask("GET /v1/sandboxes", { by });
    expect((json as { sandboxes: { sandboxId: string }[] }).sandboxes.map(({ sandboxId }) => sandboxId)).toEqual(seen);
  }
});
