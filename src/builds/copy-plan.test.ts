import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CopyPlan, copyCommand, copyPlan, fixedPart } from "./copy-plan.ts";

const context = { user: "user", workdir: "/srv/app", env: {} };
const copy = { kind: "copy", filesHash: "" } as const;

test("the part before a pattern is what is copied: the client has found the files", () => {
  expect(fixedPart("./src/*.py")).toBe("src");
  expect(fixedPart("*.txt")).toBe("");
  expect(fixedPart("a/b.txt")).toBe("a/b.txt");
  expect(fixedPart(".")).toBe("");
  expect(fixedPart("../x")).toBe("x");
});

test("a relative target is below the folder of the steps, or the home of their user", () => {
  expect(copyPlan({ ...copy, source: "a", target: "x/" }, context, "/home/user")).toEqual({
    from: "a",
    target: "/srv/app/x",
    intoFolder: true,
    owner: "user:",
    mode: "",
  });
  expect(copyPlan({ ...copy, source: "a", target: "x" }, { user: "u", env: {} }, "/home/u")).toMatchObject({
    target: "/home/u/x",
    intoFolder: false,
  });
});

describe("the copy itself", () => {
  let folder = "";
  const { username } = userInfo();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "agentbox-copy-"));
    mkdirSync(join(folder, "context/dir/sub"), { recursive: true });
    writeFileSync(join(folder, "context/dir/a"), "new");
    writeFileSync(join(folder, "context/dir/sub/b"), "b");
    writeFileSync(join(folder, "context/file"), "file");
    symlinkSync("nowhere", join(folder, "context/link"));
    mkdirSync(join(folder, "out"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function run(names: readonly string[], plan: Partial<CopyPlan>): void {
    const work = join(folder, "work");
    mkdirSync(work);
    execFileSync("tar", ["-C", join(folder, "context"), "-cf", join(work, "piece.000000"), ...names]);
    const whole = { from: names[0] ?? "", target: "", intoFolder: false, owner: `${username}:`, mode: "", ...plan };
    const [program = "", ...args] = copyCommand(whole, { folder: work, isGzip: false });
    execFileSync(program, args, { stdio: "pipe" });
    expect(statSync(work, { throwIfNoEntry: false })).toBeUndefined();
  }
  const out = (path: string): string => join(folder, "out", path);

  test("a file gets the target's name, or goes into a folder", () => {
    run(["file"], { target: out("x/renamed"), mode: "0640" });
    expect(readFileSync(out("x/renamed"), "utf8")).toBe("file");
    expect(statSync(out("x/renamed")).mode & 0o777).toBe(0o640);
    run(["file"], { target: out("y"), intoFolder: true });
    expect(readFileSync(out("y/file"), "utf8")).toBe("file");
    run(["file"], { target: out("x") });
    expect(readFileSync(out("x/file"), "utf8")).toBe("file");
  });

  test("the content of a folder is merged: files are replaced, others stay, links to folders are followed", () => {
    mkdirSync(out("t"));
    mkdirSync(out("real"));
    symlinkSync("../real", out("t/sub"));
    writeFileSync(out("t/a"), "old");
    writeFileSync(out("t/other"), "other");
    run(["dir"], { target: out("t") });
    expect(readFileSync(out("t/a"), "utf8")).toBe("new");
    expect(readFileSync(out("t/other"), "utf8")).toBe("other");
    expect(readlinkSync(out("t/sub"))).toBe("../real");
    expect(readFileSync(out("real/b"), "utf8")).toBe("b");
  });

  test("a link stays a link", () => {
    run(["link"], { target: out("l"), mode: "0600" });
    expect(lstatSync(out("l")).isSymbolicLink()).toBe(true);
  });

  test("a source that the archive does not have is said by its name", () => {
    expect(() => run(["file"], { from: "missing", target: out("x") })).toThrow(/does not have missing/);
  });
});
