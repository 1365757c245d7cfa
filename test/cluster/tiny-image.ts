/** Images of a few files and one static program, busybox, for tests with real pods: pushed in milliseconds, started as fast. */
import { readFileSync } from "node:fs";
import type { ImageConfig } from "#images/image-config.ts";
import { imageOf } from "../world/image-fixture.ts";
import { pushImage } from "../world/push-image.ts";

export interface TinyImage {
  /** Repository and tag: `tests/app:1`. */
  readonly name: string;
  /** By path without the first slash. */
  readonly files?: Readonly<Record<string, string>>;
  /** What it runs if the pod does not say; sleeping until it is asked to end, when left out. */
  readonly config?: Partial<ImageConfig>;
}

/** A shell as the first process would ignore the signal that ends it. */
const sleepUntilTerm = ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait"];

/** Applets that tests call by name; any other as `/bin/busybox NAME`. */
const applets = ["sh", "sleep", "cat", "echo", "httpd", "nc", "env", "ls"];

/** Puts it into the registry and gives the reference for pods, with the digest. */
export async function pushTinyImage(registry: string, { name, files = {}, config = {} }: TinyImage): Promise<string> {
  const program = { name: "bin/busybox", mode: 0o755, content: readFileSync("/usr/bin/busybox") };
  const links = applets.map((applet) => ({ name: `bin/${applet}`, type: "symlink" as const, linkName: "busybox" }));
  const own = Object.entries(files).map(([path, content]) => ({ name: path, content }));
  const base = [{ name: "bin/" }, { name: "tmp/", mode: 0o1777 }, program, ...links];
  return pushImage(registry, name, imageOf([base, own], { config: { cmd: sleepUntilTerm, ...config } }));
}
