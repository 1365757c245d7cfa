import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Account } from "#envd/accounts/accounts.ts";
import { makeFolders } from "./make-folders.ts";

const account = { name: "user", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home: "/home/user" } satisfies Account;

async function inNewFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-folders-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a folder that several uploads make at the same time is made for all of them", () =>
  inNewFolder(async (folder) => {
    for (let round = 0; round < 300; round++) {
      const wanted = join(folder, String(round), "deep", "er");
      await Promise.all(Array.from({ length: 8 }, () => makeFolders(wanted, account)));
      expect((await stat(wanted)).isDirectory()).toBe(true);
    }
  }));

test("a file or a link to nowhere on the way is not a directory, and nothing is made", () =>
  inNewFolder(async (folder) => {
    await writeFile(join(folder, "file"), "");
    await symlink("nowhere", join(folder, "link"));
    for (const name of ["file", "link"]) {
      await expect(makeFolders(join(folder, name, "below"), account)).rejects.toMatchObject({ code: expect.stringMatching(/ENOTDIR/) });
    }
  }));
