import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { ConfigMaps, Leases, Namespaces } from "#model/core-kinds.ts";
import { collectionPath, creationPath, objectPath, query } from "./resource-path.ts";

describe("paths", () => {
  test("the core group is under /api, others under /apis", () => {
    expect(collectionPath(ConfigMaps)).toBe("/api/v1/configmaps");
    expect(collectionPath(Leases, "prod")).toBe("/apis/coordination.k8s.io/v1/namespaces/prod/leases");
    expect(objectPath(ConfigMaps, { namespace: "a", name: "b" })).toBe("/api/v1/namespaces/a/configmaps/b");
    expect(objectPath(Leases, { namespace: "a", name: "b" }, "status")).toBe("/apis/coordination.k8s.io/v1/namespaces/a/leases/b/status");
  });

  test("a cluster-scoped kind has no namespace in its path, even when one is given", () => {
    expect(objectPath(Namespaces, { namespace: "x", name: "prod" })).toBe("/api/v1/namespaces/prod");
    expect(creationPath(Namespaces, undefined)).toBe("/api/v1/namespaces");
  });

  test("an object of a namespaced kind is not addressed without its namespace", () => {
    expect(() => objectPath(ConfigMaps, { name: "b" })).toThrow("configmaps live in namespaces: a namespace is required");
    expect(() => creationPath(ConfigMaps, "")).toThrow("a namespace is required");
  });

  const anyName = fc.oneof(fc.string(), fc.constantFrom("..", ".", "a/b", "a%2fb", "", "a?watch=1", "a#b", "ä b", "\ud800"));

  test("no name reaches beyond its own segment of the path: it is encoded or refused", () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const path = pathOrRefusal(name);
        const { pathname, search, hash } = new URL(path ?? "/refused", "http://server");
        expect([search, hash]).toEqual(["", ""]);
        expect(path === undefined ? name : decodeURIComponent(pathname.replace("/api/v1/namespaces/ns/configmaps/", ""))).toBe(name);
      }),
    );
  });

  test.each(["..", ".", "a/b", "a%2fb", "", "\ud800"])("%j is refused", (name) => {
    expect(pathOrRefusal(name)).toBeUndefined();
  });
});

function pathOrRefusal(name: string): string | undefined {
  try {
    return objectPath(ConfigMaps, { namespace: "ns", name });
  } catch (error) {
    if (isApiError(error, "BadRequest")) return undefined;
    throw error;
  }
}

describe("the query", () => {
  test("holds what is defined, encoded", () => {
    expect(query({ labelSelector: "a in (b,c),!d", limit: 5, watch: true, continue: undefined })).toBe(
      "?labelSelector=a+in+%28b%2Cc%29%2C%21d&limit=5&watch=true",
    );
    expect(query({ limit: undefined })).toBe("");
  });
});
