import { closeSync, lstatSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchangePaths, getXattr, hasCode, listXattrs, makeNode, setXattr, tryLockFile } from "./files.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-native-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newFile(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, "");
  return path;
}

describe("locks", () => {
  test("one holder excludes others, also in the same process, until its file is closed", () => {
    const path = newFile("lock");
    const [first, second] = [openSync(path, "r"), openSync(path, "r")];
    expect(tryLockFile(first, "exclusive")).toBe(true);
    expect(tryLockFile(second, "exclusive")).toBe(false);
    expect(tryLockFile(second, "shared")).toBe(false);
    closeSync(first);
    expect(tryLockFile(second, "exclusive")).toBe(true);
    closeSync(second);
  });

  test("shared holders get along with each other and keep an exclusive one out", () => {
    const path = newFile("shared");
    const [first, second, third] = [openSync(path, "r"), openSync(path, "r"), openSync(path, "r")];
    expect([tryLockFile(first, "shared"), tryLockFile(second, "shared"), tryLockFile(third, "exclusive")]).toEqual([true, true, false]);
    for (const fd of [first, second, third]) closeSync(fd);
  });

  test("a file that is not open is a system error with its code", () => {
    expect(() => tryLockFile(9999, "shared")).toThrow(/EBADF: flock fd 9999/);
  });
});

test("two paths exchange what they name, and a missing one leaves the other as it is", () => {
  const [one, other] = [newFile("one"), newFile("other")];
  writeFileSync(one, "1");
  exchangePaths(one, other);
  expect([one, other].map((path) => readFileSync(path, "utf8"))).toEqual(["", "1"]);
  expect(() => exchangePaths(other, join(folder, "missing"))).toThrow(/ENOENT/);
  expect(readFileSync(other, "utf8")).toBe("1");
});

describe("extended attributes", () => {
  test("values are bytes and come back as they were", () => {
    const path = Buffer.from(newFile("xattr"));
    setXattr(path, "user.note", Buffer.from([0, 255, 10, 0]));
    expect(getXattr(path, "user.note")).toEqual(Buffer.from([0, 255, 10, 0]));
    expect(listXattrs(path)).toEqual(["user.note"]);
    setXattr(path, "user.empty", Buffer.alloc(0));
    expect(getXattr(path, "user.empty")).toEqual(Buffer.alloc(0));
  });

  test("an attribute that is not there is undefined, a file that is not there an error", () => {
    const path = Buffer.from(newFile("no-xattr"));
    expect(getXattr(path, "user.note")).toBeUndefined();
    expect(listXattrs(path)).toEqual([]);
    expect(() => getXattr(Buffer.from(join(folder, "nothing")), "user.note")).toThrow(/ENOENT/);
  });

  test("a symbolic link is not followed", () => {
    const target = newFile("target");
    setXattr(Buffer.from(target), "user.note", Buffer.from("of the target"));
    symlinkSync(target, join(folder, "link"));
    expect(getXattr(Buffer.from(join(folder, "link")), "user.note")).toBeUndefined();
  });

  test("file names that are not UTF-8 work", () => {
    const path = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xe9, 0x80])]);
    writeFileSync(path, "");
    setXattr(path, "user.note", Buffer.from("x"));
    expect(getXattr(path, "user.note")).toEqual(Buffer.from("x"));
  });
});

describe("special files", () => {
  test("a fifo is made with its type", () => {
    const path = join(folder, "fifo");
    makeNode(Buffer.from(path), 0o010600);
    expect(lstatSync(path).isFIFO()).toBe(true);
  });

  test("a failure has the code, call and path of the system", () => {
    const attempt = (): void => makeNode(Buffer.from(join(folder, "no", "such")), 0o010600);
    expect(attempt).toThrow(/ENOENT: mknod .*no\/such/);
    let caught: unknown;
    try {
      attempt();
    } catch (error) {
      caught = error;
    }
    expect(hasCode(caught, "EEXIST", "ENOENT")).toBe(true);
    expect(hasCode(caught, "EEXIST")).toBe(false);
    expect(hasCode("ENOENT", "ENOENT")).toBe(false);
  });
});
