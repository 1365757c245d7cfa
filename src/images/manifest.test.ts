import { describe, expect, test } from "vitest";
import { type Digest, digestOf } from "./digest.ts";
import { isImageError } from "./image-error.ts";
import { chainIds, parseConfig, writeConfig } from "./image-config.ts";
import { plainConfig } from "../../test/world/image-fixture.ts";
import { manifestFor, mediaTypes, parseManifest, writeManifest } from "./manifest.ts";
import { parsePlatform } from "./platform.ts";

const config = { mediaType: mediaTypes.config, digest: digestOf("config"), size: 6 };
const layer = { mediaType: mediaTypes.layerGzip, digest: digestOf("layer"), size: 5 };

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (isImageError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a manifest", () => {
  test.each([
    [mediaTypes.manifest, mediaTypes.layerTar],
    [mediaTypes.manifest, mediaTypes.layerGzip],
    [mediaTypes.manifest, mediaTypes.layerZstd],
    [mediaTypes.dockerManifest, "application/vnd.docker.image.rootfs.diff.tar.gzip"],
    [mediaTypes.dockerManifest, "application/vnd.docker.image.rootfs.diff.tar"],
  ])("of type %s with layers of type %s is read", (mediaType, layerType) => {
    const layers = [{ ...layer, mediaType: layerType }];
    expect(parseManifest(json({ schemaVersion: 2, mediaType, config, layers }), "it")).toEqual({ kind: "manifest", config, layers });
  });

  test("without a media type of its own is judged by its form, or by what the registry says", () => {
    const text = json({ schemaVersion: 2, config, layers: [layer] });
    expect(parseManifest(text, "it").kind).toBe("manifest");
    expect(parseManifest(text, "it", `${mediaTypes.manifest}; charset=utf-8`).kind).toBe("manifest");
    expect(refusal(() => parseManifest(text, "it", mediaTypes.index)).code).toBe("unsupported");
  });

  test("that we write is one that we read", () => {
    expect(parseManifest(writeManifest(config, [layer]), "it")).toEqual({ kind: "manifest", config, layers: [layer] });
  });

  test.each([
    ["Docker's schema 1", { schemaVersion: 1, fsLayers: [] }, "unsupported", /schema 1.*push the image again/],
    ["a manifest and an index at once", { schemaVersion: 2, config, layers: [], manifests: [] }, "broken_content", /at once/],
    ["neither of them", { schemaVersion: 2 }, "broken_content", /neither/],
    ["another type", { schemaVersion: 2, mediaType: "application/vnd.example+json", config, layers: [] }, "unsupported", /vnd\.example/],
    [
      "a foreign layer",
      { schemaVersion: 2, config, layers: [{ ...layer, urls: ["https://elsewhere.example"] }] },
      "unsupported",
      /elsewhere/,
    ],
    [
      "a layer that must not be distributed",
      { schemaVersion: 2, config, layers: [{ ...layer, mediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar" }] },
      "unsupported",
      /fetched from elsewhere/,
    ],
    [
      "an encrypted layer",
      { schemaVersion: 2, config, layers: [{ ...layer, mediaType: `${mediaTypes.layerGzip}+encrypted` }] },
      "unsupported",
      /tar, plain or compressed/,
    ],
    ["a digest of another sort", { schemaVersion: 2, config: { ...config, digest: "md5:abc" }, layers: [] }, "broken_content", /md5:abc/],
    [
      "a path for a digest",
      { schemaVersion: 2, config: { ...config, digest: "sha256:../../etc/passwd" }, layers: [] },
      "broken_content",
      /64 hex/,
    ],
    ["a negative size", { schemaVersion: 2, config: { ...config, size: -1 }, layers: [] }, "broken_content", /config\.size/],
    ["too many layers", { schemaVersion: 2, config, layers: Array.from({ length: 501 }, () => layer) }, "broken_content", /layers/],
  ])("%s is refused", (_what, value, code, message) => {
    const refused = refusal(() => parseManifest(json(value), "the manifest of app:1"));
    expect(refused.code).toBe(code);
    expect(refused.message).toMatch(message);
    expect(refused.message).toContain("the manifest of app:1");
  });

  test("text that is not JSON is refused", () => {
    expect(refusal(() => parseManifest(Buffer.from("<html>"), "it"))).toMatchObject({ code: "broken_content" });
  });
});

describe("an index", () => {
  const entry = (platform: string, digest: Digest): object => ({
    mediaType: mediaTypes.manifest,
    digest,
    size: 1,
    platform: parsePlatform(platform),
  });
  const index = (...manifests: object[]) => {
    const parsed = parseManifest(json({ schemaVersion: 2, mediaType: mediaTypes.index, manifests }), "it");
    if (parsed.kind !== "index") throw new Error("not an index");
    return parsed;
  };

  test("gives the manifest for a platform", () => {
    const offered = index(entry("linux/arm64", digestOf("arm")), entry("linux/amd64", digestOf("amd")));
    expect(manifestFor(offered, parsePlatform("linux/arm64"), "app:1").digest).toBe(digestOf("arm"));
  });

  test("without the platform says what there is", () => {
    const offered = index(entry("linux/arm64", digestOf("arm")), entry("unknown/unknown", digestOf("attestation")));
    const refused = refusal(() => manifestFor(offered, parsePlatform("linux/amd64"), "app:1"));
    expect(refused).toEqual({ code: "no_platform", message: "app:1 is not there for linux/amd64, only for linux/arm64" });
  });

  test("with a single manifest that names no platform gives that one", () => {
    const offered = index({ mediaType: mediaTypes.manifest, digest: digestOf("only"), size: 1 });
    expect(manifestFor(offered, parsePlatform("linux/amd64"), "it").digest).toBe(digestOf("only"));
  });
});

describe("a config", () => {
  test("is read with all that matters for starting", () => {
    const file = parseConfig(
      json({
        os: "linux",
        architecture: "arm",
        variant: "v7",
        config: {
          Env: ["PATH=/bin"],
          Entrypoint: ["/init"],
          Cmd: ["serve"],
          User: "1000:1000",
          WorkingDir: "/srv",
          StopSignal: "SIGINT",
          Labels: { a: "b" },
          ExposedPorts: { "80/tcp": {} },
        },
        rootfs: { type: "layers", diff_ids: [digestOf("x")] },
      }),
      "it",
    );
    expect(file).toEqual({
      platform: { os: "linux", architecture: "arm", variant: "v7" },
      config: {
        env: ["PATH=/bin"],
        entrypoint: ["/init"],
        cmd: ["serve"],
        user: "1000:1000",
        workingDir: "/srv",
        stopSignal: "SIGINT",
        labels: { a: "b" },
      },
      diffIds: [digestOf("x")],
    });
  });

  test.each([
    ["absent", undefined],
    ["null", null],
    ["null inside", { Env: null, Cmd: null, Entrypoint: null, Labels: null, User: null }],
  ])("whose settings are %s has none", (_what, settings) => {
    const file = parseConfig(json({ config: settings, rootfs: { type: "layers", diff_ids: [] } }), "it");
    expect(file.config).toEqual({ env: [], entrypoint: [], cmd: [], user: "", workingDir: "", labels: {} });
  });

  test("that we write is one that we read", () => {
    const file = {
      platform: { os: "linux", architecture: "amd64" },
      config: {
        env: ["A=b"],
        entrypoint: [],
        cmd: ["/bin/sh"],
        user: "user",
        workingDir: "/home/user",
        stopSignal: "SIGTERM",
        labels: { a: "b" },
      },
      diffIds: [digestOf("x"), digestOf("y")],
    };
    expect(parseConfig(writeConfig(file), "it")).toEqual(file);
  });

  test("with a diff id that is none is refused", () => {
    const text = json({ rootfs: { type: "layers", diff_ids: ["nonsense"] } });
    expect(refusal(() => parseConfig(text, "the config"))).toMatchObject({ code: "broken_content" });
  });
});

describe("chain ids", () => {
  test("follow the OCI rule: the lowest is its diff id, each further one hashes the one below and its own", () => {
    const [a, b, c] = [digestOf("a"), digestOf("b"), digestOf("c")];
    const ab = digestOf(`${a} ${b}`);
    expect(chain([a, b, c])).toEqual([a, ab, digestOf(`${ab} ${c}`)]);
  });

  test("the same layer over another one has another chain id", () => {
    const [a, b, c] = [digestOf("a"), digestOf("b"), digestOf("c")];
    expect(chain([a, c])[1]).not.toBe(chain([b, c])[1]);
  });
});

function chain(diffIds: readonly Digest[]): readonly Digest[] {
  return chainIds({ diffIds, config: plainConfig });
}
