import { execFileSync } from "node:child_process";
import { createServer, type AddressInfo, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { envdPort } from "#envd-protocol/arming.ts";
import { anOutside, ask, outsidePort } from "./outside.ts";
import { onMachine, twoNeighbours, users, type Sandbox } from "./sandboxes.ts";

const box = twoNeighbours();
const outside = anOutside();

/** A service of the machine that listens on all of its addresses. */
let service: Server | undefined;
let port = 0;
beforeAll(async () => {
  service = createServer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nmachine"));
  await new Promise<void>((resolve) => service?.listen(0, "::", () => resolve()));
  port = (service.address() as AddressInfo).port;
});
afterAll(() => service?.close());

/** As the machine's root in the network of a sandbox: what an attacker with every capability could try there. */
function asMightyIn(sandbox: Sandbox, ...command: readonly string[]): string {
  return onMachine("nsenter", `--net=/proc/${sandbox.pid}/ns/net`, ...command).trim();
}

const mightyPython = (sandbox: Sandbox, source: string): string => asMightyIn(sandbox, "python3", "-c", source);

describe.each(users)("as %s", (user) => {
  const answer = (address: string, at: number): Promise<string> => box.mine.python(ask(address, at), user);

  test("a sandbox reaches a public address, and is seen there as the machine", async () => {
    expect(await answer(outside.publicAddress, outsidePort)).toBe(`answered ::ffff:${outside.machine}`);
  });

  test.each(Object.keys(outside.privateAddresses))("a sandbox does not reach %s", async (name) => {
    const address = outside.privateAddresses[name] ?? "";
    expect(await outside.machineReaches(address)).toBe(true);
    expect(await answer(address, outsidePort)).toBe("refused");
  });

  test("a private address is not reached by the port of name servers either", async () => {
    expect(await answer(outside.privateAddresses["a private network of class A"] ?? "", 53)).toBe("refused");
  });

  test("a sandbox reaches no service on any of the machine's addresses", async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
    const source = `
import socket
for address in ${JSON.stringify([...addresses, "0.0.0.0", "localhost", "::ffff:127.0.0.1", "255.255.255.255"])}:
    try: socket.create_connection((address, ${port}), timeout=2); print(address)
    except OSError: pass`;
    expect(await box.mine.python(source, user)).toBe("");
    expect(addresses).toContain(outside.machine);
  });

  test("a sandbox does not reach a neighbour by any port or protocol", async () => {
    for (const at of [envdPort, 22, 80, port]) expect(await answer(box.other.ip, at)).toBe("refused");
    const echo = (address: string): string => `
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.settimeout(1.5)
try: s.sendto(struct.pack("!BBHHH", 8, 0, 0, 0, 1), ("${address}", 0)); print(s.recv(64)[0])
except OSError: print("silence")`;
    expect(await box.mine.python(echo("127.0.0.1"), user)).toBe("0");
    expect(await box.mine.python(echo(box.other.ip), user)).toBe("silence");
  });

  test("what a sandbox sends to everybody reaches no neighbour", async () => {
    const heard = box.other.python(`
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9999)); s.settimeout(2.5)
try: print("heard", s.recv(99))
except OSError: print("silence")`);
    const [bridge = ""] = /^(\d+\.\d+\.)/.exec(box.mine.ip) ?? [];
    await box.mine.python(
      `
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for _ in range(15):
    for to in ("255.255.255.255", "${bridge}255.255", "224.0.0.1", "${box.other.ip}"):
        try: s.sendto(b"hello", (to, 9999))
        except OSError: pass
    time.sleep(0.1)`,
      user,
    );
    expect(await heard).toBe("silence");
  });

  test("a sandbox has no IPv6 address but its own loopback", async () => {
    expect(await box.mine.says("ip -6 -o addr | awk '{ print $2, $4 }'", user)).toBe("lo ::1/128");
  });

  test.each([
    ["give itself another MAC", "ip link set eth0 address 02:00:00:00:00:99"],
    ["give itself another address", "ip addr add 10.9.9.9/32 dev eth0"],
    ["change its routes", "ip route add 10.9.0.0/16 dev lo"],
    ["answer for a neighbour", "ip neigh replace 10.9.9.9 lladdr 02:00:00:00:00:99 dev eth0"],
    ["make a link", "ip link add dummy9 type dummy"],
    ["change the firewall", "nft add table inet mine || iptables -A INPUT -j ACCEPT"],
    ["capture packets", "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'"],
  ])("a sandbox cannot %s", async (_, line) => {
    expect((await box.mine.sh(line, user)).code).not.toBe(0);
  });

  test("the loopback of a sandbox is its own", async () => {
    const source = `
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"own"), daemon=True).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())`;
    expect(await box.mine.python(source, user)).toBe("own");
    expect(await answer("127.0.0.1", port)).toBe("refused");
  });

  test("the resolver's settings are ours and tell nothing of the machine's domain", async () => {
    const lines = (await box.mine.says("cat /etc/resolv.conf", user)).split("\n");
    for (const line of lines) expect(line).toMatch(/^(nameserver \d+\.\d+\.\d+\.\d+|options timeout:2 attempts:2)$/);
  });
});

test("the machine reaches a sandbox", async () => {
  expect(await box.mine.health()).toBe(204);
});

test.each([
  ["TCP", `socket.create_connection(("ADDRESS", ${envdPort}), timeout=3)`],
  ["UDP", `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("ADDRESS", 9))`],
])("users of the machine other than root do not reach a sandbox by %s, past the gateway", (_, attempt) => {
  const source = `
import socket
try: ${attempt.replace("ADDRESS", box.mine.ip)}; print("reached")
except OSError: print("refused")`;
  const as = (uid: number): string => execFileSync("python3", ["-c", source], { uid, gid: uid, encoding: "utf8" }).trim();
  for (const uid of [1000, 65_534]) expect(as(uid)).toBe("refused");
  expect(as(0)).toBe("reached");
});

test("nobody outside reaches a sandbox", async () => {
  const source = ask(box.mine.ip, envdPort);
  expect(onMachine("ip", "netns", "exec", outside.name, "python3", "-c", source).trim()).toBe("refused");
});

describe("even with every capability in its network", () => {
  const toOutside = (source?: string): string => mightyPython(box.mine, ask(outside.publicAddress, outsidePort, source));

  test("a sandbox sends from no address but its own", () => {
    expect(toOutside(box.mine.ip)).toMatch(/^answered/);
    for (const stolen of [box.other.ip, "25.99.1.1"]) {
      asMightyIn(box.mine, "ip", "addr", "add", `${stolen}/32`, "dev", "lo");
      expect(toOutside(stolen)).toBe("refused");
      asMightyIn(box.mine, "ip", "addr", "del", `${stolen}/32`, "dev", "lo");
    }
  });

  test("a sandbox sends from no MAC but its own", async () => {
    const own = await box.mine.says("cat /sys/class/net/eth0/address");
    asMightyIn(box.mine, "ip", "link", "set", "eth0", "address", "02:00:00:00:00:99");
    try {
      expect(toOutside()).toBe("refused");
    } finally {
      asMightyIn(box.mine, "ip", "link", "set", "eth0", "address", own);
    }
    expect(toOutside()).toMatch(/^answered/);
  });

  test("a sandbox cannot claim the address of a neighbour or of the machine", async () => {
    const macOfOther = await box.other.says("cat /sys/class/net/eth0/address");
    const gateway = await box.mine.says("ip route show default | awk '{ print $3 }'");
    const macOfGateway = await box.other.says(`ip neigh show ${gateway} | awk '{ print $5 }'`);
    // Unsolicited ARP answers: "I am the neighbour", "I am the machine".
    mightyPython(
      box.mine,
      `
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0806); s.bind(("eth0", 0x0806))
own = s.getsockname()[4]
for claimed in ("${box.other.ip}", "${gateway}"):
    for source in (own, bytes.fromhex("${macOfOther.replaceAll(":", "")}")):
        for operation in (1, 2):
            ip = socket.inet_aton(claimed)
            s.send(b"\\xff" * 6 + source + bytes.fromhex("0806000108000604000%d" % operation) + own + ip + b"\\xff" * 6 + ip)`,
    );
    expect(onMachine("ip", "neigh", "show", box.other.ip)).toContain(macOfOther);
    expect(await box.other.says(`ip neigh show ${gateway} | awk '{ print $5 }'`)).toBe(macOfGateway);
    expect(await box.other.health()).toBe(204);
  });

  test("a sandbox reaches a neighbour neither by a route over the machine nor by its MAC", async () => {
    const gateway = await box.mine.says("ip route show default | awk '{ print $3 }'");
    const mac = await box.other.says("cat /sys/class/net/eth0/address");
    asMightyIn(box.mine, "ip", "route", "add", `${box.other.ip}/32`, "via", gateway);
    expect(mightyPython(box.mine, ask(box.other.ip, envdPort))).toBe("refused");
    asMightyIn(box.mine, "ip", "route", "del", `${box.other.ip}/32`);
    asMightyIn(box.mine, "ip", "neigh", "replace", box.other.ip, "lladdr", mac, "dev", "eth0");
    expect(mightyPython(box.mine, ask(box.other.ip, envdPort))).toBe("refused");
    asMightyIn(box.mine, "ip", "neigh", "del", box.other.ip, "dev", "eth0");
  });

  test("a sandbox that switches IPv6 on reaches neither the machine nor a neighbour by it", () => {
    const link = onMachine("ip", "-o", "link").match(/abx[0-9a-f]{6}(?=:)/g) ?? [];
    const machine = link.flatMap((name) => onMachine("ip", "-6", "-o", "addr", "show", "dev", name).match(/fe80::[0-9a-f:]+/g) ?? []);
    for (const sandbox of [box.mine, box.other]) asMightyIn(sandbox, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6");
    const neighbour = asMightyIn(box.other, "ip", "-6", "-o", "addr", "show", "dev", "eth0").match(/fe80::[0-9a-f:]+/g) ?? [];
    const source = `
import socket
for address in ${JSON.stringify([...machine, ...neighbour, "ff02::1"])}:
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s.settimeout(1.5)
    try: s.connect((address, ${port}, 0, socket.if_nametoindex("eth0"))); print(address)
    except OSError: pass`;
    expect(machine.length).toBeGreaterThan(0);
    expect(mightyPython(box.mine, source)).toBe("");
    for (const sandbox of [box.mine, box.other]) asMightyIn(sandbox, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6");
  });
});
