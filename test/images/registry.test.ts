/** Pulling from a real registry process. */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { digestOf } from "#images/digest.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { systemClock } from "#lib/clock.ts";
import { loopbackRegistries, pullSecret } from "../world/fake-registry.ts";
import { imageOf } from "../world/image-fixture.ts";
import { layerOf } from "../world/layer-archive.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { password, RealRegistry, user } from "./real-registry.ts";

const base = layerOf([{ name: "etc/" }, { name: "etc/motd", content: "base" }, { name: "etc/old", content: "old" }]);
const top = layerOf([{ name: "etc/" }, { name: "etc/.wh.old" }, { name: "bin/" }, { name: "bin/su", mode: 0o4755, content: "su" }], "zstd");
const image = imageOf([base, top], { config: { cmd: ["/bin/su"] } });
/** Bytes that do not compress: four megabytes on the wire. */
const large = imageOf([layerOf([{ name: "noise", content: randomBytes(4_000_000) }])]);

let registry: RealRegistry;
let closed: RealRegistry;
beforeAll(async () => {
  [registry, closed] = await Promise.all([RealRegistry.start(), RealRegistry.start({ closed: true })]);
  for (const one of [registry, closed]) await one.push("team/app", "1", image);
  await registry.push("team/large", "1", large);
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await closed[Symbol.asyncDispose]();
});

let folder: string;
let client: RegistryClient;
let store: ImageStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-pull-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  store = await ImageStore.open({ folder: join(folder, "images"), clock: systemClock, random: Math.random, client });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** What a container would see. */
function inside<T>(pulled: ResolvedImage, look: (root: string) => T): T {
  const [place, empty] = [join(folder, "mount"), join(folder, "empty")];
  for (const path of [place, empty]) mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${[...pulled.layers, empty].join(":")}`, place]);
  try {
    return look(place);
  } finally {
    execFileSync("umount", [place]);
  }
}

describe("an image in a real registry", () => {
  test("is pulled by tag and mounted", async () => {
    const pulled = await store.ensure(`${registry.host}/team/app:1`, { pullPolicy: "IfNotPresent" });
    expect(pulled).toMatchObject({ id: image.id, digest: image.digest, config: { cmd: ["/bin/su"] } });
    inside(pulled, (root) => {
      expect(readdirSync(join(root, "etc"))).toEqual(["motd"]);
      expect(readFileSync(join(root, "etc/motd"), "utf8")).toBe("base");
      expect(statSync(join(root, "bin/su")).mode & 0o7777).toBe(0o4755);
    });
  });

  test("is pulled by digest with a tag beside it that nobody knows, and then is here", async () => {
    const pulled = await store.ensure(`${registry.host}/team/app:swap-u1@${image.digest}`, { pullPolicy: "IfNotPresent" });
    expect(pulled.id).toBe(image.id);
    expect(await store.ensure(`${registry.host}/team/app:swap-u2@${image.digest}`, { pullPolicy: "Never" })).toEqual(pulled);
  });

  test("is asked about with Always, and not fetched again", async () => {
    const first = await store.ensure(`${registry.host}/team/app:1`, { pullPolicy: "Always" });
    expect(await store.ensure(`${registry.host}/team/app:1`, { pullPolicy: "Always" })).toEqual(first);
    await registry.push("team/moving", "1", image);
    await store.ensure(`${registry.host}/team/moving:1`, { pullPolicy: "Always" });
    await registry.push("team/moving", "1", large);
    expect((await store.ensure(`${registry.host}/team/moving:1`, { pullPolicy: "Always" })).id).toBe(large.id);
  });

  test.each(["team/app:none", "team/none:1", `team/app@${digestOf("nothing")}`])("%s is not found", async (name) => {
    await expect(store.ensure(`${registry.host}/${name}`, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a registry that wants a password", () => {
  const ensure = (...secret: [string, string] | []): Promise<ResolvedImage> => {
    const pullSecrets = secret.length === 0 ? [] : [pullSecret({ [closed.host]: secret })];
    return store.ensure(`${closed.host}/team/app:1`, { pullPolicy: "IfNotPresent", pullSecrets });
  };

  test("gives nothing without one or with a wrong one", async () => {
    await expect(ensure()).rejects.toMatchObject({ code: "unauthorized" });
    await expect(ensure(user, "guess")).rejects.toMatchObject({ code: "unauthorized" });
    expect(await store.list()).toEqual([]);
  });

  test("gives the image with the right one", async () => {
    expect((await ensure(user, password)).id).toBe(image.id);
  });
});

describe("a broken layer", () => {
  test("that was tampered with on the registry's disk is refused, and nothing of it stays", async () => {
    const victim = imageOf([layerOf([{ name: "file", content: randomBytes(50_000) }])]);
    await registry.push("team/victim", "1", victim);
    registry.damage(victim.layers[0]?.digest ?? digestOf(""));
    await expect(store.ensure(`${registry.host}/team/victim:1`, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({
      code: "digest_mismatch",
    });
    expect(await store.list()).toEqual([]);
    expect(readdirSync(join(folder, "images/layers"))).toEqual([]);
    await store.gc();
    expect(readdirSync(join(folder, "images/blobs"))).toEqual([]);
  });

  test("that the registry has lost is told as such", async () => {
    const victim = imageOf([base, layerOf([{ name: "file", content: randomBytes(50_000) }])]);
    await registry.push("team/lost", "1", victim);
    registry.lose(victim.layers[1]?.digest ?? digestOf(""));
    await expect(store.ensure(`${registry.host}/team/lost:1`, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
  });
});

test("a layer comes whole over a connection that is cut again and again", async () => {
  await using proxy = await CuttingProxy.start(registry.host, [500_000, 1_000_000, 700_000]);
  const started = performance.now();
  const pulled = await store.ensure(`${proxy.host}/team/large:1`, { pullPolicy: "IfNotPresent" });
  expect(pulled.id).toBe(large.id);
  expect(proxy.cuts).toBe(3);
  expect(performance.now() - started).toBeLessThan(30_000);
});

describe("what another tool makes of an image", () => {
  const skopeo = (...args: string[]): void =>
    void execFileSync("skopeo", ["--insecure-policy", "copy", "--src-tls-verify=false", "-q", ...args], {
      stdio: ["ignore", "ignore", "inherit"],
    });

  test("as an archive of docker save is imported", async () => {
    const path = join(folder, "saved.tar");
    // The tool does not know zstd in this form.
    await registry.push("team/gzip", "1", imageOf([base, layerOf([{ name: "etc/.wh.old" }])]));
    skopeo(`docker://${registry.host}/team/gzip:1`, `docker-archive:${path}:example.test/saved:2`);
    const [stored] = await store.import(path, {});
    expect(stored).toMatchObject({ name: "example.test/saved:2", source: "import" });
    const ready = await store.ensure("example.test/saved:2", { pullPolicy: "Always" });
    inside(ready, (root) => expect(readdirSync(join(root, "etc"))).toEqual(["motd"]));
  });

  test("as an OCI layout is imported, as folder and as tar, with the registry's digest", async () => {
    skopeo(`docker://${registry.host}/team/app:1`, `oci:${join(folder, "layout")}:v3`);
    skopeo(`docker://${registry.host}/team/app:1`, `oci-archive:${join(folder, "layout.tar")}:v4`);
    expect(await store.import(join(folder, "layout"), { name: "mine" })).toMatchObject([
      { name: "docker.io/library/mine:v3", digest: image.digest },
    ]);
    expect(await store.import(join(folder, "layout.tar"), { name: "mine" })).toMatchObject([
      { name: "docker.io/library/mine:v4", digest: image.digest },
    ]);
  });
});

test("two processes that want one image fetch and unpack it once", async () => {
  const script = `
    import { ImageStore } from "#images/image-store.ts";
    import { RegistryClient } from "#images/registry/client.ts";
    import { systemClock } from "#lib/clock.ts";
    const client = new RegistryClient({ clock: systemClock, random: Math.random, settings: ${JSON.stringify(loopbackRegistries)} });
    const store = await ImageStore.open({ folder: process.argv[1], clock: systemClock, random: Math.random, client });
    const image = await store.ensure(process.argv[2], { pullPolicy: "IfNotPresent" });
    console.log(image.layers.join());
    await store[Symbol.asyncDispose]();
    await client[Symbol.asyncDispose]();
  `;
  const run = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const args = ["--input-type=module", "-e", script, join(folder, "images"), `${registry.host}/team/large:1`];
      execFile(process.execPath, args, { cwd: join(import.meta.dirname, "../..") }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
    });
  const [first, second, third] = await Promise.all([
    run(),
    run(),
    store.ensure(`${registry.host}/team/large:1`, { pullPolicy: "IfNotPresent" }),
  ]);
  expect(first).toBe(second);
  expect(first.trim()).toBe(third.layers.join());
  expect(readdirSync(join(folder, "images/layers")).length).toBe(1);
});
