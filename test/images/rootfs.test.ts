/** Root folders of different sorts become images, and programs run in them. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ImageConfig } from "#images/image-config.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { systemClock } from "#lib/clock.ts";
import { loopbackRegistries } from "../world/fake-registry.ts";

let folder: string;
let client: RegistryClient;
let store: ImageStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-rootfs-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  store = await ImageStore.open({ folder: join(folder, "images"), clock: systemClock, random: Math.random, client });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function newRoot(): string {
  const root = join(folder, "root");
  for (const part of ["bin", "lib", "etc", "dev", "tmp"]) mkdirSync(join(root, part), { recursive: true });
  chmodSync(join(root, "tmp"), 0o1777);
  writeFileSync(join(root, "etc/motd"), "hello from the root\n");
  return root;
}

function install(root: string, program: string, name: string): void {
  copyFileSync(program, join(root, "bin", name));
  chmodSync(join(root, "bin", name), 0o755);
}

async function imported(root: string, config: Partial<ImageConfig> = {}): Promise<ResolvedImage> {
  const start = { env: ["PATH=/bin"], entrypoint: [], cmd: ["/bin/sh"], user: "", workingDir: "/", labels: {}, ...config };
  await store.importRootfs(root, { name: "root:1", config: start });
  rmSync(root, { recursive: true });
  return store.ensure("root:1", { pullPolicy: "Never" });
}

/** What a command prints whose root is the image, over a writable layer. */
function run(image: ResolvedImage, ...command: string[]): string {
  const [place, upper, work] = ["mount", "upper", "work"].map((name) => join(folder, name));
  for (const path of [place, upper, work]) mkdirSync(path ?? "", { recursive: true });
  const options = `lowerdir=${image.layers.join(":")},upperdir=${upper},workdir=${work}`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", options, place ?? ""]);
  try {
    return execFileSync("chroot", [place ?? "", ...command]).toString();
  } finally {
    execFileSync("umount", [place ?? ""]);
  }
}

test("one static program and nothing else, as distroless images are", async () => {
  const root = newRoot();
  install(root, "/bin/busybox", "cat");
  const image = await imported(root, { cmd: ["/bin/cat"], user: "65534" });
  expect(image.config).toMatchObject({ cmd: ["/bin/cat"], user: "65534" });
  expect(run(image, "/bin/cat", "/etc/motd")).toBe("hello from the root\n");
});

test("a musl root, as Alpine's is: its own loader, programs that are links to one", async () => {
  const root = newRoot();
  writeFileSync(join(folder, "hello.c"), '#include <stdio.h>\nint main(void) { puts("hello from musl"); return 0; }\n');
  execFileSync("musl-gcc", ["-o", join(root, "bin/hello"), join(folder, "hello.c")]);
  const loader = `ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  copyFileSync(`/lib/${loader}`, join(root, "lib", loader));
  chmodSync(join(root, "lib", loader), 0o755);
  install(root, "/bin/busybox", "busybox");
  for (const applet of ["sh", "ls"]) symlinkSync("busybox", join(root, "bin", applet));
  const image = await imported(root);
  expect(run(image, "/bin/hello")).toBe("hello from musl\n");
  expect(run(image, "/bin/sh", "-c", "ls /tmp; echo written > /tmp/x; cat /etc/motd 2>/dev/null; ls /tmp")).toContain("x");
  expect(lstatSync(join(image.layers[0] ?? "", "tmp")).mode & 0o7777).toBe(0o1777);
});

/** Takes a minute and a mirror of Debian: AGENTBOX_TEST_DEBOOTSTRAP names the mirror, or a folder that was made before. */
const debian = process.env["AGENTBOX_TEST_DEBOOTSTRAP"];
test.skipIf(debian === undefined)("a Debian root made with debootstrap", { timeout: 600_000 }, async () => {
  const root = join(folder, "root");
  if (debian !== undefined && existsSync(debian)) execFileSync("cp", ["-a", debian, root]);
  else execFileSync("debootstrap", ["--variant=minbase", "stable", root, debian ?? ""], { stdio: ["ignore", "ignore", "inherit"] });
  const skipped: string[] = [];
  const config = { env: [], entrypoint: [], cmd: ["/bin/bash"], user: "", workingDir: "/", labels: {} };
  await store.importRootfs(root, { name: "debian:test", config, onSkipped: (path) => skipped.push(path) });
  const image = await store.ensure("debian:test", { pullPolicy: "Never" });
  expect(skipped.every((path) => path.startsWith("dev/"))).toBe(true);
  expect(run(image, "/bin/bash", "-c", "cat /etc/debian_version && dpkg -s bash | head -1 && stat -c %a /usr/bin/passwd")).toMatch(
    /Package: bash\n4755/,
  );
});
