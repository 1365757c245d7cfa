import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerPlan, PodPlan, PodState } from "#engines/embedded/node/pod-runtime.ts";
import { aPod, NodeWorld } from "./node-world.ts";
import { connectFrom, Outside } from "./outside.ts";

let outside: Outside;
let world: NodeWorld;
let host: Server;
let hostPort: number;

beforeAll(async () => {
  outside = await Outside.open();
  const subnet = NodeWorld.freeSubnet();
  world = await NodeWorld.open({ network: { subnet, uplinks: [outside.uplink], nameservers: [outside.privateAddress] } });
  host = createServer((socket) => socket.end("the machine\n")).listen(0, "0.0.0.0");
  await once(host, "listening");
  const address = host.address();
  hostPort = typeof address === "object" && address !== null ? address.port : 0;
});

afterAll(async () => {
  host.close();
  await world[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
});

interface Box {
  readonly pod: PodState;
  readonly plan: ContainerPlan;
  /** What a connection from inside comes to. */
  readonly connect: (address: string, port: number) => Promise<string>;
}

async function aBox(wish: Partial<PodPlan> = {}, where: NodeWorld = world): Promise<Box> {
  const pod = await where.pod(wish);
  const plan = await where.start(pod.uid);
  const connect = async (address: string, port: number): Promise<string> => {
    const { code, out } = await where.exec(plan.id, ["/bin/nc", "-w", "3", address, String(port)]);
    return code === 0 ? out.trim() : "refused";
  };
  return { pod, plan, connect };
}

const gatewayOf = (pod: PodState): string => pod.ip.replace(/\d+$/, "1");
const networkOf = (pod: PodState): string => `/run/agentbox-${world.options.instance}/slots/${pod.slot}/net`;

describe("a sandbox", () => {
  test("reaches the outside, which sees the machine's address", async () => {
    const { connect } = await aBox();
    expect(await connect(outside.address, 80)).toBe(outside.machine);
  });

  test("is refused at once where it may not go: the machine, its neighbours, private networks, metadata", async () => {
    const { connect, pod } = await aBox();
    const neighbour = await aBox();
    await world.sh(neighbour.plan.id, "nc -l -p 8080 -e echo hello & sleep 0.1");
    const started = performance.now();
    for (const address of [gatewayOf(pod), outside.machine]) expect(await connect(address, hostPort)).toBe("refused");
    expect(await connect(outside.privateAddress, 80)).toBe("refused");
    expect(await connect("169.254.169.254", 80)).toBe("refused");
    expect(await connect("10.0.0.1", 80)).toBe("refused");
    expect(await connect(neighbour.pod.ip, 8080)).toBe("refused");
    // Each connection would be given up after three seconds.
    expect(performance.now() - started).toBeLessThan(2900);
  });

  test("asks the resolver it was given, in whatever network that is, and nothing else there", async () => {
    const { connect, plan } = await aBox();
    expect((await world.sh(plan.id, "cat /etc/resolv.conf")).out).toContain(`nameserver ${outside.privateAddress}`);
    expect(await connect(outside.privateAddress, 53)).toBe(outside.machine);
    expect(await connect(outside.privateAddress, 80)).toBe("refused");
  });

  test("is reached by the machine, but not by the outside", async () => {
    const { pod, plan } = await aBox();
    await world.sh(plan.id, "(while nc -l -p 8080 -e echo hello; do :; done) > /dev/null 2>&1 & sleep 0.1");
    const seen = execFileSync("busybox", ["nc", "-w", "2", pod.ip, "8080"], { encoding: "utf8" });
    expect(seen).toBe("hello\n");
    expect(outside.connect(pod.ip, 8080)).toBe("timeout");
  });

  test("has no IPv6 but its own loopback", async () => {
    const { plan } = await aBox();
    const { out } = await world.sh(plan.id, "ip -o -6 addr");
    expect(out).toMatch(/lo\s+inet6 ::1/);
    expect(out).not.toContain("eth0");
  });

  test("may ping and listen on small ports without being root", async () => {
    const { uid } = await world.pod();
    const box = await world.start(uid, { image: await world.host() });
    const ping = "from socket import *; socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP).connect(('127.0.0.1', 0)); socket().bind(('', 80))";
    expect(await world.exec(box.id, ["/usr/bin/python3", "-c", ping], { user: "user" })).toEqual({ code: 0, out: "", err: "" });
  });

  test("that sends with another address or another MAC is not heard", async () => {
    const { pod } = await aBox();
    const file = networkOf(pod);
    const foreign = pod.ip.replace(/\d+$/, "250");
    const inside = (command: string): string =>
      execFileSync("nsenter", [`--net=${file}`, "ip", ...command.split(" ")], { encoding: "utf8" });
    expect(connectFrom(file, outside.address, 80)).toBe(outside.machine);
    inside(`addr add ${foreign}/32 dev eth0`);
    expect(connectFrom(file, outside.address, 80, foreign)).toMatch(/timeout|EHOSTUNREACH/);
    expect(connectFrom(file, outside.address, 80)).toBe(outside.machine);
    inside("link set eth0 address 02:ab:00:00:00:01");
    expect(connectFrom(file, outside.address, 80)).toMatch(/timeout|EHOSTUNREACH/);
  });
});

describe("an egress policy", () => {
  test("without the Internet opens nothing but what it allows", async () => {
    const { connect } = await aBox({ egress: { internet: false, allow: [`${outside.other}/32`], deny: [] } });
    expect(await connect(outside.address, 80)).toBe("refused");
    expect(await connect(outside.privateAddress, 53)).toBe("refused");
    expect(await connect(outside.other, 80)).toBe(outside.machine);
  });

  test("closes what it denies, but not what it also allows", async () => {
    const network = outside.address.replace(/\d+$/, "0/24");
    const { connect } = await aBox({ egress: { internet: true, allow: [outside.other], deny: [network, "0.0.0.0/0"] } });
    expect(await connect(outside.address, 80)).toBe("refused");
    expect(await connect(outside.other, 80)).toBe(outside.machine);
  });

  test("cannot open what is closed for everybody", async () => {
    const { connect, pod } = await aBox({ egress: { internet: true, allow: ["0.0.0.0/0"], deny: [] } });
    expect(await connect(outside.privateAddress, 80)).toBe("refused");
    expect(await connect(gatewayOf(pod), hostPort)).toBe("refused");
  });

  test("can change while the pod lives, concerns no other pod, and is still there after a restart of the node", async () => {
    const plan = aPod();
    const { connect } = await aBox(plan);
    const other = await aBox();
    expect(await connect(outside.address, 80)).toBe(outside.machine);
    await world.runtime.ensurePod({ ...plan, egress: { internet: true, allow: [], deny: [outside.address] } });
    expect(await connect(outside.address, 80)).toBe("refused");
    expect(await other.connect(outside.address, 80)).toBe(outside.machine);
    await world.closeRuntime();
    await world.openRuntime();
    expect(await connect(outside.address, 80)).toBe("refused");
    await world.runtime.ensurePod(plan);
    expect(await connect(outside.address, 80)).toBe(outside.machine);
  });

  test("that is no list of networks is refused, and the pod with it", async () => {
    const plan = aPod({ egress: { internet: true, allow: ["example.org"], deny: [] } });
    await expect(world.runtime.ensurePod(plan)).rejects.toThrow('"example.org" is no IPv4 network');
    expect(await world.runtime.inspect(plan.uid)).toBeUndefined();
  });
});

test("sandboxes of two instances on one machine do not reach each other, nor share addresses or users", async () => {
  await using second = await NodeWorld.open({ network: { subnet: NodeWorld.freeSubnet(), uplinks: [outside.uplink], nameservers: [] } });
  const [here, there] = [await aBox(), await aBox({}, second)];
  await second.sh(there.plan.id, "nc -l -p 8080 -e echo hello & sleep 0.1");
  const started = performance.now();
  expect(await here.connect(there.pod.ip, 8080)).toBe("refused");
  expect(performance.now() - started).toBeLessThan(2900);
  expect(await there.connect(outside.address, 80)).toBe(outside.machine);
  const [mine, theirs] = [await world.sh(here.plan.id, "cat /proc/self/uid_map"), await second.sh(there.plan.id, "cat /proc/self/uid_map")];
  expect(mine.out).not.toBe(theirs.out);
});
