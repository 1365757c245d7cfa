import { globSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import { anOutside, ask, outsidePort } from "./outside.ts";
import { onMachine, type Sandbox, twoNeighbours } from "./sandboxes.ts";

const box = twoNeighbours();
const outside = anOutside();

/** Number of connections in the machine's firewall, for all sandboxes. */
const remembered = (): number => Number(readFileSync("/proc/sys/net/netfilter/nf_conntrack_count", "utf8"));

/** What else happens on the machine meanwhile. */
const others = 1000;

/** Asks from as many ports as there are, and keeps none: prints how often that went. */
const askFromManyPorts = (address: string, times: number): string => `
import socket
sent = 0
for _ in range(${times}):
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.setblocking(False)
    try:
        asking.connect(("${address}", 9)); asking.send(b"x"); sent += 1
    except OSError: pass
    asking.close()
print(sent)`;

/** The name of the instance's tables in the firewall. */
function tableOf({ uid }: Sandbox): string {
  const [group = ""] = globSync(`/sys/fs/cgroup/{pids/,}abx*/${uid}`);
  return basename(dirname(group));
}

/** What the firewall allows each sandbox, in each direction, as the kernel shows it; and to how many. */
function share(sandbox: Sandbox): { readonly open: number; readonly perSecond: number; readonly atOnce: number; readonly slots: number } {
  const rules = onMachine("nft", `list table inet ${tableOf(sandbox)}`);
  const number = (pattern: RegExp): number => Number(pattern.exec(rules)?.[1]);
  return {
    open: number(/ct count over (\d+)/),
    perSecond: number(/limit rate over (\d+)\/second/),
    atOnce: number(/burst (\d+) packets/),
    slots: number(/set asks \{[^}]*?size (\d+)/),
  };
}

/** Takes the limit of new connections per second away from a sandbox: what is left is the number of open ones. */
function mayHurry(sandbox: Sandbox, set: string): void {
  const { ip } = sandbox;
  const table = tableOf(sandbox);
  const element = (verb: "add" | "delete", more = ""): string => `${verb} element inet ${table} ${set} { ${ip}${more} }`;
  // Whether it was there or not, it is there with this limit.
  onMachine("nft", element("add"));
  onMachine("nft", `${element("delete")}; ${element("add", " limit rate over 1000000/second burst 1000000 packets")}`);
}

test("a sandbox that opens connections as fast as it can is slowed down, and its neighbour is not", async () => {
  const { atOnce, perSecond } = share(box.mine);
  const before = remembered();
  const started = performance.now();
  await box.mine.python(askFromManyPorts(outside.publicAddress, 15_000));
  const seconds = (performance.now() - started) / 1000;
  expect(remembered() - before).toBeLessThan(atOnce + perSecond * seconds + others);
  expect(await box.other.python(ask(outside.publicAddress, outsidePort))).toMatch(/^answered/);
});

test("a sandbox fills no more than its part of the machine's table of connections", async () => {
  const { open } = share(box.mine);
  const before = remembered();
  mayHurry(box.other, "asks_often");
  await box.other.python(askFromManyPorts(outside.publicAddress, 15_000));
  expect(remembered() - before).toBeGreaterThan(0.7 * open);
  expect(remembered() - before).toBeLessThan(open + others);
  expect(await box.mine.health()).toBe(204);
});

test("the machine asks a sandbox no more than that either, and its daemon's neighbours go on", async () => {
  const { open } = share(box.mine);
  const before = remembered();
  mayHurry(box.mine, "asked_often");
  onMachine("python3", "-c", askFromManyPorts(box.mine.ip, 15_000));
  expect(remembered() - before).toBeGreaterThan(0.7 * open);
  expect(remembered() - before).toBeLessThan(open + others);
  expect(await box.other.health()).toBe(204);
});

test("all sandboxes that the machine can carry, each with its whole share, leave the machine its own part of the table", () => {
  const { open, perSecond, atOnce, slots } = share(box.mine);
  const table = Number(readFileSync("/proc/sys/net/netfilter/nf_conntrack_max", "utf8"));
  // A sandbox that does anything takes 16 MiB.
  const sandboxes = Math.min(slots, Math.floor(totalmem() / 2 ** 24));
  // A closed connection is remembered for three seconds.
  expect(sandboxes * 2 * (open + atOnce + 3 * perSecond)).toBeLessThanOrEqual(table - 65_536);
});
