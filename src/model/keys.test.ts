import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, envImagePullSecretName, finalizers, hasEnvOwner, isReservedKey, labelKeys } from "./keys.ts";
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
  return [labelKeys, annotationKeys, finalizers].flatMap((keys) => Object.values(keys));
}
