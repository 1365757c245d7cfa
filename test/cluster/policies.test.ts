/** The chart's NetworkPolicies, as it renders them, enforced between real pods. */
import { beforeAll, describe, expect, test } from "vitest";
import { clusterLayout } from "../../tools/cluster/layout.ts";
import { readPorts } from "../../tools/cluster/settings.ts";
import { until } from "./cluster-under-test.ts";
import { all, PolicyScene, type Reach } from "./policy-scene.ts";

let scene: PolicyScene;
beforeAll(async () => {
  scene = await PolicyScene.open();
  return () => scene.close();
}, 180_000);

const ports = await readPorts(clusterLayout());
const sandboxPorts = ["sandbox-b:49983", "sandbox-b:8080", "sandbox-b:7000"];
const controlPlane = ["api:8080", "gateway:8081", "gateway:8443", "controllers:9090", "all:8080"];
const machine = [`node:${ports?.apiServer}`, `node:${ports?.kubelet}`, `node:${ports?.registry}`, "kubernetes:443"];
const elsewhere = ["private:80", "metadata:80", "neighbour:8080", "stranger:8080"];
const closedToSandboxes = [...sandboxPorts, ...controlPlane, ...machine, ...elsewhere];
const strangers = ["stranger", "client", "neighbour", "impostor", "sandbox-a"];

test("without policies everybody reaches everything", async () => {
  await scene.removePolicies();
  const everybody = ["api", "gateway", "controllers", "all", ...strangers];
  await expectReach({
    ...Object.fromEntries(everybody.map((who) => [who, all("open", sandboxPorts)])),
    "sandbox-a": all("open", [...closedToSandboxes, "public:80", "public:81", "dns:53"]),
    stranger: all("open", [...sandboxPorts, ...["api", "gateway", "controllers", "all"].flatMap((part) => everyPortOf(part))]),
  });
});

describe("who reaches a sandbox", () => {
  test("gateway and API at any port, controllers at the daemon's, nobody else", async () => {
    await scene.install();
    await expectReach({
      api: all("open", sandboxPorts),
      gateway: all("open", sandboxPorts),
      controllers: { "sandbox-b:49983": "open", "sandbox-b:8080": "refused", "sandbox-b:7000": "refused" },
      ...Object.fromEntries([...strangers, "all"].map((who) => [who, all("refused", sandboxPorts)])),
    });
  });

  test("of a single-pod installation that pod, and nobody else", async () => {
    await scene.install([], ["images.registry=registry.invalid", "singlePod.enabled=true"]);
    await expectReach({
      all: all("open", sandboxPorts),
      ...Object.fromEntries([...strangers, "api"].map((who) => [who, all("refused", sandboxPorts)])),
    });
  });
});

describe("what a sandbox reaches", () => {
  test("public addresses and the cluster's names, but nothing that is private", async () => {
    await scene.install();
    await expectReach({ "sandbox-a": { ...all("refused", closedToSandboxes), ...all("open", ["public:80", "public:81", "dns:53"]) } });
    expect(await scene.exec("sandbox-a", "/bin/busybox", "nslookup", "kubernetes.default.svc.cluster.local")).toContain("10.253.0.1");
  });

  test("no other port of those who answer for names", async () => {
    await scene.install();
    await expectReach({ "sandbox-a": { "dns-pod:53": "open", "dns-pod:8080": "refused" }, stranger: { "dns-pod:8080": "open" } });
  });

  test("nothing public where the Internet is closed", async () => {
    await scene.install(["networkPolicies.sandboxes.internet=false"]);
    await expectReach({ "sandbox-a": { ...all("refused", ["public:80", ...closedToSandboxes]), "dns:53": "open" } });
  });

  test("what extraEgress opens, and no port beside it", async () => {
    const rule = "networkPolicies.sandboxes.extraEgress[0]";
    await scene.install([`${rule}.to[0].ipBlock.cidr=192.168.213.7/32`, `${rule}.ports[0].port=80`]);
    await expectReach({
      "sandbox-a": { "private:80": "open", "private:81": "refused", "metadata:80": "refused", "public:80": "open" },
    });
  });

  test("no names where DNS is off, and then nothing at all where the Internet is closed too", async () => {
    await scene.install(["networkPolicies.sandboxes.dns.enabled=false"]);
    await expectReach({ "sandbox-a": { "dns:53": "refused", "public:80": "open" } });
    await scene.install(["networkPolicies.sandboxes.dns.enabled=false", "networkPolicies.sandboxes.internet=false"]);
    await expectReach({ "sandbox-a": all("refused", ["dns:53", "public:80", ...closedToSandboxes]) });
  });

  test("a public network that the installation closes", async () => {
    await scene.install(["networkPolicies.sandboxes.closedNetworks={10.0.0.0/8,192.88.99.0/24}"]);
    await expectReach({ "sandbox-a": { "public:80": "refused", "private:80": "open", "dns:53": "open" } });
  });
});

describe("who reaches the control plane", () => {
  const served = { api: ["8080"], gateway: ["8081", "8443"], controllers: [], all: ["8080", "8081", "8443"] };
  const parts = ["api", "gateway", "controllers"] as const;

  test("everybody but sandboxes, at the ports that it serves", async () => {
    await scene.install();
    const open = parts.flatMap((part) => [...served[part], "9090"].map((port) => `${part}:${port}`));
    const closed = parts.flatMap((part) => everyPortOf(part)).filter((target) => !open.includes(target));
    await expectReach({
      stranger: { ...all("open", open), ...all("refused", closed) },
      neighbour: { ...all("open", open), ...all("refused", closed) },
      "sandbox-a": all("refused", open),
    });
  });

  test("only clients and monitoring where these are named", async () => {
    const role = (list: string, value: string): string => `networkPolicies.${list}[0].podSelector.matchLabels.role=${value}`;
    await scene.install([role("clients", "client"), role("monitoring", "nobody")]);
    const clientPorts = parts.flatMap((part) => served[part].map((port) => `${part}:${port}`));
    await expectReach({
      client: { ...all("open", clientPorts), "api:9090": "refused" },
      stranger: all("refused", [...clientPorts, "api:9090", "controllers:9090"]),
    });
    await scene.install([role("monitoring", "client")]);
    await expectReach({
      client: all("open", ["api:9090", "controllers:9090"]),
      stranger: all("refused", ["api:9090", "controllers:9090"]),
    });
  });

  test("of a single-pod installation all its ports", async () => {
    await scene.install([], ["images.registry=registry.invalid", "singlePod.enabled=true"]);
    const open = [...served.all, "9090"].map((port) => `all:${port}`);
    await expectReach({ stranger: { ...all("open", open), "all:7000": "refused" }, "sandbox-a": all("refused", open) });
  });
});

test("pods do not reach each other over IPv6, by which policies would not know them", async () => {
  const links = await scene.exec("stranger", "cat", "/proc/net/if_inet6");
  const [, digits = ""] = /^(fe80[0-9a-f]{28}) .* eth0$/m.exec(links) ?? [];
  const address = digits.match(/.{4}/g)?.join(":");
  await expect(scene.exec("neighbour", "nc", "-w", "2", `${address}%eth0`, "8080")).rejects.toThrow("timed out");
});

/** Waits until the network does what is expected: an enforcer follows policies and does not precede them. */
async function expectReach(expected: Reach): Promise<void> {
  await until(async () => expect(await scene.reach(expected)).toEqual(expected));
}

function everyPortOf(part: string): readonly string[] {
  return ["8080", "8081", "8443", "9090", "7000"].map((port) => `${part}:${port}`);
}
