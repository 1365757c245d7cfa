/** The client against a registry that speaks the real protocol, and misbehaves. */
import { afterEach, describe, expect, test } from "vitest";
import { FakeRegistry, type FakeRegistryOptions, loopbackRegistries, pullSecret } from "../../../test/world/fake-registry.ts";
import { imageOf } from "../../../test/world/image-fixture.ts";
import { patiently } from "../../../test/world/patiently.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { digestOf } from "../digest.ts";
import { parseReference, type RegistryReference } from "../reference.ts";
import { RegistryClient } from "./client.ts";
import type { RegistrySettings } from "./endpoints.ts";
import type { RemoteRepository } from "./remote-repository.ts";

const image = imageOf([[{ name: "file", content: "hello" }]]);
const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

async function registryWith(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
  const registry = await FakeRegistry.start(options);
  open.push(registry);
  registry.add("team/app", "1", image);
  return registry;
}

interface Setting {
  readonly secrets?: readonly string[];
  readonly settings?: RegistrySettings;
  readonly clock?: SteppedClock;
  readonly certificates?: readonly string[];
}

function repository(
  host: string,
  { secrets = [], settings = {}, clock = new SteppedClock(), certificates = [] }: Setting = {},
): RemoteRepository {
  const client = new RegistryClient({ clock, random: () => 0.5, settings: { ...loopbackRegistries, ...settings }, certificates });
  open.push(client);
  return client.open(parseReference(`${host}/team/app:1`) as RegistryReference, secrets);
}

describe("manifests", () => {
  test("are fetched by tag and by digest", async () => {
    const registry = await registryWith();
    const remote = repository(registry.host);
    const byTag = await remote.manifest("1");
    expect(byTag).toMatchObject({ digest: image.digest, content: image.manifest });
    expect((await remote.manifest(image.digest)).content).toEqual(image.manifest);
    expect(registry.asked).toEqual(["GET manifests/1", `GET manifests/${image.digest}`]);
  });

  test("are resolved without being fetched, if the registry tells the digest", async () => {
    const registry = await registryWith();
    expect(await repository(registry.host).resolve("1")).toBe(image.digest);
    expect(registry.asked).toEqual(["HEAD manifests/1"]);
    const hiding = await registryWith({ hidesDigest: true });
    expect(await repository(hiding.host).resolve("1")).toBe(image.digest);
    expect(hiding.asked).toEqual(["HEAD manifests/1", "GET manifests/1"]);
  });

  test("by digest are not believed to be another one", async () => {
    const registry = await registryWith();
    registry.fault = ({ method }) => (method === "HEAD" ? { headers: { "docker-content-digest": digestOf("another") } } : undefined);
    expect(await repository(registry.host).resolve(image.digest)).toBe(image.digest);
  });

  test("that are not what their digest says are refused", async () => {
    const registry = await registryWith();
    registry.fault = ({ method }) => (method === "GET" ? { body: image.manifest.toString().replace("sha256:", "sha256:0") } : undefined);
    await expect(repository(registry.host).manifest(image.digest)).rejects.toMatchObject({ code: "digest_mismatch" });
    await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  test("that never end are refused", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ body: Buffer.alloc(5 * 1024 * 1024, 32) });
    await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "too_large" });
  });

  test("that are not there are told with what was asked for", async () => {
    const registry = await registryWith();
    const missing = repository(registry.host).manifest("2");
    await expect(missing).rejects.toMatchObject({ code: "not_found" });
    await expect(missing).rejects.toThrow(new RegExp(`^the manifest of ${registry.host}/team/app:2: the registry answered 404$`));
    await expect(missing).rejects.toMatchObject({ detail: "it says NAME_UNKNOWN: not known here" });
  });
});

describe("authorization", () => {
  const users = { ann: "secret" };

  test("by password is sent when it is asked for, and from then on at once", async () => {
    const registry = await registryWith({ users, scheme: "basic" });
    const remote = repository(registry.host, { secrets: [pullSecret({ [registry.host]: ["ann", "secret"] })] });
    await remote.manifest("1");
    await remote.manifest("1");
    const basic = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([undefined, basic, basic]);
  });

  test("by token asks the token server for this repository, and keeps the token", async () => {
    const registry = await registryWith({ users, scheme: "bearer" });
    const remote = repository(registry.host, { secrets: [pullSecret({ [registry.host]: ["ann", "secret"] })] });
    await remote.manifest("1");
    await remote.manifest("1");
    expect(registry.requests.map(({ path }) => path.split("?")[0])).toEqual([
      "/v2/team/app/manifests/1",
      "/token",
      "/v2/team/app/manifests/1",
      "/v2/team/app/manifests/1",
    ]);
    const query = new URLSearchParams(registry.requests[1]?.path.split("?")[1]);
    expect(Object.fromEntries(query)).toEqual({ service: 'fake, "quoted"', scope: "repository:team/app:pull", account: "ann" });
    expect(registry.requests[1]?.authorization).toMatch(/^Basic /);
  });

  test("by token works without credentials where that is allowed", async () => {
    const registry = await registryWith({ scheme: "bearer" });
    expect((await repository(registry.host).manifest("1")).digest).toBe(image.digest);
    expect(registry.requests[1]?.authorization).toBeUndefined();
  });

  test("fetches another token when the old one has run out or is refused", async () => {
    const registry = await registryWith({ users, scheme: "bearer" });
    const clock = new SteppedClock();
    const remote = repository(registry.host, { clock, secrets: [pullSecret({ [registry.host]: ["ann", "secret"] })] });
    registry.tokenLife = 100;
    const tokens = (): number => registry.requests.filter(({ path }) => path.startsWith("/token")).length;
    await remote.manifest("1");
    await clock.step(79_000);
    await remote.manifest("1");
    expect(tokens()).toBe(1);
    await clock.step(2000);
    await remote.manifest("1");
    expect(tokens()).toBe(2);
    registry.revokeTokens();
    await remote.manifest("1");
    expect(tokens()).toBe(3);
  });

  test.each(["basic", "bearer"] as const)("that is missing or wrong fails at once, with %s", async (scheme) => {
    const registry = await registryWith({ users, scheme });
    await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "unauthorized" });
    const wrong = repository(registry.host, { secrets: [pullSecret({ [registry.host]: ["ann", "guess"] })] }).manifest("1");
    await expect(wrong).rejects.toMatchObject({ code: "unauthorized" });
    await expect(wrong).rejects.not.toThrow(/guess/);
    expect(registry.requests.length).toBeLessThanOrEqual(5);
  });

  test("tries all credentials that fit, the most particular first", async () => {
    const registry = await registryWith({ users, scheme: "basic" });
    const secrets = [pullSecret({ [`${registry.host}/team`]: ["bob", "x"], [registry.host]: ["ann", "secret"] })];
    expect((await repository(registry.host, { secrets }).manifest("1")).digest).toBe(image.digest);
  });

  test.each(['Bearer realm="ftp://x.example/token"', "Bearer", 'Bearer realm="nonsense"'])(
    "with a challenge of %s is given up",
    async (challenge) => {
      const registry = await registryWith();
      registry.fault = () => ({ status: 401, headers: { "www-authenticate": challenge } });
      await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "registry_protocol" });
    },
  );

  test("with a token server that gives none is given up", async () => {
    const registry = await registryWith({ scheme: "bearer" });
    for (const body of ["{}", '{"token":""}', "no json"]) {
      registry.fault = ({ path }) => (path.startsWith("/token") ? { status: 200, body } : undefined);
      await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "registry_protocol" });
    }
  });
});

describe("redirects", () => {
  test("are followed, and credentials stay with the registry", async () => {
    const elsewhere = await registryWith();
    const registry = await registryWith({ users: { ann: "secret" }, scheme: "basic" });
    registry.fault = ({ path, authorization }) =>
      path.includes("/blobs/") && authorization !== undefined
        ? { status: 307, headers: { location: `http://${elsewhere.host}${path}` } }
        : undefined;
    const layer = image.layers[0]?.digest ?? digestOf("");
    const remote = repository(registry.host, {
      secrets: [pullSecret({ [registry.host]: ["ann", "secret"], [elsewhere.host]: ["ann", "secret"] })],
    });
    const chunks: Buffer[] = [];
    for await (const chunk of (await remote.blob(layer, 0)).content) chunks.push(chunk);
    expect(digestOf(Buffer.concat(chunks))).toBe(layer);
    expect(elsewhere.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  test("within the registry keep the credentials", async () => {
    const registry = await registryWith({ users: { ann: "secret" }, scheme: "basic" });
    registry.fault = ({ path, authorization }) =>
      path.endsWith("/1") && authorization !== undefined ? { status: 302, headers: { location: `./${image.digest}` } } : undefined;
    const remote = repository(registry.host, { secrets: [pullSecret({ [registry.host]: ["ann", "secret"] })] });
    expect((await remote.manifest("1")).digest).toBe(image.digest);
  });

  test.each([
    ["in a circle", "/v2/team/app/manifests/1", /more than 5 redirects/],
    ["to something else than the web", "ftp://x.example/", /no http or https URL/],
    ["to nonsense", "http://", /no http or https URL/],
  ])("%s are given up", async (_how, location, reason) => {
    const registry = await registryWith();
    registry.fault = () => ({ status: 301, headers: { location } });
    await expect(repository(registry.host).manifest("1")).rejects.toThrow(reason);
  });
});

describe("mirrors", () => {
  test("are asked first", async () => {
    const [mirror, origin] = [await registryWith(), await registryWith()];
    const remote = repository(origin.host, { settings: { mirrors: { [origin.host]: [mirror.host] } } });
    expect((await remote.manifest("1")).digest).toBe(image.digest);
    expect([mirror.requests.length, origin.requests.length]).toEqual([1, 0]);
  });

  test.each([
    ["does not have it", { status: 404 }],
    ["wants credentials that we do not have", { status: 401 }],
    ["sends nonsense", { body: "nonsense", headers: { "docker-content-digest": digestOf("x") } }],
  ])("that %s are passed over", async (_why, fault) => {
    const [mirror, origin] = [await registryWith(), await registryWith()];
    mirror.fault = () => fault;
    const remote = repository(origin.host, { settings: { mirrors: { [origin.host]: [mirror.host] } } });
    expect((await remote.manifest("1")).digest).toBe(image.digest);
    expect((await remote.manifest("1")).digest).toBe(image.digest);
    expect([mirror.requests.length, origin.requests.length]).toEqual([1, 2]);
  });

  test("that do not answer cost little time", async () => {
    const origin = await registryWith();
    const clock = new SteppedClock();
    const began = clock.now();
    const remote = repository(origin.host, { clock, settings: { mirrors: { [origin.host]: ["127.0.0.1:1"] } } });
    expect((await patiently(clock, remote.manifest("1"))).digest).toBe(image.digest);
    expect(clock.now() - began).toBeLessThan(2000);
  });

  test("never get the registry's credentials", async () => {
    const [mirror, origin] = [
      await registryWith({ users: { ann: "secret" }, scheme: "basic" }),
      await registryWith({ users: { ann: "secret" }, scheme: "basic" }),
    ];
    const settings = { mirrors: { [origin.host]: [mirror.host] } };
    const remote = repository(origin.host, { settings, secrets: [pullSecret({ [origin.host]: ["ann", "secret"] })] });
    expect((await remote.manifest("1")).digest).toBe(image.digest);
    expect(mirror.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });
});

describe("trying again", () => {
  test("helps against failures that pass, with growing pauses", async () => {
    const registry = await registryWith();
    let left = 3;
    registry.fault = () => (left-- > 0 ? { status: 503 } : undefined);
    const clock = new SteppedClock();
    const began = clock.now();
    expect((await patiently(clock, repository(registry.host, { clock }).manifest("1"))).digest).toBe(image.digest);
    expect(registry.requests.length).toBe(4);
    expect(clock.now() - began).toBeGreaterThanOrEqual(187 + 375 + 750);
  });

  test("ends after five times", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ status: 500 });
    const clock = new SteppedClock();
    await expect(patiently(clock, repository(registry.host, { clock }).manifest("1"))).rejects.toMatchObject({ code: "registry_failed" });
    expect(registry.requests.length).toBe(5);
  });

  test("waits as long as the registry asks for", async () => {
    const registry = await registryWith();
    let left = 1;
    registry.fault = () => (left-- > 0 ? { status: 429, headers: { "retry-after": "20" } } : undefined);
    const clock = new SteppedClock();
    const began = clock.now();
    await patiently(clock, repository(registry.host, { clock }).manifest("1"));
    expect(clock.now() - began).toBeGreaterThanOrEqual(20_000);
  });

  test("is not done when it asks for very long", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ status: 429, headers: { "retry-after": "3600" } });
    await expect(repository(registry.host).manifest("1")).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 3_600_000 });
    expect(registry.requests.length).toBe(1);
  });

  test("is not done for what will not change", async () => {
    const registry = await registryWith();
    await expect(repository(registry.host).manifest("nope")).rejects.toMatchObject({ code: "not_found" });
    expect(registry.requests.length).toBe(1);
  });

  test("ends when nobody waits any more", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ status: 500 });
    const abort = new AbortController();
    const asked = repository(registry.host).manifest("1", abort.signal);
    setImmediate(() => abort.abort(new Error("no longer wanted")));
    await expect(asked).rejects.toThrow("no longer wanted");
  });
});

test("a registry that is not there is unreachable", async () => {
  const clock = new SteppedClock();
  const asked = patiently(clock, repository("127.0.0.1:1", { clock }).manifest("1"));
  await expect(asked).rejects.toMatchObject({ code: "unreachable" });
  await expect(asked).rejects.toThrow(/^the manifest of 127\.0\.0\.1:1\/team\/app:1: the registry cannot be reached or is not allowed$/);
  await expect(asked).rejects.toMatchObject({ detail: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/) as string });
});
