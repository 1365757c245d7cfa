import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  annotationKeys,
  createWishKeys,
  envImagePullSecretName,
  failureReasons,
  finalizers,
  hasEnvOwner,
  inplaceUpdatePhases,
  isReservedKey,
  labelKeys,
  managedBySandboxApiServer,
  ownGroup,
  ownVersion,
  sandboxPhases,
  sandboxStopReasons,
  syncSourceGlobal,
} from "./keys.ts";
import type { OwnerReference } from "./meta.ts";

const keySyntax = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

describe("keys", () => {
  test("every key is one that Kubernetes takes", () => {
    for (const key of allKeys()) expect(key).toMatch(keySyntax);
  });

  test("no two keys of one sort are the same", () => {
    for (const keys of [labelKeys, annotationKeys, finalizers]) {
      expect(new Set(Object.values(keys)).size).toBe(Object.keys(keys).length);
    }
  });
});

/** Spelled out: these names are on objects that other programs have written and read, so a test that took them from the code would prove nothing. */
describe("the names of the specification", () => {
  test("of labels", () => {
    expect(labelKeys).toMatchObject({
      sandboxPool: "agentbox.navix.sh/sandbox-pool",
      sandboxPhase: "agentbox.navix.sh/sandbox-phase",
      sandboxId: "agentbox.navix.sh/sandbox-id",
      managedBy: "agentbox.navix.sh/managed-by",
      team: "scheduling.navix.sh/team",
      user: "scheduling.navix.sh/user",
      env: "agentbox.navix.sh/env",
      scalingGroup: "agentbox.navix.sh/scaling-group",
      syncSource: "agentbox.io/sync-source",
    });
  });

  test("of annotations", () => {
    expect(annotationKeys).toMatchObject({
      sandboxId: "agentbox.navix.sh/sandbox-id",
      claimedAt: "agentbox.navix.sh/claimed-at",
      startedAt: "agentbox.navix.sh/started-at",
      idleTimeout: "agentbox.navix.sh/idle-timeout",
      startupTimeout: "agentbox.navix.sh/startup-timeout",
      lastActive: "agentbox.navix.sh/last-active",
      sandboxMetadata: "agentbox.navix.sh/sandbox-metadata",
      managedLabelKeys: "agentbox.navix.sh/managed-label-keys",
      managedAnnotationKeys: "agentbox.navix.sh/managed-annotation-keys",
      stopReason: "agentbox.navix.sh/stop-reason",
      terminatedAt: "agentbox.navix.sh/terminated-at",
      failureReason: "agentbox.navix.sh/failure-reason",
      failureMessage: "agentbox.navix.sh/failure-message",
      exitCode: "agentbox.navix.sh/exit-code",
      runningImages: "agentbox.navix.sh/running-images",
      containerId: "agentbox.navix.sh/container-id",
      postStartHooks: "agentbox.navix.sh/post-start-hooks",
      inplaceUpdateState: "agentbox.navix.sh/inplace-update-state",
      sandboxStatusDetail: "agentbox.navix.sh/sandbox-status-detail",
      chosenToGo: "agentbox.navix.sh/scale-down-protected",
      lastSandboxCreateTime: "agentbox.navix.sh/last-sandbox-create-time",
      docs: "agentbox.navix.sh/docs",
      poolDocs: "agentbox.navix.sh/pool-docs",
      templateName: "agentbox.navix.sh/template-name",
      templateVersion: "agentbox.navix.sh/template-version",
      overrides: "agentbox.navix.sh/overrides",
    });
  });

  test("of finalizers and of the API group", () => {
    expect(finalizers).toEqual({
      sandboxProtection: "agentbox.navix.sh/sandbox-protection",
      pool: "agentbox.navix.sh/finalizer",
      // Ours; the specification has none for templates.
      templateInUse: "agentbox.navix.sh/template-in-use",
      envMembers: "agentbox.navix.sh/env-members",
      volumeData: "agentbox.navix.sh/volume-data",
      checkpointImage: "agentbox.navix.sh/checkpoint-image",
    });
    expect([ownGroup, ownVersion]).toEqual(["agents.navix.sh", "v1alpha1"]);
  });

  test("of the words that stand in them", () => {
    expect(managedBySandboxApiServer).toBe("sandbox-api-server");
    expect(syncSourceGlobal).toBe("global");
    expect(sandboxPhases).toEqual(["idle", "starting", "running", "stopping", "failed"]);
    expect(inplaceUpdatePhases).toEqual(["starting", "stopping", "completed"]);
    expect(sandboxStopReasons.toSorted()).toEqual(["Canceled", "Completed", "Failed", "Released"]);
    expect([failureReasons.idleTimeout, failureReasons.oomKilled, failureReasons.evicted]).toEqual(["IdleTimeout", "OOMKilled", "Evicted"]);
  });
});

describe("reserved keys", () => {
  test("every key of AgentBox is reserved", () => {
    expect(allKeys().filter((key) => !isReservedKey(key))).toEqual([]);
  });

  test("a key of a later version is reserved already", () => {
    expect(isReservedKey("agentbox.navix.sh/not-yet-invented")).toBe(true);
    expect(isReservedKey("scheduling.navix.sh/not-yet-invented")).toBe(true);
  });

  test.each([
    "app",
    "app.kubernetes.io/name",
    "sandbox-id",
    "agentbox.navix.sh",
    "my-agentbox.navix.sh/sandbox-id",
    "agentbox.navix.sh.example.com/sandbox-id",
    "agentbox.io/anything-else",
    "agents.navix.sh/mine",
    "",
  ])("%j is the user's own", (key) => {
    expect(isReservedKey(key)).toBe(false);
  });

  test("whatever follows the prefix, the key is reserved", () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        expect(isReservedKey(`agentbox.navix.sh/${name}`)).toBe(true);
      }),
    );
  });
});

test("the pull secret of an Env is named after it", () => {
  expect(envImagePullSecretName("shell")).toBe("ips-shell");
});

describe("ownership by an Env", () => {
  const owner: OwnerReference = { apiVersion: "agents.navix.sh/v1alpha1", kind: "SandboxEnv", name: "shell", uid: "u1" };

  test("an Env owns what refers to it, controlling or not", () => {
    expect(ownedBy(owner)).toBe(true);
    expect(ownedBy({ ...owner, controller: true })).toBe(true);
    expect(ownedBy({ ...owner, controller: false })).toBe(true);
  });

  test("an Env of another version of the group owns as well", () => {
    expect(ownedBy({ ...owner, apiVersion: "agents.navix.sh/v1beta1" })).toBe(true);
  });

  test("one owner among others is enough", () => {
    expect(ownedBy({ ...owner, apiVersion: "v1", kind: "ConfigMap" }, owner)).toBe(true);
  });

  test("other kinds and other groups do not count", () => {
    expect(ownedBy({ ...owner, kind: "SandboxPool" })).toBe(false);
    expect(ownedBy({ ...owner, apiVersion: "example.com/v1alpha1" })).toBe(false);
    expect(ownedBy({ ...owner, apiVersion: "agents.navix.sh" })).toBe(false);
    expect(ownedBy({ ...owner, apiVersion: "agents.navix.sh.example.com/v1" })).toBe(false);
  });

  test("nobody owns what has no owner references", () => {
    expect(ownedBy()).toBe(false);
    expect(hasEnvOwner({ metadata: {} })).toBe(false);
  });
});

function ownedBy(...ownerReferences: OwnerReference[]): boolean {
  return hasEnvOwner({ metadata: { ownerReferences } });
}

function allKeys(): string[] {
  return [labelKeys, annotationKeys, createWishKeys, finalizers].flatMap((keys) => Object.values(keys));
}
