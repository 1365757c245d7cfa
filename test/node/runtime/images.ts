import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResolvedImage } from "#images/resolved-image.ts";

const applets = [
  "sh",
  "cat",
  "echo",
  "sleep",
  "ls",
  "id",
  "true",
  "false",
  "dd",
  "ps",
  "mkdir",
  "touch",
  "env",
  "pwd",
  "hostname",
  "nc",
  "stty",
  "tty",
  "tr",
  "ip",
];

/** A small image without any library: one static program under many names. */
export function busyboxImage(folder: string): ResolvedImage {
  const layer = join(folder, "busybox");
  for (const name of ["bin", "etc", "proc", "sys", "dev", "tmp", "root", "home/app"]) mkdirSync(join(layer, name), { recursive: true });
  copyFileSync("/usr/bin/busybox", join(layer, "bin/busybox"));
  chmodSync(join(layer, "bin/busybox"), 0o755);
  chmodSync(join(layer, "tmp"), 0o1777);
  for (const name of applets) symlinkSync("busybox", join(layer, "bin", name));
  writeFileSync(join(layer, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\napp:x:1234:1234:app:/home/app:/bin/sh\n");
  writeFileSync(join(layer, "etc/group"), "root:x:0:\napp:x:1234:\nextra:x:77:app\n");
  return image("oci", [layer]);
}

function image(kind: ResolvedImage["kind"], layers: readonly string[]): ResolvedImage {
  const config = { env: [], entrypoint: [], cmd: ["/bin/sh"], user: "", workingDir: "/", labels: {} };
  return { kind, id: `sha256:${"1".repeat(64)}`, digest: `sha256:${"2".repeat(64)}`, config, layers };
}
