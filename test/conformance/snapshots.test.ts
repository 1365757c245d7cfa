/** Snapshots and forks: files that outlive their sandbox, and sandboxes that begin with them. */
import { expect, test } from "vitest";
import { describeSdks } from "./describe-sdks.ts";
import type { Sandbox } from "./sdk.ts";

const since = (version: string, [major, minor]: readonly [number, number]): boolean => {
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
};

describeSdks(
  "snapshots",
  (use) => {
    test("a sandbox made from one has its files, and the first one goes on", async () => {
      const sandbox = await use.create();
      await sandbox.files.write("kept", "by the first");
      const { snapshotId } = await sandbox.createSnapshot();
      await sandbox.files.write("kept", "later");
      const other = await use.sdk.Sandbox.create(snapshotId, { timeoutMs: 60_000 });
      expect(await other.files.read("kept")).toBe("by the first");
      await other.files.write("kept", "by the second");
      expect(await sandbox.files.read("kept")).toBe("later");
      await use.sdk.Sandbox.kill(other.sandboxId);
      expect(await use.sdk.Sandbox.deleteSnapshot(snapshotId)).toBe(true);
      expect(await use.sdk.Sandbox.deleteSnapshot(snapshotId)).toBe(false);
    });

    test("those of a sandbox are listed, page by page", async () => {
      const sandbox = await use.create();
      const made = [(await sandbox.createSnapshot()).snapshotId, (await sandbox.createSnapshot()).snapshotId];
      const pages = use.sdk.Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId, limit: 1 });
      const found = [...(await pages.nextItems()), ...(await pages.nextItems())].map(({ snapshotId }) => snapshotId);
      expect(found.sort()).toEqual(made.sort());
      expect(pages.hasNext).toBe(false);
      for (const id of made) await use.sdk.Sandbox.deleteSnapshot(id);
    });

    test("of a sandbox that never was there is none", async () => {
      await expect(use.sdk.Sandbox.createSnapshot("inosuchsandbox")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
    });
  },
  { needs: "snapshots" },
);

describeSdks(
  "snapshots with names, and forks",
  (use) => {
    test("one with a name is found by it, and a sandbox is made from the name", async () => {
      const name = `named-${use.version.replaceAll(".", "-")}-${use.mode}`;
      const sandbox = await use.create();
      await sandbox.files.write("kept", "by name");
      const taken = await sandbox.createSnapshot({ name });
      expect(taken.names).toEqual([expect.stringContaining(name)]);
      const other = await use.sdk.Sandbox.create(name, { timeoutMs: 60_000 });
      expect(await other.files.read("kept")).toBe("by name");
      await use.sdk.Sandbox.kill(other.sandboxId);
      await use.sdk.Sandbox.deleteSnapshot(taken.snapshotId);
    });

    test("children have the files and variables of their original, and are alone with what they write", async () => {
      const sandbox = await use.create({ envs: { GIVEN: "once" } });
      await sandbox.files.write("kept", "parent");
      const children = (await sandbox.fork({ count: 2, timeoutMs: 60_000 })) as Sandbox[];
      expect(new Set([sandbox, ...children].map(({ sandboxId }) => sandboxId)).size).toBe(3);
      for (const child of children) {
        expect(await child.isRunning()).toBe(true);
        expect(await child.files.read("kept")).toBe("parent");
        expect((await child.commands.run("echo $GIVEN")).stdout).toBe("once\n");
        await child.files.write("kept", "child");
      }
      expect(await sandbox.files.read("kept")).toBe("parent");
      for (const child of children) await use.sdk.Sandbox.kill(child.sandboxId);
    });

    test("what is not there cannot be forked, and what is paused has to be resumed first", async () => {
      await expect(use.sdk.Sandbox.fork("inosuchsandbox")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
      const sandbox = await use.create();
      await sandbox.pause();
      await expect(sandbox.fork()).rejects.toThrow(/resume/);
    });
  },
  { needs: "snapshots", by: (version) => since(version, [2, 45]) },
);
