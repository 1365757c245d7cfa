/** Pushing to a registry that speaks the real protocol, and misbehaves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { FakeRegistry, type FakeRegistryOptions, loopbackRegistries, pullSecret } from "../../../test/world/fake-registry.ts";
import { plainConfig } from "../../../test/world/image-fixture.ts";
import { patiently } from "../../../test/world/patiently.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { digestOf } from "../digest.ts";
import { parseReference, type RegistryReference } from "../reference.ts";
import { RegistryClient } from "../registry/client.ts";
import type { RegistrySettings } from "../registry/endpoints.ts";
import { buildImage, type BuiltImage } from "./build-image.ts";
import { packEntries } from "./layer-entries.ts";
import { LayoutFolder } from "./layout-folder.ts";
import { pushImage, type PushOptions, type PushProgress } from "./push-image.ts";

const folder = mkdtempSync(join(tmpdir(), "agentbox-push-"));
const open: AsyncDisposable[] = [];
let layout: LayoutFolder;
let image: BuiltImage;
beforeAll(async () => {
  layout = await LayoutFolder.open(folder);
  const layers = ["lower", "upper"].map((name) => () => packEntries([{ kind: "file", path: name, content: Buffer.from(name) }]));
  image = await buildImage(layout, { layers, config: plainConfig, platform: { os: "linux", architecture: "amd64" } });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

async function registryWith(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
  const registry = await FakeRegistry.start(options);
  open.push(registry);
  return registry;
}

interface Setting extends PushOptions {
  readonly name?: string;
  readonly settings?: RegistrySettings;
}

function push(host: string, { name = "team/app:1", settings = {}, ...options }: Setting = {}): Promise<"pushed" | "present"> {
  const clock = new SteppedClock();
  const client = new RegistryClient({ clock, random: () => 0.5, settings: { ...loopbackRegistries, ...settings } });
  open.push(client);
  return patiently(clock, pushImage({ client, layout }, image, parseReference(`${host}/${name}`) as RegistryReference, options));
}

/** What our own client finds there. */
async function isThere(host: string): Promise<boolean> {
  await using client = new RegistryClient({ clock: new SteppedClock(), random: () => 0.5, settings: loopbackRegistries });
  const remote = client.open(parseReference(`${host}/team/app:1`) as RegistryReference);
  if ((await remote.manifest("1")).digest !== image.manifest.digest) return false;
  for (const { digest } of [image.config, ...image.layers]) {
    const parts: Buffer[] = [];
    for await (const part of (await remote.blob(digest, 0)).content) parts.push(part);
    if (digestOf(Buffer.concat(parts)) !== digest) return false;
  }
  return true;
}

function uploads(registry: FakeRegistry): number {
  return registry.requests.filter(({ method, path }) => method === "PUT" && path.includes("/blobs/")).length;
}

describe("an image that is pushed", () => {
  test("is there in full, and its manifest came last", async () => {
    const registry = await registryWith();
    expect(await push(registry.host)).toBe("pushed");
    expect(await isThere(registry.host)).toBe(true);
    const put = registry.requests.filter(({ method }) => method === "PUT").map(({ path }) => path);
    expect(put.findIndex((path) => path.endsWith("/manifests/1"))).toBe(3);
  });

  test("is not sent again: neither as a whole, nor what another image shares with it", async () => {
    const registry = await registryWith();
    await push(registry.host);
    const sent = registry.requests.length;
    expect(await push(registry.host)).toBe("present");
    expect(registry.requests.slice(sent).map(({ method, path }) => `${method} ${path}`)).toEqual(["HEAD /v2/team/app/manifests/1"]);
    expect(await push(registry.host, { name: "team/app:2" })).toBe("pushed");
    expect(uploads(registry)).toBe(3);
  });

  test("tells how far it is", async () => {
    const registry = await registryWith();
    registry.addBlob("team/app", image.config.digest, Buffer.alloc(image.config.size));
    const told: PushProgress[] = [];
    await push(registry.host, { onProgress: (progress) => told.push(progress) });
    const last = new Map(told.map(({ blob, state, bytes }) => [blob.digest, { state, bytes }]));
    expect(last.get(image.config.digest)).toEqual({ state: "present", bytes: image.config.size });
    for (const { digest, size } of image.layers) expect(last.get(digest)).toEqual({ state: "done", bytes: size });
  });

  test("replaces a blob of which the registry has only a part", async () => {
    const registry = await registryWith();
    registry.addBlob("team/app", image.config.digest, Buffer.from("part"));
    await push(registry.host);
    expect(await isThere(registry.host)).toBe(true);
  });

  test.each(["team/app@sha256:" + "0".repeat(64), `team/app:1@sha256:${"0".repeat(64)}`])("cannot be given the name %s", async (name) => {
    await expect(push("localhost:1", { name })).rejects.toMatchObject({ code: "invalid_reference" });
  });
});

describe("a registry that fails", () => {
  test("now and then is asked again", async () => {
    const registry = await registryWith();
    const failed = new Set<string>();
    registry.fault = ({ method, path }) => {
      const asked = `${method} ${path.replace(/uploads\/\d+/, "uploads/")}`;
      return failed.size < failed.add(asked).size ? { status: 503 } : undefined;
    };
    expect(await push(registry.host)).toBe("pushed");
    registry.fault = () => undefined;
    expect(await isThere(registry.host)).toBe(true);
  });

  test("in the middle of a blob gets it again from the beginning", async () => {
    const registry = await registryWith();
    const cut = new Set<string>();
    registry.fault = ({ method, path }) => {
      const digest = path.split("digest=")[1] ?? "";
      if (method !== "PUT" || digest === "" || cut.has(digest)) return undefined;
      cut.add(digest);
      return { cutAfter: 50 };
    };
    expect(await push(registry.host)).toBe("pushed");
    expect(uploads(registry)).toBe(6);
    registry.fault = () => undefined;
    expect(await isThere(registry.host)).toBe(true);
  });

  test("with its answer after all has come is not sent the blob twice", async () => {
    const registry = await registryWith();
    registry.fault = ({ method, path }) => (method === "PUT" && path.includes("/blobs/") ? { cutAnswer: true } : undefined);
    expect(await push(registry.host)).toBe("pushed");
    expect(uploads(registry)).toBe(3);
  });

  test("for good is told, and nothing gets the tag", async () => {
    const registry = await registryWith();
    registry.fault = ({ method }) =>
      method === "POST" ? { status: 500, body: '{"errors":[{"code":"UNKNOWN","message":"disk full"}]}' } : undefined;
    const failed = push(registry.host);
    await expect(failed).rejects.toMatchObject({ code: "registry_failed" });
    await expect(failed).rejects.toThrow(/the upload of sha256:\w+ to .*\/team\/app: the registry answered 500$/);
    expect(registry.requests.some(({ method, path }) => method === "PUT" && path.includes("manifests"))).toBe(false);
  });

  test("to answer is given up when the caller gives up", async () => {
    const registry = await registryWith();
    registry.fault = ({ method }) => (method === "PUT" ? { hangs: true } : undefined);
    const abort = new AbortController();
    const pushing = push(registry.host, { signal: abort.signal });
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(pushing).rejects.toBe(reason);
  });

  test.each([{ location: "" }, { location: "ftp://x.example/upload" }])("by sending us nowhere is told: %j", async (headers) => {
    const registry = await registryWith();
    registry.fault = ({ method }) => (method === "POST" ? { status: 202, headers: headers.location === "" ? {} : headers } : undefined);
    await expect(push(registry.host)).rejects.toMatchObject({ code: "registry_protocol" });
  });

  test("by taking another manifest than was sent is told", async () => {
    const registry = await registryWith();
    registry.fault = ({ method, path }) =>
      method === "PUT" && path.includes("manifests") ? { headers: { "docker-content-digest": digestOf("other") } } : undefined;
    await expect(push(registry.host)).rejects.toMatchObject({ code: "digest_mismatch" });
  });
});

describe("who may push", () => {
  const users = { ann: "secret" };

  test.each(["basic", "bearer"] as const)("proves it, with %s", async (scheme) => {
    const registry = await registryWith({ users, scheme });
    const secrets = [pullSecret({ [registry.host]: ["ann", "secret"] })];
    expect(await push(registry.host, { secrets })).toBe("pushed");
    const scopes = registry.requests.flatMap(({ path }) => new URLSearchParams(path.split("?")[1]).get("scope") ?? []);
    expect(new Set(scopes)).toEqual(new Set(scheme === "bearer" ? ["repository:team/app:pull,push"] : []));
  });

  test.each(["basic", "bearer"] as const)("and cannot is told at once, without the password, with %s", async (scheme) => {
    const registry = await registryWith({ users, scheme });
    await expect(push(registry.host)).rejects.toMatchObject({ code: "unauthorized" });
    const wrong = push(registry.host, { secrets: [pullSecret({ [registry.host]: ["ann", "guess"] })] });
    await expect(wrong).rejects.toMatchObject({ code: "unauthorized" });
    await expect(wrong).rejects.not.toThrow(/guess/);
  });

  test("does not show his password where uploads are sent to", async () => {
    const elsewhere = await registryWith();
    const registry = await registryWith({ users, scheme: "basic" });
    registry.fault = ({ method, path, authorization }) =>
      method === "POST" && authorization !== undefined
        ? { status: 202, headers: { location: `http://${elsewhere.host}${path}1?state=x` } }
        : undefined;
    const secrets = [pullSecret({ [registry.host]: ["ann", "secret"], [elsewhere.host]: ["ann", "secret"] })];
    await push(registry.host, { secrets });
    expect(uploads(elsewhere)).toBe(3);
    expect(elsewhere.requests.map(({ authorization }) => authorization)).toEqual([undefined, undefined, undefined]);
  });
});

test("a mirror is not pushed to", async () => {
  const [registry, mirror] = [await registryWith(), await registryWith()];
  await push(registry.host, { settings: { mirrors: { [registry.host]: [mirror.host] } } });
  expect(await isThere(registry.host)).toBe(true);
  expect(mirror.requests).toEqual([]);
});
