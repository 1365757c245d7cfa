import { describe, expect, test } from "vitest";
import { factsOf, sourcesOf, type Written } from "../../../../../../test/world/rendered-container.ts";
import type { ContainerMount } from "../../pod-runtime.ts";
import type { Volume } from "#model/kubernetes.generated.ts";
import { containerMounts } from "./volumes.ts";

function mount(volume: Omit<Volume, "name">, more: Omit<Written, "container"> = {}): ContainerMount | undefined {
  const written: Written = {
    ...more,
    container: { volumeMounts: [{ name: "v", mountPath: "/v" }] },
    spec: { volumes: [{ name: "v", ...volume }], ...more.spec },
  };
  const { container, ...facts } = factsOf(written);
  return containerMounts(facts, container, sourcesOf(written))[0];
}

function files(volume: Omit<Volume, "name">, more: Omit<Written, "container"> = {}): Record<string, string> {
  const found = mount(volume, more);
  if (found?.kind !== "files") throw new Error("no files");
  return Object.fromEntries(found.files.map(({ path, content, mode }) => [path, `${Buffer.from(content).toString()} ${mode.toString(8)}`]));
}

describe("emptyDir", () => {
  test("is a folder of the pod, on disk and without a limit unless the pod says so", () => {
    expect(mount({ emptyDir: {} })).toEqual({ kind: "emptyDir", name: "v", path: "/v", readOnly: false, memory: false });
  });

  test("in memory, with a limit in bytes, belonging to the pod's group", () => {
    const spec = { securityContext: { fsGroup: 2000 } };
    expect(mount({ emptyDir: { medium: "Memory", sizeLimit: "64Mi" } }, { spec })).toMatchObject({
      memory: true,
      sizeBytes: 67_108_864,
      group: 2000,
    });
  });
});

describe("files", () => {
  test("a ConfigMap is a folder of its keys, text and binary", () => {
    const more = { configMaps: { c: { "app.conf": "x=1" } }, binary: { c: { blob: "ÿ" } } };
    expect(files({ configMap: { name: "c" } }, more)).toEqual({ "app.conf": "x=1 644", blob: "ÿ 644" });
  });

  test("of chosen keys, under other names, with modes of their own", () => {
    const items = [
      { key: "a", path: "sub/first", mode: 0o600 },
      { key: "b", path: "second" },
    ];
    expect(files({ secret: { secretName: "s", items, defaultMode: 0o440 } }, { secrets: { s: { a: "1", b: "2", c: "3" } } })).toEqual({
      "sub/first": "1 600",
      second: "2 440",
    });
  });

  test("what the pod's group owns it can read", () => {
    const more = { secrets: { s: { a: "1" } }, spec: { securityContext: { fsGroup: 7 } } };
    expect(files({ secret: { secretName: "s", defaultMode: 0o400 } }, more)).toEqual({ a: "1 440" });
    expect(mount({ secret: { secretName: "s" } }, more)).toMatchObject({ group: 7 });
  });

  test("the downward API writes what the pod is", () => {
    const items = [
      { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
      { path: "cpu", resourceFieldRef: { containerName: "main", resource: "limits.cpu" } },
    ];
    expect(files({ downwardAPI: { items } }, { metadata: { labels: { app: "x" } } })).toEqual({ labels: 'app="x" 644', cpu: "8 644" });
  });

  test("a projected volume lays several sources over each other, the last one on top", () => {
    const sources = [{ configMap: { name: "c" } }, { secret: { name: "s", items: [{ key: "k", path: "a" }] } }];
    expect(
      files({ projected: { sources, defaultMode: 0o400 } }, { configMaps: { c: { a: "old", b: "2" } }, secrets: { s: { k: "new" } } }),
    ).toEqual({
      a: "new 400",
      b: "2 400",
    });
  });

  test("an optional source that is missing is empty", () => {
    expect(files({ configMap: { name: "c", optional: true } })).toEqual({});
    expect(files({ secret: { secretName: "s", optional: true, items: [{ key: "k", path: "p" }] } })).toEqual({});
  });

  test.each<[string, Omit<Volume, "name">, string]>([
    ["an object that is missing", { configMap: { name: "c" } }, 'MountVolume.SetUp failed for volume "v" : configmap "c" not found'],
    ["a key that is missing", { secret: { secretName: "s", items: [{ key: "k", path: "p" }] } }, 'secret "s" has no key "k"'],
    [
      "a path that leads outside",
      { secret: { secretName: "s", items: [{ key: "there", path: "../p" }] } },
      "is not a path inside the volume",
    ],
    ["a path from the root", { secret: { secretName: "s", items: [{ key: "there", path: "/p" }] } }, "is not a path inside the volume"],
    ["a file of nothing", { downwardAPI: { items: [{ path: "p" }] } }, "names nothing to be written"],
  ])("%s is refused", (_, volume, message) => {
    expect(() => mount(volume, { secrets: { s: { there: "1" } } })).toThrow(message);
  });
});

test("a mount of no volume is refused", () => {
  const { container, ...facts } = factsOf({ container: { volumeMounts: [{ name: "gone", mountPath: "/v" }] } });
  expect(() => containerMounts(facts, container, sourcesOf({}))).toThrow('the pod has no volume "gone" to mount at /v');
});
