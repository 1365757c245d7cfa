import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { settle } from "../../../../../test/world/stepped-clock.ts";
import { CopiesUnderWay, copyUpper } from "./copy-upper.ts";

const { signal } = new AbortController();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-upper-"));
  for (const name of ["writable/root/etc", "writable/usr", "copy"]) mkdirSync(join(folder, name), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("holes stay holes, links stay links, and the folder itself has the mode of the root", async () => {
  const root = join(folder, "writable/root");
  writeFileSync(join(root, "etc/sparse"), "");
  truncateSync(join(root, "etc/sparse"), 1 << 30);
  symlinkSync("/nowhere", join(root, "link"));
  await copyUpper(join(folder, "writable"), join(folder, "copy"), signal);
  expect(readdirSync(join(folder, "copy")).sort()).toEqual(["etc", "link"]);
  const { size, blocks } = statSync(join(folder, "copy/etc/sparse"));
  expect([size, blocks]).toEqual([1 << 30, 0]);
});

test("what was changed below /usr of the machine is below usr of the copy", async () => {
  writeFileSync(join(folder, "writable/usr/added"), "");
  await copyUpper(join(folder, "writable"), join(folder, "copy"), signal);
  expect(readdirSync(join(folder, "copy/usr"))).toEqual(["added"]);
});

test("a copy that is given up ends with the reason; one that fails says what, and no path of the machine", async () => {
  await expect(copyUpper(join(folder, "writable"), join(folder, "copy"), AbortSignal.abort(new Error("ended")))).rejects.toThrow("ended");
  const failed = copyUpper(join(folder, "nowhere"), join(folder, "copy"), signal);
  await expect(failed).rejects.toThrow(/could not be copied/);
  await expect(failed).rejects.not.toThrow(folder);
});

test("copies of a pod end when it does, and others go on; a command waits until they are over", async () => {
  const copies = new CopiesUnderWay();
  const [mine, others] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended: string[] = [];
  const run = (pod: string, until: Promise<void>) =>
    copies.run(pod, signal, async (end) => {
      end.addEventListener("abort", () => ended.push(pod));
      await until;
    });
  const running = [run("a", mine.promise), run("b", others.promise)];
  let isOver = false;
  void copies.over("a").then(() => (isOver = true));
  copies.end("a");
  await settle();
  expect([ended, isOver]).toEqual([["a"], false]);
  mine.resolve();
  await settle();
  expect(isOver).toBe(true);
  others.resolve();
  await Promise.all(running);
});
