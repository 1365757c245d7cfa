import { describe, expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { admin, ann, redTeam } from "../../../test/world/service-scene.ts";
import { checkKind, storedMetadata } from "./stored-metadata.ts";

describe("the metadata of an object that a tenant writes", () => {
  test("carries the tenant as its owner", () => {
    expect(storedMetadata(ann, { name: "p", labels: { mine: "1" } }, undefined)).toMatchObject({
      name: "p",
      labels: { mine: "1", [labelKeys.team]: "red", [labelKeys.user]: "ann" },
    });
    expect(storedMetadata(redTeam, { name: "p" }, undefined).labels).toEqual({ [labelKeys.team]: "red" });
  });

  test("cannot name another owner (I8)", () => {
    const theft = { name: "p", labels: { [labelKeys.team]: "blue" } };
    expect(() => storedMetadata(ann, theft, undefined)).toThrow(`metadata.labels.${labelKeys.team} is reserved for AgentBox`);
  });

  test("keeps what AgentBox has noted, whether it is sent back or left out", () => {
    const note = { "agentbox.navix.sh/note": "ours" };
    const present: ApiObject = { metadata: { name: "p", resourceVersion: "7", labels: { [labelKeys.team]: "red" }, annotations: note } };
    expect(storedMetadata(redTeam, { name: "p", annotations: { mine: "2" } }, present)).toMatchObject({
      resourceVersion: "7",
      labels: { [labelKeys.team]: "red" },
      annotations: { ...note, mine: "2" },
    });
    expect(storedMetadata(redTeam, { name: "p", annotations: note }, present).annotations).toEqual(note);
    const changed = { name: "p", annotations: { "agentbox.navix.sh/note": "theirs" } };
    expect(() => storedMetadata(redTeam, changed, present)).toThrow("is reserved for AgentBox");
  });

  test("keeps its name, and the version that the caller saw", () => {
    const present: ApiObject = { metadata: { name: "p", namespace: "ns", resourceVersion: "7" } };
    expect(storedMetadata(ann, { name: "other", resourceVersion: "6" }, present)).toMatchObject({
      name: "p",
      namespace: "ns",
      resourceVersion: "6",
    });
  });
});

test("an admin's object has the owner that the admin gives it, or none", () => {
  expect(storedMetadata(admin, { name: "p" }, undefined).labels).toEqual({});
  const given = { [labelKeys.team]: "blue" };
  expect(storedMetadata(admin, { name: "p", labels: given }, undefined).labels).toEqual(given);
});

test("a body of another kind or version is refused", () => {
  expect(checkKind({ metadata: {} }, SandboxPools)).toBeUndefined();
  expect(() => checkKind({ kind: "Pod", metadata: {} }, SandboxPools)).toThrow("kind must be SandboxPool");
  expect(() => checkKind({ apiVersion: "v1", metadata: {} }, SandboxPools)).toThrow("apiVersion must be");
});
