import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Files of the machine's /etc that programs in /usr need and that reveal nothing about the machine's owner: library paths, public
 * certificates, alternatives, time zone, tables of names. Left out on purpose: ssh, apt's sources and passwords, npmrc, pip.conf,
 * gitconfig, docker, containers, cron, systemd, profile.d, ssl/private.
 */
const copied = [
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "ssl/certs",
  "ssl/openssl.cnf",
  "ca-certificates.conf",
  "alternatives",
  "localtime",
  "timezone",
  "locale.alias",
  "services",
  "protocols",
  "rpc",
  "mime.types",
  "os-release",
  "debian_version",
  "bash.bashrc",
  "profile",
  "skel",
  "inputrc",
  "login.defs",
  "terminfo",
  "perl",
  "magic",
  "gai.conf",
  "host.conf",
  "debconf.conf",
  "dpkg",
  "fonts",
  "xattr.conf",
];
const copiedByPrefix = ["python3", "java-"];

/** Paths below `etc` that are there to be copied. */
export function filesToCopy(etc: string): string[] {
  const byPrefix = readdirSync(etc).filter((name) => copiedByPrefix.some((prefix) => name.startsWith(prefix)));
  return [...copied, ...byPrefix].filter((path) => existsSync(join(etc, path)));
}
