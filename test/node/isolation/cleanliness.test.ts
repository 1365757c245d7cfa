import { closeSync, existsSync, globSync, openSync, readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { NodeWorld } from "../runtime/node-world.ts";
import { anOutside, outsidePort } from "./outside.ts";
import { onMachine, twoNeighbours } from "./sandboxes.ts";

/** What a user leaves behind in every place that there is. */
const leaveTraces = `
for place in /tmp /var/tmp /home/user /root /etc /usr/bin /usr/share /opt /run /dev/shm /dev/mqueue /dev; do echo trace > $place/a-trace; done
echo '10.9.9.9 trace' >> /etc/hosts; echo 'nameserver 10.9.9.9 # trace' > /etc/resolv.conf; echo trace > /etc/hostname
echo 'trace:x:0:0::/:/bin/sh' >> /etc/passwd; cp /bin/bash /usr/bin/true
ipcmk -M 4096 -p 0666; ipcmk -S 1 -p 0666; ipcmk -Q -p 0666
setsid sleep 4711 </dev/null >/dev/null 2>&1 &
setsid python3 -c '
import socket, time
a = socket.socket(socket.AF_UNIX); a.bind("\\0trace"); a.listen()
b = socket.create_server(("0.0.0.0", 4711)); time.sleep(600)' </dev/null >/dev/null 2>&1 &
python3 -c 'held = bytearray(60 << 20)'
export TRACE=trace
until grep -q trace /proc/net/unix; do sleep 0.05; done
`;

/** Peers that it talked to: by a connection that it closed itself, after enough bytes to be measured, and by a question without an answer. */
const leaveConnections = (address: string): string => `
import socket
for _ in range(3):
    connection = socket.create_connection(("${address}", ${outsidePort}))
    connection.sendall(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 200000\\r\\n\\r\\n" + bytes(200000))
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1000) != b"": pass
    connection.close()
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"question", ("${address}", 9))
`;
const findConnections = (address: string): string =>
  `(ss -Htan state time-wait | sed 's/^/closed /'; ip tcp_metrics show) | grep ${address} || true`;

/** Prints what is found of them. */
const findTraces: Readonly<Record<string, string>> = {
  "files and folders": "find / -xdev -name a-trace 2>/dev/null; find /usr /dev /run -name a-trace",
  "accounts and names": "grep -r trace /etc/passwd /etc/hosts /etc/hostname /etc/resolv.conf",
  "changed programs": "cmp -s /bin/bash /usr/bin/true && echo changed",
  "shared memory, semaphores and queues": "ipcs | grep ^0x",
  "background processes": "pgrep -fa '[s]leep 4711'",
  sockets: "grep trace /proc/net/unix; awk '$2 ~ /:1267$/' /proc/net/tcp",
  variables: "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep ^TRACE=",
};
const kinds = Object.entries(findTraces);

/** Not every kernel shows it. */
const connectionTable = "/proc/net/nf_conntrack";

/** Connections that the firewall remembers to have been opened by an address. */
const remembered = (ip: string): string[] =>
  (readIfPresent(connectionTable) ?? "").split("\n").filter((line) => / src=(\S+)/.exec(line)?.[1] === ip);

describe("a container that takes another's place in a pod", () => {
  const box = twoNeighbours();
  const outside = anOutside();
  const before = { ip: "", held: [] as number[], numbers: [] as number[], missed: [] as string[], connections: "", remembered: 0 };
  const namespaces = ["mnt", "pid", "ipc", "uts", "cgroup", "user", "net"];
  const number = (kind: string): number => statSync(`/proc/${box.mine.pid}/ns/${kind}`).ino;

  beforeAll(async () => {
    await box.mine.says(leaveTraces);
    await box.mine.python(leaveConnections(outside.publicAddress));
    before.connections = await box.mine.says(findConnections(outside.publicAddress));
    before.remembered = remembered(box.mine.ip).length;
    for (const [kind, line] of kinds) if ((await box.mine.sh(line)).stdout === "") before.missed.push(kind);
    const pod = await box.world.ready("mine");
    const container = pod.status?.containerStatuses?.[0]?.containerID ?? "";
    before.ip = box.mine.ip;
    before.numbers = namespaces.map(number);
    // The kernel gives the number of a namespace that is gone to the next one, but not while a process holds it.
    before.held = namespaces.map((kind) => openSync(`/proc/${box.mine.pid}/ns/${kind}`, "r"));
    const patch = [{ op: "replace", path: "/spec/containers/0/image", value: "host:latest-u1" }] as const;
    await box.world.store.patch(Pods, { namespace: "default", name: "mine" }, { type: "json", operations: patch });
    await restarted(container);
  });

  afterAll(() => before.held.forEach((descriptor) => closeSync(descriptor)));

  async function restarted(former: string): Promise<Pod> {
    for await (const event of box.world.store.watch(Pods, { namespace: "default", fieldSelector: "metadata.name=mine" })) {
      if (event.type === "BOOKMARK") continue;
      const [status] = event.object.status?.containerStatuses ?? [];
      if (status?.ready === true && status.containerID !== former) return event.object;
    }
    throw new Error("the watch ended");
  }

  test("is looked at with eyes that see traces where there are some", () => {
    // The variable went with the shell that had it.
    expect(before.missed).toEqual(["variables"]);
  });

  test.each(kinds)("finds no %s of it", async (_, line) => {
    expect((await box.mine.sh(line)).stdout).toBe("");
  });

  test("finds no peers of it: neither closed connections nor what was measured of them", async () => {
    expect(before.connections).toMatch(/^closed/m);
    expect(before.connections).toMatch(new RegExp(`^${outside.publicAddress} age`, "m"));
    expect(await box.mine.says(findConnections(outside.publicAddress))).toBe("");
  });

  test.skipIf(!existsSync(connectionTable))("gets no answers to what it asked: the firewall has forgotten its connections", () => {
    expect(before.remembered).toBeGreaterThan(1);
    expect(remembered(box.mine.ip)).toEqual([]);
  });

  test("has counters of its link at their beginning", async () => {
    expect(Number(await box.mine.says("cat /sys/class/net/eth0/statistics/tx_bytes"))).toBeLessThan(64 << 10);
  });

  test("has namespaces of its own, and the pod's address", async () => {
    for (const [index, kind] of namespaces.entries()) expect(number(kind)).not.toBe(before.numbers[index]);
    expect(await box.mine.says("hostname -I")).toContain(before.ip);
  });

  test("starts with counters at their beginning", () => {
    const [peak] = globSync(`/sys/fs/cgroup/{memory/,}abx*/${box.mine.uid}/*/memory.{max_usage_in_bytes,peak}`);
    expect(Number(readFileSync(peak ?? "", "utf8"))).toBeLessThan(60 << 20);
  });

  test("leaves nothing of the former one on the machine", () => {
    expect(globSync(`/sys/fs/cgroup/{pids/,}abx*/${box.mine.uid}/*/cgroup.procs`)).toHaveLength(1);
    expect(box.mine.pids().length).toBeLessThan(6);
  });
});

describe("a pod that is given the slot of a removed one", () => {
  const parts: { world?: NodeWorld; id?: string } = {};
  const seen: { before?: unknown; after?: unknown } = {};

  beforeAll(async () => {
    const world = await NodeWorld.open({ slots: 1, slotsAhead: 1 });
    parts.world = world;
    const image = await world.host();
    const egress = { internet: false, allow: ["25.0.0.1/32"], deny: [] };
    const first = await world.pod({ egress });
    const box = await world.start(first.uid, { image });
    const { code, err } = await world.exec(box.id, ["bash", "-c", leaveTraces]);
    if (code !== 0) throw new Error(`no traces were left: ${err}`);
    seen.before = { slot: first.slot, ip: first.ip };
    await world.runtime.removePod(first.uid);
    const next = await vi.waitFor(() => world.pod(), { timeout: 100_000, interval: 200 });
    seen.after = { slot: next.slot, ip: next.ip };
    parts.id = (await world.start(next.uid, { image })).id;
  });
  afterAll(() => parts.world?.[Symbol.asyncDispose]());

  test("has its address", () => {
    expect(seen.after).toEqual(seen.before);
  });

  test.each(kinds)("finds no %s of it", async (_, line) => {
    expect((await parts.world?.exec(parts.id ?? "", ["bash", "-c", line]))?.out).toBe("");
  });

  test("finds no connections, neighbours or keys of it", async () => {
    const line = "tail -n +2 /proc/net/tcp; tail -n +2 /proc/net/udp; ip neigh; cat /proc/keys /proc/key-users";
    expect((await parts.world?.exec(parts.id ?? "", ["bash", "-c", line]))?.out).toBe("");
  });

  test("has no wish of it in the firewall", () => {
    const table = `abx${parts.world?.options.instance ?? ""}`;
    const rules = ["offline", "allowed", "denied"].map((set) => onMachine("nft", "list", "set", "inet", table, set));
    expect(rules.join("")).not.toContain("elements");
  });
});
