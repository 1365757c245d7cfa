import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient, Patch } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import type { Manifest } from "../manifest/read-manifests.ts";
import { applyObject, type Applying, type Outcome } from "./apply-object.ts";
import { withLastApplied } from "./last-applied.ts";

function manifest(type: ResourceType, object: object): Manifest {
  const placed: ApiObject = { apiVersion: "v1", kind: type.kind, metadata: { name: "x", namespace: "a" }, ...object };
  return { source: "x.yaml", type, object: placed, name: placed.metadata.name ?? "", namespace: "a" };
}

interface Run {
  readonly outcome: Promise<Outcome>;
  readonly clock: SteppedClock;
  readonly patches: Patch[];
  readonly warnings: string[];
}

/** Applies a manifest where `stored` is on the server; `conflicts` times its patch comes too late. */
function run(given: Manifest, stored: ApiObject | undefined, conflicts = 0, more: Partial<Applying> = {}): Run {
  const clock = new SteppedClock();
  const patches: Patch[] = [];
  const warnings: string[] = [];
  let left = conflicts;
  const client = {
    get: async () => {
      if (stored === undefined) throw new ApiError("NotFound", "none");
      return stored;
    },
    patch: async (_type: ResourceType, _key: unknown, patch: Patch) => {
      patches.push(patch);
      if (left-- > 0) throw new ApiError("Conflict", "too late");
    },
    create: () => Promise.reject(new ApiError("Forbidden", "not here")),
  } as unknown as ObjectClient;
  const applying: Applying = {
    client,
    clock,
    signal: new AbortController().signal,
    dryRun: "none",
    fieldValidation: "Strict",
    warn: (text) => warnings.push(text),
    ...more,
  };
  return { outcome: applyObject(applying, given), clock, patches, warnings };
}

const stored = (type: ResourceType, object: object, metadata: object = {}): ApiObject => {
  const applied = withLastApplied(manifest(type, object).object);
  return { ...applied, metadata: { ...applied.metadata, resourceVersion: "7", ...metadata } };
};

describe("applying to an existing object", () => {
  test("writes nothing when nothing changes", async () => {
    const { outcome, patches } = run(manifest(ConfigMaps, { data: { k: "1" } }), stored(ConfigMaps, { data: { k: "1" } }));
    expect(await outcome).toBe("unchanged");
    expect(patches).toEqual([]);
  });

  test("does not depend on the version, unless lists were merged by us", async () => {
    const pool = run(manifest(SandboxPools, { spec: { replicas: 2 } }), stored(SandboxPools, { spec: { replicas: 1 } }));
    expect(await pool.outcome).toBe("configured");
    expect(pool.patches).toMatchObject([{ type: "merge", body: { spec: { replicas: 2 } } }]);
    expect(JSON.stringify(pool.patches)).not.toContain("resourceVersion");
    const map = run(manifest(ConfigMaps, { data: { k: "2" } }), stored(ConfigMaps, { data: { k: "1" } }));
    await map.outcome;
    expect(map.patches).toMatchObject([{ body: { metadata: { resourceVersion: "7" }, data: { k: "2" } } }]);
  });

  test("looks again after a conflict, once at once and then each second", async () => {
    const { outcome, clock, patches } = run(manifest(ConfigMaps, { data: { k: "2" } }), stored(ConfigMaps, { data: { k: "1" } }), 3);
    await clock.step(0);
    expect(patches).toHaveLength(2);
    await clock.step(1000);
    expect(patches).toHaveLength(3);
    await clock.step(1000);
    expect(await outcome).toBe("configured");
    expect(patches).toHaveLength(4);
  });

  test("gives up after six tries and says what it tried", async () => {
    const { outcome, clock, patches } = run(manifest(ConfigMaps, { data: { k: "2" } }), stored(ConfigMaps, { data: { k: "1" } }), 99);
    const failed = outcome.catch((error: unknown) => error);
    await clock.step(10_000);
    expect(await failed).toMatchObject({
      reason: "Conflict",
      message: expect.stringMatching(
        /^error when applying patch:\n\{.*\}\nto:\n[^]*for: "x\.yaml": error when patching "x\.yaml": too late$/,
      ),
    });
    expect(patches).toHaveLength(6);
  });

  test("warns when it was not made by apply", async () => {
    const plain = { ...stored(ConfigMaps, {}), metadata: { name: "x", namespace: "a" } };
    const { outcome, warnings } = run(manifest(ConfigMaps, {}), plain);
    expect(await outcome).toBe("configured");
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Warning: resource configmaps\/x is missing the kubectl\.kubernetes\.io\/last-applied-configuration annotation/,
      ),
    ]);
  });

  test("warns when it is on its way out", async () => {
    const { outcome, warnings } = run(manifest(ConfigMaps, {}), stored(ConfigMaps, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
    expect(await outcome).toBe("unchanged");
    expect(warnings).toEqual(["Warning: Detected changes to resource x which is currently being deleted.\n"]);
  });

  test("writes nothing in a dry run of the client", async () => {
    const { outcome, patches } = run(manifest(ConfigMaps, { data: { k: "2" } }), stored(ConfigMaps, {}), 0, { dryRun: "client" });
    expect(await outcome).toBe("configured");
    expect(patches).toEqual([]);
  });
});

describe("applying a new object", () => {
  test("says from which file the refused object came, and keeps the reason", async () => {
    await expect(run(manifest(ConfigMaps, {}), undefined).outcome).rejects.toMatchObject({
      reason: "Forbidden",
      message: 'error when creating "x.yaml": not here',
    });
  });

  test("sends nothing in a dry run of the client", async () => {
    expect(await run(manifest(ConfigMaps, {}), undefined, 0, { dryRun: "client" }).outcome).toBe("created");
  });

  test("needs its name", async () => {
    await expect(run(manifest(ConfigMaps, { metadata: {} }), undefined).outcome).rejects.toThrow("resource name may not be empty");
    await expect(run(manifest(ConfigMaps, { metadata: { generateName: "x-" } }), undefined).outcome).rejects.toThrow(
      "from x-: cannot use generate name with apply",
    );
  });
});
