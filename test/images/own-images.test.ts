/** The images of AgentBox itself, as a real registry gives them back: what is in them, and that it runs. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { buildImage, type BuiltImage } from "#images/build/build-image.ts";
import { LayoutFolder } from "#images/build/layout-folder.ts";
import { pushImage } from "#images/build/push-image.ts";
import { ImageStore } from "#images/image-store.ts";
import { parseReference, type RegistryReference } from "#images/reference.ts";
import { RegistryClient } from "#images/registry/client.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { systemClock } from "#lib/clock.ts";
import { controlPlaneImage } from "../../tools/images/control-plane-image.ts";
import { daemonImage } from "../../tools/images/daemon-image.ts";
import { loopbackRegistries } from "../world/fake-registry.ts";
import { RealRegistry } from "./real-registry.ts";

const repository = join(import.meta.dirname, "../..");
const version = "1.2.3";
const loaded = ["/lib/ld.so", "--library-path", "/lib", "/node"];
let folder: string;
let made: string;
let layout: LayoutFolder;
let registry: RealRegistry;
let client: RegistryClient;
let images: Readonly<Record<"agentbox" | "agentbox-daemon", BuiltImage>>;
let pulled: Readonly<Record<keyof typeof images, ResolvedImage>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-own-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  [registry, layout, made] = await Promise.all([
    RealRegistry.start(),
    LayoutFolder.open(join(folder, "layout")),
    daemonFolder({ parent: join(folder, "daemon") }),
  ]);
  const daemon = await buildImage(layout, await daemonImage(made, version));
  images = {
    agentbox: await buildImage(layout, await controlPlaneImage({ daemon: made, repository: checkout("one") }, version)),
    "agentbox-daemon": daemon,
  };
  for (const [name, image] of Object.entries(images)) await push(name, image);
  await using store = await ImageStore.open({ folder: join(folder, "store"), clock: systemClock, random: Math.random, client });
  const pull = (name: keyof typeof images): Promise<ResolvedImage> =>
    store.ensure(`${registry.host}/${name}:${version}`, { pullPolicy: "Always" });
  pulled = { agentbox: await pull("agentbox"), "agentbox-daemon": await pull("agentbox-daemon") };
}, 300_000);
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}, 100_000);

/** A copy of AgentBox's sources as they were at the beginning, in a place of its own and as new as can be. */
function checkout(name: string): string {
  const place = join(folder, name);
  const from = name === "one" ? repository : join(folder, "one");
  mkdirSync(place);
  for (const part of ["src", "package.json", "package-lock.json"]) cpSync(join(from, part), join(place, part), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(place, "node_modules"));
  return place;
}

function push(name: string, image: BuiltImage): Promise<"pushed" | "present"> {
  return pushImage({ client, layout }, image, parseReference(`${registry.host}/${name}:${version}`) as RegistryReference);
}

/** Files below a folder: permissions and content by path. */
function files(root: string, path = ""): Record<string, string> {
  const found = readdirSync(join(root, path), { withFileTypes: true }).map((entry): Record<string, string> => {
    const name = join(path, entry.name);
    if (entry.isDirectory()) return files(root, name);
    const content = createHash("sha256")
      .update(readFileSync(join(root, name)))
      .digest("hex");
    return { [name]: `${(statSync(join(root, name)).mode & 0o7777).toString(8)} ${content}` };
  });
  return Object.assign({}, ...found) as Record<string, string>;
}

/** What a container of the image sees; it can write only if `writable`, and then nothing of it stays. */
function inside<T>(image: ResolvedImage, look: (root: string) => T, writable = false): T {
  const place = mkdtempSync(join(folder, "mount-"));
  const [root, upper, work, empty] = ["root", "upper", "work", "empty"].map((name) => join(place, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [root, upper, work, empty]) mkdirSync(path);
  const upperOptions = writable ? `,upperdir=${upper},workdir=${work}` : "";
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${[...image.layers, empty].join(":")}${upperOptions}`, root]);
  try {
    return look(root);
  } finally {
    execFileSync("umount", [root]);
  }
}

function runIn(root: string, user: number, command: readonly string[]): string {
  const place = command[0] === "/node" ? join(root, "app") : root;
  return execFileSync("nsenter", [`--root=${root}`, `--wd=${place}`, `--setgid=${user}`, `--setuid=${user}`, ...command], {
    encoding: "utf8",
    env: { LD_LIBRARY_PATH: "/lib", HOME: "/tmp", PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

describe("the images of AgentBox", () => {
  test("are what was built, also to another tool", () => {
    for (const name of ["agentbox", "agentbox-daemon"] as const) {
      expect(pulled[name].digest).toBe(images[name].manifest.digest);
      const seen = JSON.parse(
        execFileSync("skopeo", ["inspect", "--tls-verify=false", `docker://${registry.host}/${name}:${version}`], { encoding: "utf8" }),
      ) as Record<string, unknown>;
      expect(seen).toMatchObject({
        Digest: images[name].manifest.digest,
        Layers: images[name].layers.map(({ digest }) => digest),
        Labels: { "org.opencontainers.image.version": version },
      });
    }
    const from = `docker://${registry.host}/agentbox-daemon:${version}`;
    execFileSync("skopeo", ["--insecure-policy", "copy", "--src-tls-verify=false", "-q", from, `dir:${join(folder, "copied")}`]);
  });

  test("are the same when they are built again from files of another place and time, and then nothing is sent", async () => {
    // Bundled once more; the same Node, without a second copy of it.
    const other = await daemonFolder({ parent: join(folder, "elsewhere"), node: "/bin/sh" });
    for (const name of ["node", "lib"]) {
      rmSync(join(other, name), { recursive: true });
      symlinkSync(join(made, name), join(other, name));
    }
    const daemon = await buildImage(layout, await daemonImage(other, version));
    expect(daemon).toEqual(images["agentbox-daemon"]);
    const again = await buildImage(layout, await controlPlaneImage({ daemon: other, repository: checkout("two") }, version));
    expect(again).toEqual(images.agentbox);
    expect(await push("agentbox-daemon", daemon)).toBe("present");
  });

  test("share the layer with Node", () => {
    expect(images.agentbox.layers[0]).toEqual(images["agentbox-daemon"].layers[0]);
  });
});

describe("the daemon's image", () => {
  test("holds what stands in /.envd of a sandbox, and the program that copies it", () => {
    const { "install.cjs": installer, ...rest } = inside(pulled["agentbox-daemon"], (root) => files(root));
    // Only the permission to execute is kept; here all files have the same.
    expect(rest).toEqual(files(made));
    expect(installer).toMatch(/^644 /);
  });

  test("copies itself into a folder as anybody, again and again, and what it copied runs from there", () => {
    inside(
      pulled["agentbox-daemon"],
      (root) => {
        const target = join(root, "target");
        mkdirSync(target);
        chmodSync(target, 0o777);
        const before = files(root);
        for (let times = 0; times < 2; times++) expect(runIn(root, 12_345, [...loaded, "/install.cjs", "/target"])).toBe("");
        expect(files(target)).toEqual(before);
        expect(statSync(join(target, "node")).uid).toBe(12_345);
        const copied = ["/target/lib/ld.so", "--library-path", "/target/lib", "/target/node"];
        expect(runIn(root, 12_345, [...copied, "--version"])).toBe(`${process.version}\n`);
        expect(() => runIn(root, 12_345, [...loaded, "/install.cjs", "/lib"])).toThrow(/the daemon cannot be copied: EACCES/);
        expect(() => runIn(root, 12_345, [...loaded, "/install.cjs"])).toThrow(/give the folder to copy to/);
      },
      true,
    );
  });
});

describe("the control plane's image", () => {
  test("runs agentbox as a nobody who can write nowhere", () => {
    expect(pulled.agentbox.config).toMatchObject({ entrypoint: ["/node", "/app/src/cmd/agentbox.ts"], user: "65532:65532" });
    inside(pulled.agentbox, (root) => {
      expect(runIn(root, 65_532, [...pulled.agentbox.config.entrypoint, "--help"])).toContain("Usage: agentbox COMMAND");
      expect(runIn(root, 65_532, ["/node", "-p", "process.execPath + ' ' + require('node:os').userInfo().username"])).toBe(
        "/node agentbox\n",
      );
    });
  });

  test("brings every package that AgentBox loads at run time, but not the bundler, and no tests", () => {
    const { dependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    const names = Object.keys(dependencies).filter((name) => name !== "rolldown");
    const script = `for (const name of ${JSON.stringify(names)}) await import(name); console.log("all")`;
    inside(pulled.agentbox, (root) => {
      expect(runIn(root, 65_532, ["/node", "--input-type=module", "-e", script])).toBe("all\n");
      expect(readdirSync(join(root, "app/node_modules"))).not.toContain("rolldown");
      expect(Object.keys(files(join(root, "app/src"))).filter((name) => name.endsWith(".test.ts"))).toEqual([]);
    });
  });
});
