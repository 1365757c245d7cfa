/** Pushing to a real registry process, and what it and another tool give back. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { buildImage, type BuiltImage } from "#images/build/build-image.ts";
import { packEntries } from "#images/build/layer-entries.ts";
import { LayoutFolder } from "#images/build/layout-folder.ts";
import { pushImage, type PushOptions } from "#images/build/push-image.ts";
import { ImageStore } from "#images/image-store.ts";
import { machinePlatform } from "#images/platform.ts";
import { parseReference, type RegistryReference } from "#images/reference.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { systemClock } from "#lib/clock.ts";
import { loopbackRegistries, pullSecret } from "../world/fake-registry.ts";
import { plainConfig } from "../world/image-fixture.ts";
import { password, RealRegistry, user } from "./real-registry.ts";

let registry: RealRegistry;
let closed: RealRegistry;
beforeAll(async () => {
  [registry, closed] = await Promise.all([RealRegistry.start(), RealRegistry.start({ closed: true })]);
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await closed[Symbol.asyncDispose]();
});

let folder: string;
let client: RegistryClient;
let layout: LayoutFolder;
let image: BuiltImage;
const noise = randomBytes(3_000_000);
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-push-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  layout = await LayoutFolder.open(join(folder, "layout"));
  writeFileSync(join(folder, "noise"), noise);
  const layers = [
    () => packEntries([{ kind: "file", path: "noise", content: join(folder, "noise") }]),
    () => packEntries([{ kind: "file", path: "etc/motd", content: Buffer.from("pushed") }]),
  ];
  image = await buildImage(layout, { layers, config: { ...plainConfig, user: "65532" }, platform: machinePlatform() });
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function push(name: string, options: PushOptions = {}): Promise<"pushed" | "present"> {
  return pushImage({ client, layout }, image, parseReference(name) as RegistryReference, options);
}

test("an image that was pushed is pulled by us and by another tool, and is not sent twice", async () => {
  const name = `${registry.host}/team/own:1`;
  expect(await push(name)).toBe("pushed");
  expect(await push(name)).toBe("present");
  await using store = await ImageStore.open({ folder: join(folder, "store"), clock: systemClock, random: Math.random, client });
  const pulled = await store.ensure(name, { pullPolicy: "Always" });
  expect(pulled).toMatchObject({ digest: image.manifest.digest, id: image.config.digest, config: { user: "65532" } });
  expect(pulled.layers.map((layer) => readFileSync(join(layer, layer === pulled.layers.at(-1) ? "noise" : "etc/motd")).length)).toEqual([
    6,
    noise.length,
  ]);
  execFileSync("skopeo", [
    "--insecure-policy",
    "copy",
    "--src-tls-verify=false",
    "-q",
    `docker://${name}`,
    `oci:${join(folder, "copy")}:own`,
  ]);
  const index = JSON.parse(readFileSync(join(folder, "copy/index.json"), "utf8")) as { manifests: { digest: string }[] };
  expect(index.manifests[0]?.digest).toBe(image.manifest.digest);
});

test("the folder in which an image was built is read by another tool and by our own import", async () => {
  await layout.name("own:1", image.manifest);
  execFileSync("skopeo", ["--insecure-policy", "copy", "-q", `oci:${join(folder, "layout")}:own:1`, `dir:${join(folder, "copy")}`]);
  await using store = await ImageStore.open({ folder: join(folder, "store"), clock: systemClock, random: Math.random, client });
  const [stored] = await store.import(join(folder, "layout"), {});
  expect(stored).toMatchObject({ name: "docker.io/library/own:1", digest: image.manifest.digest });
});

test("a registry that wants a password takes images from who has it, and from nobody else", async () => {
  const name = `${closed.host}/team/own:1`;
  await expect(push(name)).rejects.toMatchObject({ code: "unauthorized" });
  await expect(push(name, { secrets: [pullSecret({ [closed.host]: [user, "guess"] })] })).rejects.toMatchObject({ code: "unauthorized" });
  expect(await push(name, { secrets: [pullSecret({ [closed.host]: [user, password] })] })).toBe("pushed");
});

test("nobody there is told as such", async () => {
  const gone = await RealRegistry.start();
  const { host } = gone;
  await gone[Symbol.asyncDispose]();
  await expect(push(`${host}/team/own:1`)).rejects.toThrow(/the registry cannot be reached or is not allowed$/);
});
