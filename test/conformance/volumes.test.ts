import { randomBytes } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { describeSdks } from "./describe-sdks.ts";
import type { Volume } from "./sdk.ts";

describeSdks(
  "volumes",
  (use) => {
    const made: Volume[] = [];
    const create = async (): Promise<Volume> => {
      const volume = await use.sdk.Volume.create(`v-${randomBytes(6).toString("hex")}`);
      made.push(volume);
      return volume;
    };

    afterEach(async () => {
      for (const { volumeId } of made.splice(0)) await use.sdk.Volume.destroy(volumeId);
    });

    test("a volume is shared by two sandboxes, and its files are there before, between and after them", async () => {
      const volume = await create();
      await volume.writeFile("/from-outside", "hello");
      const [first, second] = [
        await use.create({ volumeMounts: { "/mnt/shared": volume } }),
        await use.create({ volumeMounts: { "/mnt/other": volume.name } }),
      ];
      expect(await first.files.read("/mnt/shared/from-outside")).toBe("hello");
      await first.files.write("/mnt/shared/from-first", "1");
      expect((await second.commands.run("cat /mnt/other/from-first && echo 2 > /mnt/other/from-second")).stdout).toBe("1");
      expect((await first.getInfo()).volumeMounts).toEqual([{ name: volume.name, path: "/mnt/shared" }]);
      await first.kill();
      await second.kill();
      expect(await volume.readFile("/from-second")).toBe("2\n");
      const third = await use.create({ volumeMounts: { "/mnt/again": volume } });
      expect((await third.commands.run("ls /mnt/again")).stdout).toBe("from-first\nfrom-outside\nfrom-second\n");
      await third.kill();
    });

    test("files and folders are made, listed, changed, streamed and removed", async () => {
      const volume = await create();
      expect(await volume.makeDir("/a/b", { force: true })).toMatchObject({ name: "b", type: "directory", path: "/a/b" });
      expect(await volume.writeFile("/a/b/c.txt", "text", { uid: 1000, gid: 1000, mode: 0o640 })).toMatchObject({
        size: 4,
        uid: 1000,
        mode: 0o640,
      });
      expect((await volume.list("/", { depth: 3 })).map(({ path }) => path)).toEqual(["/a", "/a/b", "/a/b/c.txt"]);
      expect((await volume.list("/")).map(({ path }) => path)).toEqual(["/a"]);
      expect(await volume.updateMetadata("/a/b/c.txt", { mode: 0o600 })).toMatchObject({ mode: 0o600 });
      const block = new Uint8Array(1_000_000).fill(7);
      let left = 5;
      const source = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (left-- > 0) controller.enqueue(block);
          else controller.close();
        },
      });
      expect(await volume.writeFile("/large", source)).toMatchObject({ size: 5_000_000 });
      let read = 0;
      for await (const chunk of await volume.readFile("/large", { format: "stream" })) read += chunk.length;
      expect(read).toBe(5_000_000);
      await volume.writeFile("/empty", "");
      expect(await volume.readFile("/empty")).toBe("");
      expect(await volume.exists("/a/b/c.txt")).toBe(true);
      await volume.remove("/a");
      expect(await volume.exists("/a/b/c.txt")).toBe(false);
      expect((await volume.getInfo("/large")).mtime.getTime()).toBeGreaterThan(Date.now() - 3_600_000);
      await expect(volume.readFile("/no/such")).rejects.toThrow(use.sdk.VolumePathNotFoundError);
      await expect(volume.readFile("/../../etc/passwd")).rejects.toThrow(use.sdk.VolumeError);
    });

    test("volumes are listed, found and destroyed; a name is taken once", async () => {
      const volume = await create();
      expect((await use.sdk.Volume.list()).some(({ volumeId }) => volumeId === volume.volumeId)).toBe(true);
      expect((await use.sdk.Volume.connect(volume.volumeId)).token).toBe(volume.token);
      await expect(use.sdk.Volume.create(volume.name)).rejects.toThrow("already");
      await expect(use.sdk.Volume.create("no/name")).rejects.toThrow("400");
      expect(await use.sdk.Volume.destroy(volume.volumeId)).toBe(true);
      expect(await use.sdk.Volume.destroy(volume.volumeId)).toBe(false);
      await expect(use.sdk.Volume.connect(volume.volumeId)).rejects.toThrow("not found");
      await expect(volume.list("/")).rejects.toThrow("not the token of this volume");
    });

    test("a mounted volume is not destroyed, and every bad mount is told at once", async () => {
      const volume = await create();
      const sandbox = await use.create({ volumeMounts: { "/mnt/v": volume } });
      await expect(use.sdk.Volume.destroy(volume.volumeId)).rejects.toThrow(sandbox.sandboxId);
      const bad = use.create({ volumeMounts: { "/proc": volume, "/mnt/x": "no-such-volume" } });
      await expect(bad).rejects.toThrow(/\/proc.*no-such-volume/);
      await sandbox.kill();
    });
  },
  { by: (version) => version === "2.51.0", needs: "volumes" },
);
