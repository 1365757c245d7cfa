/** The image of the control plane: Node, our sources, which it runs as they are, and the packages they load. No shell, no system. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ImageSpec } from "#images/build/build-image.ts";
import { entriesBelow, type LayerEntry, packEntries } from "#images/build/layer-entries.ts";
import { plainConfig } from "#images/build/image-labels.ts";
import { machinePlatform } from "#images/platform.ts";
import { buildDashboard } from "../../src/cmd/dashboard/build-dashboard.ts";
import { parseLock, productionPackages } from "./production-packages.ts";
import { runtimeLayer } from "./runtime-layer.ts";

const place = "app";
/** The id that images without root use by custom; it has no name in any system. */
const userId = 65_532;

/** Where Node's binary says its loader is. */
const loaders: Readonly<Record<string, string>> = { x64: "lib64/ld-linux-x86-64.so.2", arm64: "lib/ld-linux-aarch64.so.1" };

export interface ControlPlaneParts {
  /** A daemon's folder, of which Node is taken. */
  readonly daemon: string;
  /** AgentBox's own folder, with its packages. */
  readonly repository: string;
}

export async function controlPlaneImage({ daemon, repository }: ControlPlaneParts, version: string): Promise<ImageSpec> {
  const [packages, own] = await Promise.all([packageEntries(repository), ownEntries(repository)]);
  return {
    layers: [await runtimeLayer(daemon), () => packEntries(packages), () => packEntries(own)],
    platform: machinePlatform(),
    config: {
      ...plainConfig("AgentBox", version),
      entrypoint: ["/node", `/${place}/src/cmd/agentbox.ts`],
      // Beside the loader, wherever that looks by itself.
      env: ["PATH=/", "LD_LIBRARY_PATH=/lib", "HOME=/tmp", "NODE_ENV=production"],
      user: `${userId}:${userId}`,
      workingDir: `/${place}`,
    },
  };
}

/** Rolldown makes the daemon's folder, which clusters get as an image of its own. */
async function packageEntries(repository: string): Promise<LayerEntry[]> {
  const lock = parseLock(await readFile(join(repository, "package-lock.json"), "utf8"));
  const packages = productionPackages(lock, repository, (name) => name === "rolldown" || name.startsWith("@types/"));
  const entries = await Promise.all(packages.map((path) => entriesBelow(join(repository, path), join(place, path), isLoaded)));
  return entries.flat();
}

/** Leaves out types and maps: they are for development, and two thirds of all bytes. Packages inside packages have entries of their own. */
function isLoaded(name: string, isFolder: boolean): boolean {
  return isFolder ? name !== "node_modules" : !/\.d\.[cm]?ts$|\.map$|\.md$|\.tsbuildinfo$/i.test(name);
}

async function ownEntries(repository: string): Promise<LayerEntry[]> {
  const sources = await entriesBelow(join(repository, "src"), join(place, "src"), (name) => !name.endsWith(".test.ts"));
  const loader = loaders[process.arch];
  if (loader === undefined) throw new Error(`AgentBox runs on x64 and arm64, not on ${process.arch}`);
  const files = [...(await buildDashboard())];
  const console = files.map(([name, content]): LayerEntry => ({ kind: "file", path: join(place, "dashboard", name), content }));
  return [
    ...sources,
    ...console,
    { kind: "file", path: join(place, "package.json"), content: join(repository, "package.json") },
    { kind: "symlink", path: loader, target: "/lib/ld.so" },
    { kind: "folder", path: "tmp", mode: 0o1777 },
    text("etc/passwd", `root:x:0:0:root:/:/\nagentbox:x:${userId}:${userId}:AgentBox:/tmp:/\n`),
    text("etc/group", `root:x:0:\nagentbox:x:${userId}:\n`),
    // What a cluster writes into /etc/hosts comes before its name server.
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ];
}

function text(path: string, content: string): LayerEntry {
  return { kind: "file", path, content: Buffer.from(content) };
}
