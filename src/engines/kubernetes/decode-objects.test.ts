import { describe, expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { decodeList, decodeObject, parseJson } from "./decode-objects.ts";

const plain = { keepManagedFields: false };

describe("an object", () => {
  test("comes without managedFields, and frozen to the last leaf", () => {
    const wire = {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", labels: { x: "y" }, managedFields: [{}] },
      data: { k: "v" },
    };
    const object = decodeObject(ConfigMaps, wire, plain);
    expect(object).toEqual({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a", labels: { x: "y" } }, data: { k: "v" } });
    expect([object, object.metadata, object.metadata.labels, object.data].every((part) => Object.isFrozen(part))).toBe(true);
  });

  test("keeps managedFields for whoever asks", () => {
    const wire = { kind: "ConfigMap", metadata: { name: "a", managedFields: [{ manager: "me" }] } };
    expect(decodeObject(ConfigMaps, wire, { keepManagedFields: true }).metadata.managedFields).toEqual([{ manager: "me" }]);
  });
});

describe("a list", () => {
  test("says of each item what it is, as a single read would", () => {
    const list = decodeList(
      ConfigMaps,
      { metadata: { resourceVersion: "7", continue: "more", remainingItemCount: 3 }, items: [{ metadata: { name: "a" } }] },
      plain,
    );
    expect(list).toEqual({
      items: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }],
      resourceVersion: "7",
      continue: "more",
      remainingItemCount: 3,
    });
    expect(Object.isFrozen(list.items)).toBe(true);
    expect(Object.isFrozen(list.items[0]?.metadata)).toBe(true);
  });

  test("has no continue at its end, and no items where the server writes null", () => {
    const list = decodeList(ConfigMaps, { metadata: { resourceVersion: "7", continue: "" }, items: null }, plain);
    expect(list).toEqual({ items: [], resourceVersion: "7" });
  });
});

test("an answer that is not JSON is refused with a piece of it", () => {
  expect(() => parseJson("<html>login</html>", "GET /api")).toThrow(
    "GET /api was answered with something that is not JSON: <html>login</html>",
  );
});
