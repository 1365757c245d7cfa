import { expect, test } from "vitest";
import { defaultRouteLinks, parseRoutes } from "./host-routes.ts";
import { formatSubnet } from "#lib/subnet.ts";

/** As written by a little-endian kernel. */
const recorded = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
wlan0	00000000	0101A8C0	0003	0	0	600	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
docker0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0
abx1	0000E70A	00000000	0001	0	0	0	0000FFFF	0	0	0
eth0	0A0200C0	00000000	0005	0	0	0	FFFFFFFF	0	0	0
`;

test("routes are read with their links and networks", () => {
  expect(parseRoutes(recorded).map(({ link, destination }) => `${link} ${formatSubnet(destination)}`)).toEqual([
    "eth0 0.0.0.0/0",
    "wlan0 0.0.0.0/0",
    "eth0 192.0.2.0/24",
    "docker0 172.17.0.0/16",
    "abx1 10.231.0.0/16",
    "eth0 192.0.2.10/32",
  ]);
});

test("links to the outside are those with a default route, each once", () => {
  expect(defaultRouteLinks(parseRoutes(recorded))).toEqual(["eth0", "wlan0"]);
});

test("a machine without routes has none", () => {
  expect(parseRoutes("Iface\tDestination\tGateway\n")).toEqual([]);
});
