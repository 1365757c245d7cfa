/** Layers of real overlays, as containers have them. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asRoot, folder, mounted, requestFor, tree, useLayerFolder } from "../../../../test/world/layer-folder.ts";
import { layerOfTar } from "../../../../test/world/layer-archive.ts";
import { makeNode } from "#lib/native/files.ts";
import { unpackLayer } from "#images/layer/unpack.ts";
import { HiddenNames } from "./hidden-names.ts";
import { emptyScratch, writeLayer } from "./layer-file.ts";
import type { OverlayMount } from "./overlay-mount.ts";

useLayerFolder();

const limits = { maxBytes: 1 << 20 };
const goOn = (): void => {};

/** Two layers of an image, and a container on them in which `script` ran. */
async function container<T>(script: string, look: (mount: OverlayMount) => Promise<T>): Promise<T> {
  const at = (name: string): string => join(folder, name);
  for (const name of ["low/etc/skel/deep", "low/opt", "high/etc", "upper", "work", "merged"]) mkdirSync(at(name), { recursive: true });
  for (const name of ["low/etc/skel/.bashrc", "low/etc/skel/deep/one", "low/etc/passwd", "low/opt/gone", "high/etc/skel2"]) {
    writeFileSync(at(name), name);
  }
  const mount = { merged: at("merged"), upper: at("upper"), lower: [at("high"), at("low")] };
  const options = `lowerdir=${mount.lower.join(":")},upperdir=${mount.upper},workdir=${at("work")}`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", options, mount.merged]);
  try {
    execFileSync("sh", ["-ec", script], { cwd: mount.merged });
    return await look(mount);
  } finally {
    execFileSync("umount", [mount.merged]);
  }
}

async function unpackedLayer(mount: OverlayMount): Promise<string> {
  const file = join(folder, "layer.tar");
  await writeLayer(mount, file, { limits, goOn });
  const request = requestFor(layerOfTar(readFileSync(file)), { lowers: mount.lower });
  await unpackLayer(request);
  return request.folder;
}

describe.skipIf(!asRoot)("the layer of a container", () => {
  test("over the layers of its image is what the container sees", async () => {
    const script = "echo new > etc/new; rm opt/gone; rm -r etc/skel; mkdir etc/skel; echo mine > etc/skel/mine; mv etc/passwd etc/moved";
    await container(script, async (mount) => {
      const layer = await unpackedLayer(mount);
      const seen = tree(mount.merged).sort();
      expect(seen).toContain("etc/skel/mine");
      expect(mounted([layer, ...mount.lower], (root) => tree(root).sort())).toEqual(seen);
    });
  });

  test("tells by name what a folder that was made anew hides, without the attribute that only the node's root can read", async () => {
    await container("rm -r etc/skel; mkdir -p etc/skel/deep; echo mine > etc/skel/mine", async (mount) => {
      const hidden = new HiddenNames(mount);
      expect(await hidden.in("", ["etc"])).toEqual([]);
      expect(await hidden.in("etc", readdirSync(join(mount.upper, "etc")))).toEqual([]);
      expect(await hidden.in("etc/skel", readdirSync(join(mount.upper, "etc/skel")))).toEqual([".bashrc"]);
      expect(await hidden.in("etc/skel/deep", [])).toEqual(["one"]);
    });
  });

  test("shows no whiteout where an upper layer of the image has taken a folder away that the sandbox made anew", async () => {
    const script = "mkdir etc/skel; echo mine > etc/skel/mine";
    mkdirSync(join(folder, "high/etc"), { recursive: true });
    makeNode(Buffer.from(join(folder, "high/etc/skel")), 0o020000);
    await container(script, async (mount) => {
      const layer = await unpackedLayer(mount);
      expect(tree(layer).filter((name) => name.startsWith("etc/skel"))).toEqual(["etc/skel/", "etc/skel/mine"]);
      expect(mounted([layer, ...mount.lower], (root) => readdirSync(join(root, "etc/skel")))).toEqual(["mine"]);
    });
  });

  test("follows no link of an image out of its layers", async () => {
    mkdirSync(join(folder, "secret/inner"), { recursive: true });
    writeFileSync(join(folder, "secret/inner/name-of-another-tenant"), "");
    await container("true", async (mount) => {
      symlinkSync(join(folder, "secret"), join(mount.lower[1] ?? "", "link"));
      const upper = { ...mount, merged: join(folder, "other") };
      mkdirSync(join(folder, "other/link/inner"), { recursive: true });
      const hidden = new HiddenNames(upper);
      await hidden.in("", ["link"]);
      expect(await hidden.in("link", ["inner"])).toEqual([]);
      expect(await hidden.in("link/inner", [])).toEqual([]);
    });
  });

  test("has nothing of what the runtime makes to mount something on, and all that is beside it", async () => {
    const script = "mkdir dev proc sys dev/shm etc/hosts.d; touch etc/hosts etc/resolv.conf etc/hostname etc/hosts.d/mine dev/made";
    await container(script, async (mount) => {
      const layer = await unpackedLayer(mount);
      expect(tree(layer).sort()).toEqual(["etc/", "etc/hosts.d/", "etc/hosts.d/mine"]);
    });
  });

  test("that is too large, is not wanted any more or has no room is given up, and says why", async () => {
    await container("head -c 3000000 /dev/zero > large", async (mount) => {
      const write = (more: object): Promise<void> => writeLayer(mount, join(folder, `${Math.random()}.tar`), { limits, goOn, ...more });
      await expect(write({})).rejects.toMatchObject({ code: "too_large" });
      await expect(write({ limits: { maxBytes: 1 << 30, reserveBytes: 2 ** 60 } })).rejects.toMatchObject({ code: "storage" });
      const ended = (): void => {
        throw new Error("the sandbox has ended");
      };
      await expect(write({ goOn: ended })).rejects.toThrow("the sandbox has ended");
      const elsewhere = { ...mount, upper: join(folder, "not-mounted") };
      await expect(writeLayer(elsewhere, join(folder, "x.tar"), { limits, goOn })).rejects.toThrow("does not see the files");
    });
  });
});

test("what a killed agent left is gone when the next one begins", async () => {
  const scratch = join(folder, "scratch");
  await emptyScratch(scratch);
  writeFileSync(join(scratch, "0.tar"), "half");
  await emptyScratch(scratch);
  expect(readdirSync(scratch)).toEqual([]);
  expect(lstatSync(scratch).mode & 0o777).toBe(0o700);
  expect(existsSync(join(scratch, "0.tar"))).toBe(false);
});
