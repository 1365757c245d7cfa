/** Images of all sorts, run as sandboxes: the daemon comes into each, whatever libraries it has, or none. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { header } from "#envd-protocol/arming.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { systemClock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import { RealRegistry } from "../images/real-registry.ts";
import { debianRoot } from "../world/debian-root.ts";
import { loopbackRegistries } from "../world/fake-registry.ts";
import { imageOf } from "../world/image-fixture.ts";
import { type RealNode, startRealNode } from "../world/real-node.ts";

let world: RealNode;
let folder: string;
beforeAll(async () => {
  world = await startRealNode();
  folder = mkdtempSync(join(tmpdir(), "agentbox-roots-"));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** As `agentbox image import --rootfs` does it, beside the node that uses the images. */
async function importRoot(root: string, name: string): Promise<void> {
  await using client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  await using images = await ImageStore.open({ folder: join(world.home, "images"), clock: systemClock, random: Math.random, client });
  const config = { env: ["PATH=/usr/bin:/bin"], entrypoint: [], cmd: [], user: "", workingDir: "/", labels: {} };
  await images.importRootfs(root, { name, config });
}

/** A sandbox of the image, ready; the daemon at its address is its own. */
async function sandboxOf(image: string, name: string): Promise<Pod> {
  const readinessProbe = { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 };
  const pod = await world.sandbox(name, { containers: [{ name: "main", image, readinessProbe }] });
  const answer = await fetch(`http://${pod.status?.podIP}:49983/health`);
  expect([answer.status, answer.headers.get(header.podUid)]).toEqual([204, pod.metadata.uid]);
  return pod;
}

/** A root with one static program under several names. */
function staticRoot(programs: readonly string[]): string {
  const root = mkdtempSync(join(folder, "root-"));
  for (const part of ["bin", "lib", "etc", "tmp"]) mkdirSync(join(root, part));
  chmodSync(root, 0o755);
  chmodSync(join(root, "tmp"), 0o1777);
  const [first = "", ...others] = programs;
  copyFileSync("/bin/busybox", join(root, "bin", first));
  chmodSync(join(root, "bin", first), 0o755);
  for (const name of others) symlinkSync(first, join(root, "bin", name));
  return root;
}

test("a musl root, as Alpine's is, runs its own programs beside the daemon", async () => {
  const root = staticRoot(["busybox", "sh", "cat", "ls"]);
  writeFileSync(join(folder, "hello.c"), '#include <stdio.h>\nint main(void) { puts("hello from musl"); return 0; }\n');
  execFileSync("musl-gcc", ["-o", join(root, "bin/hello"), join(folder, "hello.c")]);
  const loader = `ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  copyFileSync(`/lib/${loader}`, join(root, "lib", loader));
  chmodSync(join(root, "lib", loader), 0o755);
  await importRoot(root, "musl:1");
  await sandboxOf("musl:1", "musl");
  expect(await world.run("musl", ["hello"])).toMatchObject({ code: 0, stdout: "hello from musl\n" });
  expect(await world.run("musl", ["sh", "-c", "echo kept > /tmp/x && cat /tmp/x; ls /lib"])).toMatchObject({
    code: 0,
    stdout: `kept\n${loader}\n`,
  });
});

test("a root with a single static program and no shell, as distroless images are, carries the daemon as well", async () => {
  await importRoot(staticRoot(["cat"]), "distroless:1");
  await sandboxOf("distroless:1", "distroless");
  expect(await world.run("distroless", ["/bin/cat", "/etc/hostname"])).toMatchObject({ code: 0, stdout: "distroless\n" });
  await expect(world.run("distroless", ["sh", "-c", "true"])).rejects.toThrow(/sh/);
});

test("a Debian root made with debootstrap runs bash, and its packages are known to its own dpkg", { timeout: 400_000 }, async (context) => {
  const root = debianRoot();
  if (root === undefined) return context.skip("debootstrap or a mirror of Debian is missing");
  await importRoot(root, "debian:stable");
  await sandboxOf("debian:stable", "debian");
  const version = readFileSync(join(root, "etc/debian_version"), "utf8");
  const script = "cat /etc/debian_version; dpkg-query -W -f '${Package}\\n' bash; stat -c %a:%u /usr/bin/passwd; id -u";
  expect(await world.run("debian", ["bash", "-c", script])).toMatchObject({ code: 0, stdout: `${version}bash\n4755:0\n0\n` });
});

describe("from a real registry", () => {
  const program = { name: "bin/busybox", content: readFileSync("/bin/busybox"), mode: 0o755 };
  const links = ["sh", "cat"].map((name) => ({ name: `bin/${name}`, type: "symlink" as const, linkName: "busybox" }));
  const image = imageOf([[program, ...links], [{ name: "etc/motd", content: Buffer.from("pulled\n") }]], { config: { cmd: ["/bin/sh"] } });
  let registry: RealRegistry;
  beforeAll(async () => {
    registry = await RealRegistry.start();
    await registry.push("team/app", "1", image);
  });
  afterAll(() => registry[Symbol.asyncDispose]());

  test("an image is pulled by its tag and runs as a sandbox, which says which digest it has", async () => {
    const pod = await sandboxOf(`${registry.host}/team/app:1`, "by-tag");
    expect(pod.status?.containerStatuses?.[0]?.imageID).toContain(image.digest);
    expect(await world.run("by-tag", ["cat", "/etc/motd"])).toMatchObject({ code: 0, stdout: "pulled\n" });
  });

  test("an image is pulled by its digest, whatever its tag says", async () => {
    await sandboxOf(`${registry.host}/team/app:1-u7@${image.digest}`, "by-digest");
    expect(await world.run("by-digest", ["sh", "-c", "cat /etc/motd"])).toMatchObject({ code: 0, stdout: "pulled\n" });
  });
});
