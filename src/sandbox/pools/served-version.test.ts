import { describe, expect, test } from "vitest";
import type { SandboxPool, ServedVersion } from "#model/sandbox-pool.ts";
import type { PoolTemplate } from "./resolve-template.ts";
import { servedInstead, targetsServed, versionToServe } from "./served-version.ts";

const [appDigest, idleDigest] = [`sha256:${"a".repeat(64)}`, `sha256:${"b".repeat(64)}`];
const digests = { app: appDigest, idle: idleDigest };

function aTemplate(image: string): PoolTemplate {
  return { idleImage: "idle", podCreationImagePolicy: "IdleImage", template: { spec: { containers: [{ name: "main", image }] } } };
}

function poolServing(serving: ServedVersion | undefined): SandboxPool {
  return { metadata: { name: "p" }, spec: { replicas: 1 }, status: { ...(serving && { serving }) } };
}

const served: ServedVersion = {
  templateHash: "h1",
  images: [{ container: "main", image: "app", digest: appDigest }],
  waitingImages: [{ container: "main", image: "idle", digest: idleDigest }],
};

describe("the version that a pool hands out", () => {
  test("has the images that sandboxes run and that idle pods wait on, with their digests", () => {
    expect(versionToServe(aTemplate("app"), "h1", digests)).toEqual(served);
  });

  test("is not known before the digest of every image is", () => {
    expect(versionToServe(aTemplate("app"), "h1", { app: appDigest })).toBeUndefined();
    expect(versionToServe(aTemplate("app"), "h1", { idle: idleDigest })).toBeUndefined();
  });

  test("stays the last one of which a pod became ready, when the template has changed or is gone", () => {
    expect(servedInstead(poolServing(served), aTemplate("app:broken"))).toBe(served);
    expect(servedInstead(poolServing(served), undefined)).toBe(served);
  });

  test("is what the template says where that is served, and where no pod was ever ready", () => {
    expect(servedInstead(poolServing(served), aTemplate("app"))).toBeUndefined();
    expect(servedInstead(poolServing(undefined), aTemplate("app"))).toBeUndefined();
  });

  test("is another one when the template has a container more", () => {
    const template = aTemplate("app");
    const more = {
      template: {
        spec: {
          containers: [
            { name: "main", image: "app" },
            { name: "side", image: "app" },
          ],
        },
      },
    };
    expect(servedInstead(poolServing(served), { ...template, ...more })).toBe(served);
  });

  test("tells the images of a sandbox by container", () => {
    expect(targetsServed(served.images)).toEqual({ main: { image: "app", digest: appDigest } });
  });
});
