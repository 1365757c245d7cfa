import { expect, test } from "vitest";
import { egressElements } from "./egress.ts";
import { renderRemoval, renderRuleset } from "./ruleset.ts";
import { parseSubnet } from "#lib/subnet.ts";

const addresses = { instance: "q", subnet: parseSubnet("10.231.0.0/16"), slots: 2 };
const rules = (wish: Partial<Parameters<typeof renderRuleset>[0]> = {}): string =>
  renderRuleset({ addresses, nameservers: [], egress: [], share: { open: 700, newPerSecond: 90, newAtOnce: 300 }, ...wish });

/** The lines of one chain or the line of one set. */
function block(text: string, name: string): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.trim().startsWith(`${name} {`));
  const end = lines.findIndex((line, index) => index >= start && line.trimEnd().endsWith("}"));
  return lines.slice(start, end + 1).map((line) => line.trim());
}

test("loading it replaces what was there, in one transaction", () => {
  expect(rules()).toMatch(/^table inet abxq\ndelete table inet abxq\ntable inet abxq \{/);
  expect(rules()).toContain("\ntable bridge abxq\ndelete table bridge abxq\ntable bridge abxq {");
});

test("every slot owns its port with its MAC and address, before any sandbox is there", () => {
  expect(block(rules(), "set owners")).toEqual([
    'set owners { type ifname . ether_addr . ipv4_addr; elements = { "abxq-0" . 02:ab:0a:e7:00:02 . 10.231.0.2, "abxq-1" . 02:ab:0a:e7:00:03 . 10.231.0.3 } }',
  ]);
});

test("a frame passes only with the addresses of its port, in the frame and in what it asks about", () => {
  expect(block(rules(), "chain guard")).toEqual([
    "chain guard {",
    "iifname . ether saddr . ip saddr @owners accept",
    "ether type arp iifname . ether saddr . arp saddr ip != @owners drop",
    "ether type arp iifname . arp saddr ether . arp saddr ip @owners accept",
    "drop",
    "}",
  ]);
});

test("closed networks come before a pod's own wishes, what is allowed before what is denied", () => {
  const order = ["ipv6", "@closed", "@allowed", "@denied", "@offline", "accept"];
  const lines = block(rules(), "chain from_sandbox").slice(1, -1);
  expect(lines.map((line, index) => line.includes(order[index] ?? ""))).toEqual(order.map(() => true));
});

test("a sandbox reaches the machine only with answers, and is reached from outside only by them", () => {
  expect(block(rules(), "chain to_machine").slice(-3, -1)).toEqual([
    'iifname "abxq" ct state established,related accept',
    'iifname "abxq" jump refuse',
  ]);
  expect(block(rules(), "chain inwards").slice(-3, -1)).toEqual([
    'oifname "abxq" ct state established,related accept',
    'oifname "abxq" drop',
  ]);
});

test("resolvers in a closed network are open for names, and for nothing else", () => {
  const text = rules({ nameservers: ["10.0.0.53"] });
  expect(block(text, "set nameservers")[0]).toContain("elements = { 10.0.0.53 }");
  const lines = text.split("\n").map((line) => line.trim());
  const start = lines.indexOf("chain to_closed {");
  expect(lines.slice(start + 1, lines.indexOf("}", start))).toEqual([
    "ip daddr @nameservers meta l4proto { tcp, udp } th dport 53 return",
    "jump refuse",
  ]);
});

test("what leaves a sandbox is judged whether its connection is open already or not", () => {
  expect(block(rules(), "chain from_sandbox").join("\n")).not.toContain("ct state");
});

test("the instance's own network is closed, also where it is a public one", () => {
  expect(block(rules({ addresses: { ...addresses, subnet: parseSubnet("11.5.0.0/16") } }), "set closed")[0]).toContain("11.5.0.0/16");
  const closed = block(rules(), "set closed")[0];
  // It lies in 10.0.0.0/8, and nft refuses what lies in another interval.
  expect(closed).toContain("10.0.0.0/8");
  expect(closed).not.toContain("10.231.0.0/16");
});

test("metadata services, the machine's loopback and all private networks are closed", () => {
  const closed = block(rules(), "set closed")[0];
  for (const network of ["169.254.0.0/16", "127.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12", "100.64.0.0/10", "224.0.0.0/3"]) {
    expect(closed).toContain(network);
  }
});

test("what living pods wish is part of it, so that a restart of the node forgets nothing", () => {
  const egress = [egressElements("10.231.0.2", { internet: false, allow: ["8.8.8.8"], deny: [] }), egressElements("10.231.0.3", undefined)];
  const text = rules({ egress });
  expect(block(text, "set offline")[0]).toContain("elements = { 10.231.0.2 }");
  expect(block(text, "set allowed")[0]).toContain("elements = { 10.231.0.2 . 8.8.8.8/32 }");
  expect(block(text, "set denied")[0]).not.toContain("elements");
});

test("a sandbox's connections are counted after it was decided that they may be, in both directions", () => {
  const counted = block(rules(), "chain counted").slice(2, -1);
  expect(counted).toEqual([
    'iifname "abxq" ct state new add @asks_often { ip saddr limit rate over 90/second burst 300 packets } jump refuse',
    'iifname "abxq" ct state new add @asks { ip saddr ct count over 700 } jump refuse',
  ]);
  const priority = (chain: string): number => Number(/hook forward priority (-?\d+)/.exec(block(rules(), chain)[1] ?? "")?.[1]);
  expect(priority("chain counted")).toBeGreaterThan(Math.max(priority("chain outwards"), priority("chain inwards")));
  expect(block(rules(), "chain to_sandbox").join("\n")).toContain("ct state new add @asked { ip daddr ct count over 700 } jump refuse");
});

test("what leaves the machine for a sandbox is root's, whether its connection is open already or not", () => {
  expect(block(rules(), "chain to_sandbox")[1]).toBe("meta skuid != 0 jump refuse");
});

test("metadata services are closed to sandboxes, those behind an address that looks public too", () => {
  const [closed = ""] = block(rules(), "set closed");
  expect(closed).toContain("169.254.0.0/16");
  expect(closed).toContain("168.63.129.16");
});

test("the sets of counters have room for all slots", () => {
  for (const set of ["asks", "asks_often", "asked", "asked_often"]) expect(block(rules(), `set ${set}`)[0]).toContain("size 2;");
});

test("removal works whether the tables are there or not", () => {
  expect(renderRemoval("q")).toBe("table inet abxq\ndelete table inet abxq\ntable bridge abxq\ndelete table bridge abxq\n");
});
