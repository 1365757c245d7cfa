import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { refuseSpecialAccounts, refuseSpecialFiles } from "./special-files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentbox-root-"));
  for (const folder of ["etc", "bin", "work"]) mkdirSync(join(root, folder));
  for (const file of ["etc/passwd", "etc/group", "etc/hosts", "bin/run"]) writeFileSync(join(root, file), "");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const opened = { podFiles: ["/etc/hosts", "/etc/hostname"], program: "/bin/run", workingDir: "/work" };

function fifoAt(path: string): void {
  rmSync(join(root, path), { recursive: true, force: true });
  execFileSync("/usr/bin/mkfifo", [join(root, path)]);
}

test("a root with regular files is taken, and what is missing is no matter", () => {
  expect(() => refuseSpecialFiles(root, opened)).not.toThrow();
  rmSync(join(root, "etc"), { recursive: true });
  expect(() => refuseSpecialFiles(root, { ...opened, program: "run", workingDir: "/not/there" })).not.toThrow();
});

test.each(["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/bin/run"])("a FIFO at %s is refused by its name", (path) => {
  fifoAt(path);
  expect(() => refuseSpecialFiles(root, opened)).toThrow(`${path} of the container is a FIFO: a regular file belongs there`);
});

test("a link to a FIFO is one, and a link that leads out of the root is looked up in it", () => {
  fifoAt("etc/real");
  rmSync(join(root, "etc/group"));
  symlinkSync("/etc/real", join(root, "etc/group"));
  expect(() => refuseSpecialAccounts(root)).toThrow("/etc/group of the container is a FIFO");
  rmSync(join(root, "etc/group"));
  // The machine has this one, and it is no regular file.
  symlinkSync("../../../../dev/null", join(root, "etc/group"));
  expect(() => refuseSpecialAccounts(root)).not.toThrow();
});

test("a file is no working folder, and a folder is no file", () => {
  expect(() => refuseSpecialFiles(root, { ...opened, workingDir: "/bin/run" })).toThrow("/bin/run of the container is a file");
  rmSync(join(root, "etc/hosts"));
  mkdirSync(join(root, "etc/hosts"));
  expect(() => refuseSpecialFiles(root, opened)).toThrow("/etc/hosts of the container is a folder");
});

test("a file of accounts that would take long to read is refused", () => {
  truncateSync(join(root, "etc/passwd"), 2 ** 20 + 1);
  expect(() => refuseSpecialAccounts(root)).toThrow("/etc/passwd of the container has 1048577 bytes");
});
