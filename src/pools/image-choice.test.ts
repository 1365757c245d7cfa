import { describe, expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { foreignChoice } from "./image-choice.ts";
import { pullersOf } from "./pool-images.ts";

const digest = `sha256:${"a".repeat(64)}`;

function aPool({ idleImage = "registry.example/idle:1", team = "", allows = "" } = {}): SandboxPool {
  const containers = [
    { name: "main", image: "registry.example/team/app:1" },
    { name: "side", image: "python:3.13" },
  ];
  const annotations = allows === "" ? {} : { [annotationKeys.imageRepositories]: allows };
  const spec = { containers, imagePullSecrets: [{ name: "mine" }] };
  return {
    metadata: { namespace: "ns", name: "p", labels: team === "" ? {} : { [labelKeys.team]: team } },
    spec: { replicas: 1, idleImage, template: { metadata: { annotations }, spec } },
  };
}

function choice(pool: SandboxPool, image: string): string {
  const resolved = resolveTemplate(pool, undefined);
  if (resolved.kind !== "template") throw new Error("the pool has a template of its own");
  return foreignChoice(pool, resolved.template, image) ?? "own";
}

describe("an image that a tenant chooses", () => {
  test.each([
    ["registry.example/team/app:1", "own"],
    ["registry.example/idle:1", "own"],
    ["python:3.13", "own"],
    ["registry.example/team/app:2", "access"],
    [`registry.example/team/app@${digest}`, "access"],
    [`registry.example/team/app:1@${digest}`, "access"],
    ["docker.io/library/python:3.12", "access"],
    ["registry.example/team/other:1", "public"],
    ["registry.example/team/app/inner:1", "public"],
    ["registry.example/team/application:1", "public"],
    ["other.example/team/app:1", "public"],
    ["Not An Image", "public"],
  ])("%s of a pool with pull secrets: %s", (image, expected) => {
    expect(choice(aPool(), image)).toBe(expected);
  });

  test.each([
    ["registry.example/team/other", "registry.example/team/other:1", "access"],
    ["registry.example/team/*", "registry.example/team/other:1", "access"],
    ["registry.example/team/*", "registry.example/team/deep/er:1", "access"],
    ["registry.example/team/*", "registry.example/teammates/x:1", "public"],
    ["registry.example/*", "registry.example.evil.example/x:1", "public"],
    ["docker.io/*, ghcr.io/mine/app", "redis:8", "access"],
    ["docker.io/*, ghcr.io/mine/app", "ghcr.io/mine/app:1", "access"],
    ["docker.io/*, ghcr.io/mine/app", "ghcr.io/mine/app2:1", "public"],
    ["*", "other.example/x:1", "access"],
    ["Not readable, ,/*", "other.example/x:1", "public"],
  ])("with the annotation %j: %s is %s", (allows, image, expected) => {
    expect(choice(aPool({ allows }), image)).toBe(expected);
  });
});

test("the idle image of a tenant's pool is a tenant's choice, and makes nothing else the pool's own", () => {
  const pool = aPool({ team: "red", idleImage: "registry.example/secret:1" });
  expect(choice(pool, "registry.example/secret:1")).toBe("public");
  expect(choice(pool, "registry.example/secret:2")).toBe("public");
  expect(choice(pool, "registry.example/team/app:1")).toBe("own");
});

test("a checkpoint is pulled with the pool's credentials, for the pool's team and that of the caller", () => {
  const image = "registry.example/checkpoints/cp-aaaaaaaaaaaaaaaaaaaa@sha256:x";
  expect(choice(aPool(), image)).toBe("access");
  const resolved = resolveTemplate(aPool({ team: "red" }), undefined);
  if (resolved.kind !== "template") throw new Error("the pool has a template of its own");
  expect(pullersOf(aPool({ team: "red" }), resolved.template)("x").teams).toEqual(["red"]);
  expect(pullersOf(aPool({ team: "red" }), resolved.template, { isAdmin: false, team: "blue" })("x").teams).toEqual(["red", "blue"]);
});

test("an admin's choice is the pool's own", () => {
  const resolved = resolveTemplate(aPool(), undefined);
  if (resolved.kind !== "template") throw new Error("the pool has a template of its own");
  const puller = { namespace: "ns", imagePullSecrets: [{ name: "mine" }] };
  expect(pullersOf(aPool(), resolved.template, { isAdmin: true })("other.example/x:1")).toEqual(puller);
  expect(pullersOf(aPool(), resolved.template)("other.example/x:1")).toEqual({ ...puller, choice: "public" });
});
