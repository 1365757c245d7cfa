import { globSync, readFileSync } from "node:fs";
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

/** Takes the limit of new connections per second away from a sandbox: what is left is the number of open ones. */
function mayHurry({ uid, ip }: Sandbox, set: string): void {
  const [group = ""] = globSync(`/sys/fs/cgroup/{pids/,}abx*/${uid}`);
  const table = basename(dirname(group));
  const element = (verb: "add" | "delete", more = ""): string => `${verb} element inet ${table} ${set} { ${ip}${more} }`;
  // Whether it was there or not, it is there with this limit.
  onMachine("nft", element("add"));
  onMachine("nft", `${element("delete")}; ${element("add", " limit rate over 1000000/second burst 1000000 packets")}`);
}

test("a sandbox that opens connections as fast as it can is slowed down, and its neighbour is not", async () => {
  const before = remembered();
  const started = performance.now();
  await box.mine.python(askFromManyPorts(outside.publicAddress, 15_000));
  const seconds = (performance.now() - started) / 1000;
  expect(remembered() - before).toBeLessThan(2000 + 200 * seconds + others);
  expect(await box.other.python(ask(outside.publicAddress, outsidePort))).toMatch(/^answered/);
});

test("a sandbox fills no more than its part of the machine's table of connections", async () => {
  const before = remembered();
  mayHurry(box.other, "asks_often");
  await box.other.python(askFromManyPorts(outside.publicAddress, 15_000));
  expect(remembered() - before).toBeGreaterThan(3000);
  expect(remembered() - before).toBeLessThan(4096 + others);
  expect(await box.mine.health()).toBe(204);
});

test("the machine asks a sandbox no more than that either, and its daemon's neighbours go on", async () => {
  const before = remembered();
  mayHurry(box.mine, "asked_often");
  onMachine("python3", "-c", askFromManyPorts(box.mine.ip, 15_000));
  expect(remembered() - before).toBeGreaterThan(3000);
  expect(remembered() - before).toBeLessThan(4096 + others);
  expect(await box.other.health()).toBe(204);
});
