/** What the chart makes of values, without a server. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { renderRuleset } from "#engines/embedded/node/network/ruleset.ts";
import { parseSubnet } from "#lib/subnet.ts";
import type { Pod } from "#model/pod.ts";
import { chartFolder, manifestsFolder, renderManifests } from "../../tools/render-manifests.ts";
import { ownCrds } from "./admin-requests.ts";
import { type ChartObject, neededValues, objectsIn, renderChart } from "./chart.ts";

const { bin } = inject("kubernetes");

async function refused(...values: readonly string[]): Promise<string> {
  const complaint = await renderChart(bin, { values }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return complaint ?? "nothing is refused";
}

async function rendered(...values: readonly string[]): Promise<readonly ChartObject[]> {
  return objectsIn(await renderChart(bin, { values: [...neededValues, ...values] }));
}

const named = (objects: readonly ChartObject[], kind: string): string[] =>
  objects
    .filter((object) => object.kind === kind)
    .map(({ metadata }) => metadata.name)
    .sort();

describe("bad values are refused with their names", () => {
  test.each([
    ["replicas.api=0", "at '/replicas/api': minimum: got 0, want 1"],
    ["replicas.gateway=two", "at '/replicas/gateway': got string, want integer"],
    ["replica.api=2", "additional properties 'replica' not allowed"],
    ["tls.secretName=x", "at '/tls': additional properties 'secretName' not allowed"],
    ["services.api.type=External", "at '/services/api/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'"],
    ["sandboxes.namespace=Upper", "at '/sandboxes/namespace'"],
    ["images.registry=https://registry.invalid", "at '/images/registry'"],
    ["images.pullPolicy=Sometimes", "at '/images/pullPolicy'"],
    ["networkPolicies.sandboxes.closedNetworks={10.0.0.0}", "at '/networkPolicies/sandboxes/closedNetworks/0'"],
    ["limits.maxUses=0", "at '/limits/maxUses': minimum"],
    ["termination.gateway=3", "termination.gateway must be at least 10 s longer than termination.preStopSleep"],
    ["sandboxes.namespace=agentbox", 'must not name "agentbox", where AgentBox itself is'],
    ["sandboxes.onlyNamespace=x", "at '/sandboxes/onlyNamespace': got string, want boolean"],
    ["database.url=postgres://db.invalid/x", "database.url and database.existingSecret are both set"],
  ])("%s", async (value, complaint) => {
    expect(await refused(...neededValues, value)).toContain(complaint);
  });

  test("one namespace only, and others beside it", async () => {
    const both = ["sandboxes.onlyNamespace=true", "sandboxes.extraNamespaces={more}"];
    expect(await refused(...neededValues, ...both)).toContain('pools of "default" and no others, and sandboxes.extraNamespaces names more');
  });

  test("a registry and a database are asked for", async () => {
    expect(await refused("database.existingSecret=x")).toContain("images.registry is needed");
    expect(await refused("images.registry=registry.invalid")).toContain(
      "there is no database, and replicas.api is 2: several processes cannot",
    );
    expect(await refused("images.registry=registry.invalid", "replicas.api=3")).toContain("replicas.api is 3");
  });

  test("a database's URL is never repeated", async () => {
    const complaint = await refused("images.registry=registry.invalid", "database.url=mysql://root:hunter2@db.invalid/x");
    expect(complaint).toContain("database.url must begin with postgres://");
    expect(complaint).not.toContain("hunter2");
  });
});

describe("what is rendered", () => {
  test("three parts by default, one pod with its own volume for a trial", async () => {
    expect(named(await rendered(), "Deployment")).toEqual(["agentbox-api", "agentbox-controllers", "agentbox-gateway"]);
    const trial = objectsIn(await renderChart(bin, { values: ["images.registry=registry.invalid", "singlePod.enabled=true"] }));
    expect(named(trial, "Deployment")).toEqual(["agentbox"]);
    expect(named(trial, "PersistentVolumeClaim")).toEqual(["agentbox-history"]);
    expect(named(trial, "ServiceAccount")).toEqual(["agentbox-all"]);
    expect(named(trial, "PodDisruptionBudget")).toEqual([]);
  });

  test("agents on nodes when they are asked for: root without capabilities, with the control groups of the node and nothing else of it", async () => {
    expect(named(await rendered(), "DaemonSet")).toEqual([]);
    const objects = await rendered("nodeAgent.enabled=true", "singlePod.enabled=false");
    expect(named(objects, "ValidatingAdmissionPolicyBinding")).toEqual(["agentbox-claims", "agentbox-node"]);
    const agent = objects.find(({ kind }) => kind === "DaemonSet") as unknown as { readonly spec: { readonly template: Pod } };
    const { containers, volumes = [], ...spec } = agent.spec.template.spec;
    expect(spec).not.toHaveProperty("hostNetwork");
    expect(spec).not.toHaveProperty("hostPID");
    expect(volumes.filter((volume) => "hostPath" in volume)).toMatchObject([{ hostPath: { path: "/sys/fs/cgroup" } }]);
    expect(containers).toMatchObject([
      { securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } } },
    ]);
  });

  test("agents that take checkpoints have one capability and two folders of the node more, and the account that pushes reaches controllers and agents alone", async () => {
    const objects = await rendered(
      "nodeAgent.enabled=true",
      "checkpoints.repository=registry.invalid/platform/checkpoints",
      "checkpoints.pushSecret=push",
      "registries.private[0]=registry.invalid",
    );
    const podOf = (name: string): Pod["spec"] => {
      const owner = objects.find(({ kind, metadata }) => (kind === "Deployment" || kind === "DaemonSet") && metadata.name === name);
      return (owner as unknown as { readonly spec: { readonly template: Pod } }).spec.template.spec;
    };
    const agent = podOf("agentbox-node");
    expect(agent.volumes?.filter((volume) => "hostPath" in volume).map(({ name }) => name)).toEqual(["cgroup", "tasks", "snapshots"]);
    expect(agent.containers).toMatchObject([
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"], add: ["DAC_READ_SEARCH"] },
        },
      },
    ]);
    const secretsOf = (name: string): unknown[] =>
      (podOf(name).volumes ?? []).flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
    expect(["agentbox-node", "agentbox-controllers", "agentbox-api", "agentbox-gateway"].map((name) => secretsOf(name).length)).toEqual([
      1, 1, 0, 0,
    ]);
    const repositories = ["agentbox-node", "agentbox-controllers", "agentbox-api", "agentbox-gateway"].map((name) =>
      JSON.stringify(podOf(name).containers).includes("AGENTBOX_CHECKPOINT_REPOSITORY"),
    );
    expect(repositories).toEqual([true, true, true, false]);
    expect(await refused("images.registry=registry.invalid", "database.existingSecret=db", "checkpoints.repository=r.invalid/a")).toContain(
      "checkpoints are taken by the agents of nodes",
    );
  });

  test("a part with one replica has no budget, which would block every drain", async () => {
    expect(named(await rendered("replicas.controllers=1"), "PodDisruptionBudget")).toEqual(["agentbox-api", "agentbox-gateway"]);
  });

  test("a URL that is given as a value stands in a Secret and nowhere else", async () => {
    const objects = objectsIn(
      await renderChart(bin, { values: ["images.registry=registry.invalid", "database.url=postgres://app:hunter2@db.invalid/x"] }),
    );
    const withIt = objects.filter((object) => JSON.stringify(object).includes("hunter2"));
    expect(withIt.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(["Secret agentbox-database"]);
  });

  test("alerts and the dashboard are objects where they are asked for, word for word those of the files", async () => {
    expect(named(await rendered(), "PrometheusRule")).toEqual([]);
    const objects = await rendered(
      "prometheusRule.enabled=true",
      "prometheusRule.labels.release=monitoring",
      "grafanaDashboard.enabled=true",
    );
    const file = (name: string): Promise<string> => readFile(join(chartFolder, "files/monitoring", name), "utf8");
    expect(objects.find(({ kind }) => kind === "PrometheusRule")).toMatchObject({
      metadata: { name: "agentbox", labels: { release: "monitoring" } },
      spec: parse(await file("alerts.yaml")) as object,
    });
    const dashboard = objects.find(({ metadata }) => metadata.name === "agentbox-dashboard") as unknown as {
      readonly metadata: { readonly labels: object };
      readonly data: Readonly<Record<string, string>>;
    };
    expect(dashboard.metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(JSON.parse(dashboard.data["agentbox.json"] ?? "")).toEqual(JSON.parse(await file("dashboard.json")));
  });

  test("the gateway's Service has 443 only with a certificate", async () => {
    const ports = async (...values: readonly string[]) =>
      (await rendered(...values))
        .filter(({ kind, metadata }) => kind === "Service" && metadata.name === "agentbox-gateway")
        .flatMap((service) => (service as unknown as { spec: { ports: { port: number }[] } }).spec.ports.map(({ port }) => port));
    expect(await ports()).toEqual([80]);
    expect(await ports("tls.existingSecret=certificate")).toEqual([80, 443]);
  });

  test("limits reach the servers under the names that they read", async () => {
    const api = (await rendered("limits.rateLimit=2000000", "limits.retention=48h")).find(({ kind }) => kind === "Deployment");
    const { env } = (api as unknown as { spec: { template: Pod } }).spec.template.spec.containers[0] ?? {};
    expect(env).toContainEqual({ name: "AGENTBOX_RATE_LIMIT", value: "2000000" });
    expect(env).toContainEqual({ name: "AGENTBOX_RETENTION", value: "48h" });
  });

  test("streams have what remains of a gateway's time to end", async () => {
    const grace = async (...values: readonly string[]) =>
      (await rendered(...values))
        .filter(({ kind }) => kind === "Deployment")
        .map((object) => (object as unknown as { spec: { template: Pod } }).spec.template.spec.containers[0]?.env)
        .map((env) => env?.find(({ name }) => name === "AGENTBOX_STREAM_GRACE")?.value);
    expect(await grace()).toEqual([undefined, undefined, "320s"]);
    expect(await grace("termination.gateway=3600", "termination.api=60", "termination.preStopSleep=15")).toEqual([
      undefined,
      undefined,
      "3580s",
    ]);
  });

  test("every part is told when it is to look after one namespace", async () => {
    const told = async (...values: readonly string[]) =>
      (await rendered("sandboxes.namespace=team-a", ...values))
        .filter(({ kind }) => kind === "Deployment")
        .map((object) => (object as unknown as { spec: { template: Pod } }).spec.template.spec.containers[0]?.env)
        .map((env) => env?.find(({ name }) => name === "AGENTBOX_ONLY_NAMESPACE")?.value);
    expect(await told()).toEqual([undefined, undefined, undefined]);
    expect(await told("sandboxes.onlyNamespace=true")).toEqual(["team-a", "team-a", "team-a"]);
  });

  test("variables that Kubernetes makes of our Services do not reach our settings", async () => {
    const pods = (await rendered())
      .filter(({ kind }) => kind === "Deployment")
      .map((object) => (object as unknown as { spec: { template: Pod } }).spec.template);
    expect(pods.map(({ spec }) => (spec as { readonly enableServiceLinks?: boolean }).enableServiceLinks)).toEqual([false, false, false]);
  });

  test("sandboxes reach what they reach on the embedded engine", async () => {
    const values = parse(await readFile(join(chartFolder, "values.yaml"), "utf8")) as {
      networkPolicies: { sandboxes: { closedNetworks: string[] } };
    };
    const addresses = { instance: "q", subnet: parseSubnet("10.231.0.0/16"), slots: 1 };
    const share = { open: 1, newPerSecond: 1, newAtOnce: 1 };
    const [, closed = ""] =
      /set closed \{.*elements = \{ ([^}]*) \}/.exec(renderRuleset({ addresses, nameservers: [], egress: [], share })) ?? [];
    expect(values.networkPolicies.sandboxes.closedNetworks.sort()).toEqual(closed.split(", ").sort());
  });
});

test("deploy/manifests is what the chart renders: `make manifests`", async () => {
  const wanted = await renderManifests(join(bin, "helm"));
  const files = await Promise.all(
    Array.from(wanted.keys(), async (file) => [file, await readFile(join(manifestsFolder, file), "utf8")] as const),
  );
  expect(new Map(files)).toEqual(wanted);
});

test("the chart carries the definitions of deploy/crds: `make generate`", async () => {
  const filesIn = async (folder: string) =>
    Promise.all((await readdir(folder)).sort().map(async (file) => [file, await readFile(join(folder, file), "utf8")]));
  expect(await filesIn(join(chartFolder, "files/crds"))).toEqual(await filesIn(ownCrds()));
});

test("the chart has the version of the package", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  expect(parse(await readFile(join(chartFolder, "Chart.yaml"), "utf8"))).toMatchObject({ version, appVersion: version });
});
