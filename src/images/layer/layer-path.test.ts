import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isImageError } from "../image-error.ts";
import {
  bytesOf,
  joinPath,
  latin1Of,
  layerPath,
  looksLikeWhiteout,
  parentPath,
  printable,
  whiteoutName,
  whiteoutOf,
} from "./layer-path.ts";

describe("names of entries", () => {
  test.each([
    ["./", []],
    [".", []],
    ["", []],
    ["./etc/passwd", ["etc", "passwd"]],
    ["etc//passwd", ["etc", "passwd"]],
    ["etc/./conf.d/", ["etc", "conf.d"]],
    ["...", ["..."]],
    ["a..b/..c", ["a..b", "..c"]],
  ])("%j is %j", (name, parts) => {
    expect(layerPath(name)).toEqual(parts);
  });

  test.each(["/etc/passwd", "//x", "..", "../x", "a/../../x", "a/..", "./..", "a\0b", "x".repeat(256), "x/".repeat(3000)])(
    "%j is refused",
    (name) => {
      expect(() => layerPath(name)).toThrow(expect.objectContaining({ code: "hostile_layer" }));
    },
  );

  test("no name leads out of the folder", () => {
    const nasty = fc.array(fc.constantFrom("..", ".", "", "a", "b", "/", "\0", "..a"), { maxLength: 8 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(nasty, (name) => {
        const parts = partsOf(name);
        expect(parts.some((part) => part === ".." || part === "." || part === "" || part.includes("/"))).toBe(false);
      }),
    );
  });
});

/** No parts for a name that is refused. */
function partsOf(name: string): string[] {
  try {
    return layerPath(name);
  } catch (error) {
    if (isImageError(error, "hostile_layer")) return [];
    throw error;
  }
}

describe("whiteouts", () => {
  test.each([
    ["passwd", undefined],
    [".who", undefined],
    [".wh.passwd", { kind: "hide", name: "passwd" }],
    [".wh..hidden", { kind: "hide", name: ".hidden" }],
    [".wh..wh..opq", { kind: "hide-all" }],
    [".wh..wh.plnk", { kind: "ignore" }],
    [".wh..wh.aufs", { kind: "ignore" }],
  ])("%s means %j", (base, meaning) => {
    expect(whiteoutOf(base, base)).toEqual(meaning);
    expect(looksLikeWhiteout(base)).toBe(meaning !== undefined);
  });

  test.each([".wh.", ".wh..", ".wh..."])("%s would delete the folder itself or its parent and is refused", (base) => {
    expect(() => whiteoutOf(base, base)).toThrow(/hides nothing/);
  });

  test("the name of a whiteout is read as the whiteout of that name", () => {
    expect(whiteoutOf(whiteoutName("x"), "")).toEqual({ kind: "hide", name: "x" });
  });
});

test("names in messages are text, and not endless", () => {
  expect(printable(latin1Of("Grüße\n"))).toBe('"Grüße\\n"');
  expect(printable("x".repeat(5000)).length).toBeLessThan(300);
});

test("names keep their bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(new Uint8Array(bytesOf(Buffer.from(bytes).toString("latin1")))).toEqual(bytes);
    }),
  );
});

test("paths are joined and split", () => {
  expect([joinPath("", "a"), joinPath("a", "b"), parentPath("a/b"), parentPath("a"), parentPath("")]).toEqual(["a", "a/b", "a", "", ""]);
});
