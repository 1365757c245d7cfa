import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesToCopy } from "./copied-files.ts";

test("of the machine's /etc only what says nothing about its owner is copied", () => {
  const etc = mkdtempSync(join(tmpdir(), "agentbox-etc-"));
  for (const folder of ["ssl/certs", "ssl/private", "ssh", "python3.11", "java-17-openjdk", "apt", "profile.d"])
    mkdirSync(join(etc, folder), { recursive: true });
  for (const file of ["ld.so.cache", "passwd", "shadow", "npmrc", "gitconfig", "hosts", "timezone", "pip.conf"])
    writeFileSync(join(etc, file), "");
  expect(filesToCopy(etc).sort()).toEqual(["java-17-openjdk", "ld.so.cache", "python3.11", "ssl/certs", "timezone"]);
  rmSync(etc, { recursive: true });
});
