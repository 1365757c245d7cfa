import { describe, expect, test } from "vitest";
import { type BackupManifest, isNewer, readManifest } from "./manifest.ts";

const good: BackupManifest = {
  format: 1,
  version: "1.2.3",
  createdAt: "2026-01-01T00:00:00.000Z",
  objectsAt: 1_767_225_600_000,
  databases: { objects: 1, history: 1 },
  files: [{ path: "data/objects.db", bytes: 1, sha256: "0".repeat(64), mode: 0o600 }],
};

const read = (changes: object): BackupManifest => readManifest(JSON.stringify({ ...good, ...changes }), "1.2.3");

test("a backup of this version or of an earlier one can be restored", () => {
  expect(read({})).toEqual(good);
  expect(read({ version: "0.9.12" }).version).toBe("0.9.12");
});

test.each([
  ["1.2.4", true],
  ["1.10.0", true],
  ["2.0.0", true],
  ["1.2.3", false],
  ["1.2.3-rc.1", false],
  ["0.99.99", false],
])("%s is newer than 1.2.3: %s", (version, newer) => {
  expect(isNewer(version, "1.2.3")).toBe(newer);
});

describe("refused is", () => {
  test.each([
    ["a newer version", { version: "1.3.0" }, "made by AgentBox 1.3.0, and this is 1.2.3"],
    [
      "a newer layout, whatever the rest of it looks like",
      { format: 2, files: "elsewhere" },
      "restore it with version 1.2.3 or a later one",
    ],
    ["a newer format of objects", { databases: { objects: 99 } }, "objects database has format 99"],
    ["a newer format of the history", { databases: { objects: 1, history: 99 } }, "history database has format 99"],
    ["a manifest without files", { files: undefined }, "has not the form it must have"],
  ])("%s", (_what, changes, said) => {
    expect(() => read(changes)).toThrow(said);
  });

  test.each(["/etc/passwd", "data/../../etc/passwd", "../x", "data/", "keys/admin.key", "data/./x", "data/a\0b", "data//x"])(
    "a file that would land outside of the data folder: %j",
    (path) => {
      expect(() => read({ files: [{ ...good.files[0], path }] })).toThrow("outside of the data folder");
    },
  );

  test("text that is no JSON", () => {
    expect(() => readManifest("{", "1.2.3")).toThrow("is not JSON");
  });
});
