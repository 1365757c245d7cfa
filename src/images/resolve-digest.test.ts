import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRegistry, loopbackRegistries, pullSecret } from "../../test/world/fake-registry.ts";
import { imageOf } from "../../test/world/image-fixture.ts";
import { patiently } from "../../test/world/patiently.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { digestOf } from "./digest.ts";
import { parsePlatform } from "./platform.ts";
import { RegistryClient } from "./registry/client.ts";
import { CachingDigestResolver, type DigestResolverDeps, type ResolveOptions } from "./resolve-digest.ts";

const first = imageOf([[{ name: "one" }]], { platform: parsePlatform("linux/amd64") });
const second = imageOf([[{ name: "two" }]], { platform: parsePlatform("linux/arm64") });

let clock: SteppedClock;
let registry: FakeRegistry;
let client: RegistryClient;
let resolver: CachingDigestResolver;
beforeEach(async () => {
  clock = new SteppedClock();
  registry = await FakeRegistry.start();
  client = new RegistryClient({ clock, random: () => 0.5, settings: loopbackRegistries });
  resolver = newResolver();
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

function newResolver(options: Partial<DigestResolverDeps> = {}): CachingDigestResolver {
  return new CachingDigestResolver({ client, clock, ttlMs: 60_000, refusedTtlMs: 10_000, failedTtlMs: 1000, ...options });
}

async function resolve(name: string, options?: ResolveOptions): Promise<string> {
  return (await resolver.resolve(`${registry.host}/${name}`, options)).digest;
}

describe("a tag", () => {
  test("means what the registry says, with one question", async () => {
    const digest = registry.add("app", "1", first, second);
    expect(await resolve("app:1")).toBe(digest);
    expect(registry.asked).toEqual(["HEAD manifests/1"]);
  });

  test("means the manifest of a platform, if one is named", async () => {
    registry.add("app", "1", first, second);
    registry.add("app", "plain", first);
    expect(await resolve("app:1", { platform: parsePlatform("linux/amd64") })).toBe(first.digest);
    expect(await resolve("app:1", { platform: parsePlatform("linux/arm64") })).toBe(second.digest);
    expect(await resolve("app:plain", { platform: parsePlatform("linux/amd64") })).toBe(first.digest);
    await expect(resolve("app:1", { platform: parsePlatform("linux/mips") })).rejects.toMatchObject({ code: "no_platform" });
  });

  test("is asked for again when the answer is old", async () => {
    registry.add("app", "1", first);
    await resolve("app:1");
    registry.add("app", "1", second);
    await clock.step(59_000);
    expect(await resolve("app:1")).toBe(first.digest);
    await clock.step(2000);
    expect(await resolve("app:1")).toBe(second.digest);
    expect(registry.requests.length).toBe(2);
  });

  test("is asked for separately with other secrets", async () => {
    await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
    closed.add("app", "1", first);
    const name = `${closed.host}/app:1`;
    const pullSecrets = [pullSecret({ [closed.host]: ["ann", "secret"] })];
    expect((await resolver.resolve(name, { pullSecrets })).digest).toBe(first.digest);
    await expect(resolver.resolve(name)).rejects.toMatchObject({ code: "unauthorized" });
    expect((await resolver.resolve(name, { pullSecrets })).digest).toBe(first.digest);
  });
});

test("a digest means itself, and nobody is asked", async () => {
  expect(await resolve(`app:1-u3@${first.digest}`, { platform: parsePlatform("linux/mips") })).toBe(first.digest);
  expect(registry.requests).toEqual([]);
});

describe("a digest that must be proven", () => {
  const pullSecrets = (host: string): string[] => [pullSecret({ [host]: ["ann", "secret"] })];

  test("is asked for with the caller's secrets, once for as long as the process runs", async () => {
    await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
    closed.add("app", "1", first);
    const name = `${closed.host}/app:1@${first.digest}`;
    const proven = (): Promise<object> => resolver.resolve(name, { isProof: true, pullSecrets: pullSecrets(closed.host) });
    expect(await proven()).toEqual({ digest: first.digest });
    const asked = closed.requests.length;
    await clock.step(24 * 3_600_000);
    expect(await proven()).toEqual({ digest: first.digest });
    expect(closed.requests.length).toBe(asked);
  });

  test("is not given to others because it was given to one", async () => {
    await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
    closed.add("app", "1", first);
    const name = `${closed.host}/app@${first.digest}`;
    await resolver.resolve(name, { isProof: true, pullSecrets: pullSecrets(closed.host) });
    await expect(resolver.resolve(name, { isProof: true })).rejects.toMatchObject({ code: "unauthorized" });
    const wrong = [pullSecret({ [closed.host]: ["ann", "guess"] })];
    await expect(resolver.resolve(name, { isProof: true, pullSecrets: wrong })).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("is not proven by a registry that repeats it without having it", async () => {
    registry.fault = ({ method }) =>
      method === "HEAD" ? { status: 200, headers: { "docker-content-digest": first.digest } } : { status: 200, body: "{}" };
    await expect(resolve(`app@${first.digest}`, { isProof: true })).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  test("needs no proof when this machine alone has the image", async () => {
    resolver = newResolver({ localDigest: () => Promise.resolve(first.digest) });
    expect(await resolve(`app@${first.digest}`, { isProof: true })).toBe(first.digest);
    expect(registry.requests).toEqual([]);
  });
});

describe("an image that only this machine has", () => {
  test("is answered without a registry", async () => {
    resolver = newResolver({
      localDigest: (reference) => Promise.resolve(reference.kind === "host" ? digestOf("host") : digestOf("imported")),
    });
    expect((await resolver.resolve("host")).digest).toBe(digestOf("host"));
    expect(await resolve("app:1")).toBe(digestOf("imported"));
    expect(registry.requests).toEqual([]);
  });

  test("is not remembered: it may be imported or removed at any time", async () => {
    registry.add("app", "1", first);
    let local = undefined as ReturnType<typeof digestOf> | undefined;
    resolver = newResolver({ localDigest: () => Promise.resolve(local) });
    expect(await resolve("app:1")).toBe(first.digest);
    local = digestOf("imported");
    expect(await resolve("app:1")).toBe(local);
  });

  test("host without a machine to offer is refused", async () => {
    await expect(resolver.resolve("host")).rejects.toMatchObject({ code: "unsupported" });
  });
});

describe("a refusal", () => {
  test("counts for a while", async () => {
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "not_found" });
    registry.add("app", "1", first);
    await clock.step(9000);
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "not_found" });
    expect(registry.requests.length).toBe(1);
    await clock.step(2000);
    expect(await resolve("app:1")).toBe(first.digest);
  });

  test("for having asked too often counts as long as the registry says", async () => {
    registry.fault = () => ({ status: 429, headers: { "retry-after": "120" } });
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "rate_limited" });
    await clock.step(119_000);
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "rate_limited" });
    expect(registry.requests.length).toBe(1);
  });

  test("for having asked too often counts for an hour at most", async () => {
    registry.fault = () => ({ status: 429, headers: { "retry-after": "31536000" } });
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "rate_limited" });
    registry.fault = () => undefined;
    registry.add("app", "1", first);
    await clock.step(3_600_001);
    expect(await resolve("app:1")).toBe(first.digest);
  });

  test("that is a failure of the registry counts shortly", async () => {
    registry.fault = () => ({ status: 500 });
    await expect(patiently(clock, resolve("app:1"))).rejects.toMatchObject({ code: "registry_failed" });
    const before = registry.requests.length;
    await expect(resolve("app:1")).rejects.toMatchObject({ code: "registry_failed" });
    expect(registry.requests.length).toBe(before);
    registry.fault = () => undefined;
    registry.add("app", "1", first);
    await clock.step(1001);
    expect(await resolve("app:1")).toBe(first.digest);
  });
});

describe("many who ask at once", () => {
  test("share one question", async () => {
    registry.add("app", "1", first);
    const all = await Promise.all(Array.from({ length: 20 }, () => resolve("app:1")));
    expect(new Set(all)).toEqual(new Set([first.digest]));
    expect(registry.requests.length).toBe(1);
  });

  test("do not end it for each other", async () => {
    registry.add("app", "1", first);
    const abort = new AbortController();
    const [leaving, staying] = [resolve("app:1", { signal: abort.signal }), resolve("app:1")];
    setImmediate(() => abort.abort(new Error("no longer wanted")));
    await expect(leaving).rejects.toThrow("no longer wanted");
    expect(await staying).toBe(first.digest);
  });

  test("and all leave end it, and it does not count as a refusal", async () => {
    registry.add("app", "1", first);
    let hold = true;
    registry.fault = () => (hold ? { status: 503 } : undefined);
    const abort = new AbortController();
    const leaving = [resolve("app:1", { signal: abort.signal }), resolve("app:1", { signal: abort.signal })];
    setTimeout(() => abort.abort(new Error("no longer wanted")), 20);
    for (const one of leaving) await expect(one).rejects.toThrow("no longer wanted");
    hold = false;
    expect(await resolve("app:1")).toBe(first.digest);
  });

  test("an abort from the start asks nobody", async () => {
    await expect(resolve("app:1", { signal: AbortSignal.abort(new Error("no longer wanted")) })).rejects.toThrow("no longer wanted");
    expect(registry.requests).toEqual([]);
  });
});

test("only so many answers are kept", async () => {
  registry.add("app", "first", first);
  await resolve("app:first");
  registry.fault = ({ path }) => (path.endsWith("/first") ? undefined : { status: 404 });
  await Promise.all(Array.from({ length: 1000 }, (_, index) => resolve(`app:${index}`).catch(() => undefined)));
  const before = registry.requests.length;
  await resolve("app:first");
  expect(registry.requests.length).toBe(before + 1);
});
