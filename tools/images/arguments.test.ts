import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ImageArguments, readArguments } from "./arguments.ts";

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "agentbox-arguments-"));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

function read(...args: readonly string[]): Promise<ImageArguments> {
  return readArguments(args, { AGENTBOX_CACHE: cache }, "1.2.3");
}

function withCluster(content: string): void {
  mkdirSync(join(cache, "cluster"));
  writeFileSync(join(cache, "cluster/cluster.json"), content);
}

test("without a registry, a cluster or a folder it is said what to give", async () => {
  await expect(read()).rejects.toThrow(/REGISTRY=localhost:5000.*make cluster.*OUTPUT=FOLDER/);
  expect(await read("--output", "out")).toMatchObject({ registry: undefined, layout: "out" });
});

test("the registry is the cluster's unless another is given, the tag is the version", async () => {
  withCluster('{"registry":"localhost:5001","kubeconfig":"x"}');
  expect(await read()).toMatchObject({ registry: "localhost:5001", tag: "1.2.3", images: ["agentbox", "daemon", "base"] });
  expect(await read("--output", "out")).toMatchObject({ registry: undefined });
  expect(await read("--registry", "registry.example/team/", "--tag", "v2")).toMatchObject({ registry: "registry.example/team", tag: "v2" });
});

test("a note of a cluster that cannot be read is told", async () => {
  withCluster('{"kubeconfig":"x"}');
  await expect(read()).rejects.toThrow(/cluster\.json has not the form it must have/);
});

test("only some images can be asked for, and none that does not exist", async () => {
  expect((await read("--registry", "x", "--images", "daemon, agentbox")).images).toEqual(["agentbox", "daemon"]);
  await expect(read("--registry", "x", "--images", "daemon,envd")).rejects.toThrow(
    "there is no image envd; the images are agentbox, daemon, base, template-base, template-code-interpreter",
  );
  await expect(read("--registry", "x", "--images", ",")).rejects.toThrow(/the images are/);
});

test("images of templates are built only when they are asked for", async () => {
  expect((await read("--registry", "x")).images).toEqual(["agentbox", "daemon", "base"]);
  expect((await read("--registry", "x", "--images", "template-desktop,base")).images).toEqual(["base", "template-desktop"]);
});
