/** Folders as archives, and back. */
import { execFileSync } from "node:child_process";
import { chownSync, linkSync, lstatSync, mkdirSync, readFileSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { getXattr, makeNode, setXattr } from "#lib/native/files.ts";
import { layerOfTar } from "../../../test/world/layer-archive.ts";
import { asRoot, folder, mounted, privileged, requestFor, tree, unpacked, useLayerFolder } from "../../../test/world/layer-folder.ts";
import { digestOf } from "../digest.ts";
import { packFolder } from "./pack.ts";
import { unpackLayer } from "./unpack.ts";

useLayerFolder();

async function pack(path: string, onSkipped?: (name: string) => void): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of packFolder(path, { marks: privileged, onSkipped })) parts.push(part);
  return Buffer.concat(parts);
}

function newFolder(name: string): string {
  mkdirSync(join(folder, name));
  return join(folder, name);
}

/** A folder with one of everything. */
function sample(name: string): string {
  const root = newFolder(name);
  mkdirSync(join(root, "dir"), { mode: 0o750 });
  writeFileSync(join(root, "dir/file"), "content".repeat(100_000));
  writeFileSync(join(root, "dir/suid"), "x", { mode: 0o4755 });
  execFileSync("chmod", ["4755", join(root, "dir/suid")]);
  linkSync(join(root, "dir/file"), join(root, "hard"));
  symlinkSync("../away", join(root, "link"));
  makeNode(Buffer.from(join(root, "pipe")), 0o010640);
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xe9])]), "latin1");
  writeFileSync(join(root, "n".repeat(150)), "");
  chownSync(join(root, "dir/file"), 1000, 33);
  setXattr(Buffer.from(join(root, "dir/file")), "user.note", Buffer.from([1, 0, 255]));
  for (const path of ["dir/file", "dir", ""]) utimesSync(join(root, path), 1000, 1234.5);
  return root;
}

describe.skipIf(!asRoot)("a folder", () => {
  test("comes back as it was", async () => {
    const root = sample("in");
    const request = requestFor(layerOfTar(await pack(root)));
    await unpackLayer(request);
    const facts = (path: string): unknown[] => {
      const { mode, uid, gid, mtimeMs, size, nlink } = lstatSync(path);
      return [mode, uid, gid, mtimeMs, size, nlink];
    };
    for (const name of ["", "dir", "dir/file", "dir/suid", "hard", "pipe"]) {
      const [mode, uid, gid, mtime, size, nlink] = facts(join(root, name));
      expect([name, ...facts(join(request.folder, name))]).toEqual([name, mode, uid, gid, mtime, size, nlink]);
    }
    expect(tree(request.folder)).toEqual(tree(root));
    expect(readFileSync(join(request.folder, "hard")).equals(readFileSync(join(root, "dir/file")))).toBe(true);
    expect(getXattr(Buffer.from(join(request.folder, "dir/file")), "user.note")).toEqual(Buffer.from([1, 0, 255]));
  });

  test("gives the same archive whenever it holds the same", async () => {
    const root = sample("in");
    const first = digestOf(await pack(root));
    expect(digestOf(await pack(root))).toBe(first);
  });

  test("is packed without sockets and devices, which are named", async () => {
    const root = newFolder("in");
    makeNode(Buffer.from(join(root, "null")), 0o020666, 0x103);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, "socket"), resolve));
    const skipped: string[] = [];
    const request = requestFor(layerOfTar(await pack(root, (name) => skipped.push(name))));
    server.close();
    await unpackLayer(request);
    expect(skipped).toEqual(["null", "socket"]);
    expect(tree(request.folder)).toEqual([]);
  });

  test("is packed without what is mounted in it", async () => {
    const root = newFolder("in");
    mkdirSync(join(root, "proc"));
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(root, "proc")]);
    writeFileSync(join(root, "proc/secret"), "");
    const archive = await pack(root).finally(() => execFileSync("umount", [join(root, "proc")]));
    const request = requestFor(layerOfTar(archive));
    await unpackLayer(request);
    expect(tree(request.folder)).toEqual(["proc/"]);
  });

  test("with names that mean deletions is refused", async () => {
    const root = newFolder("in");
    writeFileSync(join(root, ".wh.file"), "");
    await expect(pack(root)).rejects.toThrow(/names that begin with \.wh\. mean deletions/);
  });

  test("with a file that shrinks meanwhile is refused", async () => {
    const root = newFolder("in");
    writeFileSync(join(root, "file"), Buffer.alloc(2_000_000));
    const packing = packFolder(root, { marks: privileged });
    await packing.next();
    truncateSync(join(root, "file"), 700_000);
    const rest = async (): Promise<void> => {
      for await (const _ of packing);
    };
    await expect(rest()).rejects.toThrow(/"file" became shorter/);
  });
});

test.skipIf(!asRoot)("what a container changed is packed from its upper directory and means the same over the layers below", async () => {
  const lower = await unpacked([
    { name: "a/" },
    { name: "a/gone" },
    { name: "a/kept" },
    { name: "b/" },
    { name: "b/old" },
    { name: "c/" },
    { name: "c/old" },
  ]);
  const [upper, work, place] = [newFolder("upper"), newFolder("work"), newFolder("place")];
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${lower},upperdir=${upper},workdir=${work}`, place]);
  try {
    execFileSync("sh", ["-ec", "rm a/gone; rm -r b; mkdir b; echo new > b/new; rm -r c; echo file > c"], { cwd: place });
  } finally {
    execFileSync("umount", [place]);
  }
  const request = requestFor(layerOfTar(await pack(upper)), { lowers: [lower] });
  await unpackLayer(request);
  expect(mounted([request.folder, lower], tree)).toEqual(["a/", "a/kept", "b/", "b/new", "c"]);
});
