/**
 * A place outside the cluster: a network namespace on this machine, with addresses that a sandbox might ask for. Only what comes
 * from the cluster's bridge is led there: the machine itself goes on seeing the real ones.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { bridge } from "../../tools/cluster/layout.ts";

export const outside = {
  // Looks public and leads nowhere: of the relays that once stood between IPv4 and IPv6.
  public: "192.88.99.7",
  private: "192.168.213.7",
  metadata: "169.254.169.254",
};

/** Of the namespace and of the link to it: one for the machine, as its cluster is, so that what a killed test left is found. */
const name = "agentbox-out";
const table = "25213";
const [here, there] = ["198.19.213.1", "198.19.213.2"];

/** Listens on ports 80 and 81 of all these addresses. */
export async function openOutside(): Promise<AsyncDisposable> {
  await close();
  const empty = mkdtempSync(join(tmpdir(), `${name}-`));
  await runCommand(["ip", "netns", "add", name]);
  await runCommand(["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name]);
  await runCommand(["ip", "address", "add", `${here}/30`, "dev", name]);
  await runCommand(["ip", "link", "set", name, "up"]);
  writeFileSync(`/proc/sys/net/ipv4/conf/${name}/forwarding`, "1");
  for (const address of [`${there}/30`, ...Object.values(outside)]) await inside("ip", "address", "add", address, "dev", "eth0");
  await inside("ip", "link", "set", "eth0", "up");
  await inside("ip", "route", "add", "default", "via", here);
  for (const port of ["80", "81"]) await inside("busybox", "httpd", "-p", port, "-h", empty);
  await runCommand(["ip", "route", "add", "default", "via", there, "dev", name, "table", table]);
  for (const address of Object.values(outside)) await runCommand(["ip", "rule", "add", "iif", bridge, "to", address, "lookup", table]);
  return {
    [Symbol.asyncDispose]: async () => {
      await close();
      rmSync(empty, { recursive: true });
    },
  };
}

function inside(...command: readonly string[]): Promise<string> {
  return runCommand(["ip", "netns", "exec", name, ...command]);
}

/** Whatever of it is there. */
async function close(): Promise<void> {
  for (const address of Object.values(outside)) await attempt("ip", "rule", "delete", "iif", bridge, "to", address, "lookup", table);
  const servers = await attempt("ip", "netns", "pids", name);
  for (const pid of servers.split("\n").filter((line) => line !== "")) process.kill(Number(pid));
  await attempt("ip", "link", "delete", name);
  await attempt("ip", "netns", "delete", name);
}

async function attempt(...command: readonly [string, ...string[]]): Promise<string> {
  return runCommand(command).catch(() => "");
}
