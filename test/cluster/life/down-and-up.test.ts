/** Takes the machine's cluster down and starts it anew, so it runs by itself: `make test-cluster-life`. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { bridge, clusterLayout } from "../../../tools/cluster/layout.ts";
import { aPod, kubectl, push, testNamespace, until } from "../cluster-under-test.ts";
import { clusterCommand } from "../global-setup.ts";

const layout = clusterLayout();

test("programs that were killed are started again, and pods have not noticed", async () => {
  const image = await push({ name: "tests/lasting:1" });
  const space = await testNamespace();
  await space.create(aPod("lasting", { image }));
  const before = await space.untilReady("lasting");
  for (const name of readdirSync(layout.pids)) kill(name);
  await expect(clusterCommand("status")).rejects.toThrow("failed with code 1");

  await clusterCommand("up");
  const after = await until(() => space.untilReady("lasting"));
  expect(after.status.containerStatuses?.[0]).toMatchObject({
    containerID: before.status.containerStatuses?.[0]?.containerID,
    restartCount: 0,
  });
  expect(await space.exec("lasting", "/bin/echo", "still here")).toBe("still here\n");
});

test("nothing is left of a cluster that was taken down with pods in it, and it comes up again empty", async () => {
  await clusterCommand("down");
  const clean = await tracesOnMachine();
  await clusterCommand("up");
  const image = await push({ name: "tests/left:1" });
  await kubectl(["create", "-f", "-"], JSON.stringify(aPod("left-behind", { image })));
  await until(async () => expect(await kubectl(["get", "pod", "left-behind"])).toContain("Running"));
  expect(await tracesOnMachine()).not.toEqual(clean);

  await clusterCommand("down");
  expect(await tracesOnMachine()).toEqual(clean);
  expect(existsSync(layout.folder)).toBe(false);
  expect(existsSync(join(inject("cluster").bin, "kubectl"))).toBe(true);

  await clusterCommand("up");
  expect(await kubectl(["get", "pods", "-A", "--field-selector", "metadata.namespace!=kube-system", "-o", "name"])).toBe("");
}, 300_000);

function kill(pidFile: string): void {
  const { pid } = JSON.parse(readFileSync(join(layout.pids, pidFile), "utf8")) as { pid: number };
  process.kill(pid, "SIGKILL");
}

/** Read from the machine itself, not by the code that is to be judged. Names of others' things change meanwhile and are left out. */
async function tracesOnMachine(): Promise<readonly string[]> {
  const tables = await runCommand(["nft", "list", "tables"]);
  const mounts = mountTable().map(({ target, source }) => `mount ${target} ${source}`);
  const settings = [
    "vm/overcommit_memory",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/ip_forward",
    "net/bridge/bridge-nf-call-iptables",
  ];
  return [
    ...mounts.filter((mount) => mount.includes(layout.folder)),
    ...globSync("/sys/fs/cgroup/{,*/}{agentbox-cluster,kubepods}"),
    ...readdirSync("/sys/class/net").filter((link) => link === bridge || link.startsWith("veth")),
    ...tables.split("\n").filter((table) => /agentbox|kube/.test(table)),
    ...globSync(
      "/{run/containerd,run/nri,opt/containerd,var/lib/cni,var/lib/kubelet,var/log/containers,var/log/pods,usr/libexec/kubernetes}/**",
    ),
    ...processes().filter((command) => command.includes(layout.folder)),
    ...settings.map((name) => `${name} ${readFileSync(`/proc/sys/${name}`, "utf8")}`),
  ];
}

function processes(): readonly string[] {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return pids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return "";
    }
  });
}
