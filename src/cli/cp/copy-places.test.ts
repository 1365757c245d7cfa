import { describe, expect, test } from "vitest";
import { arrivalOf, copyPlace, copyPlaces, type PathKind, renamedEntry, type Source } from "./copy-places.ts";

test.each([
  ["abc123:/tmp/x", { at: "sandbox", id: "abc123", path: "/tmp/x" }],
  ["abc123:notes", { at: "sandbox", id: "abc123", path: "notes" }],
  ["./a:b", { at: "here", path: "./a:b" }],
  ["src", { at: "here", path: "src" }],
  ["-", { at: "stream" }],
])("%s is a place", (word, place) => {
  expect(copyPlace(word)).toEqual(place);
});

test("one of both places is in a sandbox", () => {
  expect(() => copyPlaces(["a", "b"])).toThrow("neither a nor b is in a sandbox");
  expect(() => copyPlaces(["a"])).toThrow("cp needs a source and a target");
  expect(() => copyPlaces(["a", "id:"])).toThrow("has no path in the sandbox");
});

describe("a copy arrives", () => {
  const file: Source = { path: "dir/a.txt", kind: "file" };
  const folder: Source = { path: "dir/src/", kind: "folder" };
  test.each<[Source, string, PathKind, { folder: string; name: string }]>([
    [file, "/tmp", "folder", { folder: "/tmp", name: "a.txt" }],
    [file, "/tmp/b", "new", { folder: "/tmp", name: "b" }],
    [file, "/tmp/b", "file", { folder: "/tmp", name: "b" }],
    [folder, "/tmp", "folder", { folder: "/tmp", name: "src" }],
    [folder, "/tmp/b", "new", { folder: "/tmp", name: "b" }],
    [{ path: "src/.", kind: "folder" }, "/tmp", "folder", { folder: "/tmp", name: "." }],
  ])("%j at %s, which is a %s", (source, path, kind, arrival) => {
    expect(arrivalOf(source, { path, kind })).toEqual(arrival);
  });

  test.each<[Source, string, PathKind, string]>([
    [file, "/no/b", "none", "there is no folder /no"],
    [file, "/tmp/b/", "new", "there is no folder /tmp/b/"],
    [folder, "/tmp/b", "file", "is a file, and dir/src/ is a folder"],
  ])("%j not at %s, which is a %s", (source, path, kind, message) => {
    expect(() => arrivalOf(source, { path, kind })).toThrow(message);
  });
});

test.each([
  ["./src/a/b", "src", "dst", "dst/a/b"],
  ["src/", "src", "dst", "dst"],
  ["./a", ".", ".", "a"],
  ["./a/b", ".", "dst", "dst/a/b"],
])("the entry %s is renamed", (entry, from, to, name) => {
  expect(renamedEntry(entry, from, to)).toBe(name);
});

test.each([["/etc/passwd"], ["../x"], ["src/../../x"], ["other/x"], ["src/a\0b"]])("the entry %j is refused", (entry) => {
  expect(() => renamedEntry(entry, "src", "dst")).toThrow("points outside the requested folder");
});
