import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRegistry, loopbackRegistries, pullSecret } from "../../test/world/fake-registry.ts";
import { imageOf, plainConfig } from "../../test/world/image-fixture.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { digestOf } from "./digest.ts";
import { parsePlatform } from "./platform.ts";
import { CachingCommandReader, type CommandReaderDeps } from "./read-command.ts";
import { RegistryClient } from "./registry/client.ts";

const layer = [{ name: "one" }];
const image = imageOf([layer], { config: { entrypoint: ["/entry"], cmd: ["default"] } });
const command = { entrypoint: ["/entry"], cmd: ["default"] };

let clock: SteppedClock;
let registry: FakeRegistry;
let client: RegistryClient;
beforeEach(async () => {
  clock = new SteppedClock();
  registry = await FakeRegistry.start();
  client = new RegistryClient({ clock, random: () => 0.5, settings: loopbackRegistries });
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

function aReader(options: Partial<CommandReaderDeps> = {}): CachingCommandReader {
  return new CachingCommandReader({ client, clock, random: () => 0.5, ...options });
}

test("what an image runs is read from its config, and none of its layers is fetched", async () => {
  const digest = registry.add("app", "1", image);
  expect(await aReader().commandOf(`${registry.host}/app:1`, digest)).toEqual(command);
  expect(registry.asked).toEqual([`GET manifests/${digest}`, `GET blobs/${image.id}`]);
});

test("it is asked for once for each digest, also by many at the same time and a year later", async () => {
  const digest = registry.add("app", "1", image);
  const reader = aReader();
  const ask = (tag: string) => reader.commandOf(`${registry.host}/app:${tag}`, digest);
  await Promise.all([ask("1"), ask("1"), ask("other")]);
  await clock.step(365 * 24 * 3_600_000);
  expect(await ask("1-u7")).toEqual(command);
  expect(registry.requests).toHaveLength(2);
});

test("the digest decides and not the tag, which may mean something else by now", async () => {
  const digest = registry.add("app", "1", image);
  registry.add("app", "1", imageOf([layer], { config: { cmd: ["newer"] } }));
  expect(await aReader().commandOf(`${registry.host}/app:1`, digest)).toEqual(command);
});

describe("of an image for several platforms", () => {
  const [amd, arm] = ["linux/amd64", "linux/arm64"].map((platform) =>
    imageOf([layer], { platform: parsePlatform(platform), config: { cmd: [platform] } }),
  );
  const cmdOf = async (platform: string): Promise<readonly string[]> => {
    const digest = registry.add("app", "1", ...[amd, arm].filter((one) => one !== undefined));
    return (await aReader({ platform: parsePlatform(platform) }).commandOf(`${registry.host}/app:1`, digest)).cmd;
  };

  test("the one for our own processor speaks", async () => {
    expect(await cmdOf("linux/arm64")).toEqual(["linux/arm64"]);
  });

  test("any does, where there is none for ours: nodes may have others", async () => {
    expect(await cmdOf("linux/s390x")).toEqual(["linux/amd64"]);
  });
});

test("an image that this machine has is read there", async () => {
  const reader = aReader({ localConfig: async ({ kind }) => (kind === "host" ? { ...plainConfig, cmd: ["/bin/bash"] } : undefined) });
  expect(await reader.commandOf("host", digestOf("host"))).toEqual({ entrypoint: [], cmd: ["/bin/bash"] });
  const digest = registry.add("app", "1", image);
  expect(await reader.commandOf(`${registry.host}/app:1`, digest)).toEqual(command);
});

test("who may not see an image does not learn what it runs from who may", async () => {
  await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
  const digest = closed.add("app", "1", image);
  const reader = aReader();
  const pullSecrets = [pullSecret({ [closed.host]: ["ann", "secret"] })];
  expect(await reader.commandOf(`${closed.host}/app:1`, digest, { pullSecrets })).toEqual(command);
  await expect(reader.commandOf(`${closed.host}/app:1`, digest)).rejects.toMatchObject({ code: "unauthorized" });
});

test("a config that is not the one that its digest promises is refused", async () => {
  const digest = registry.add("app", "1", image);
  registry.addBlob("app", image.id, Buffer.from(image.config.toString().replace("/entry", "/other")));
  await expect(aReader().commandOf(`${registry.host}/app:1`, digest)).rejects.toMatchObject({ code: "digest_mismatch" });
});
