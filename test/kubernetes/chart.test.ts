/** The chart on a real API server that has never heard of AgentBox. It has a bed of its own, because it brings and takes definitions. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import { chartFolder, manifestsFolder } from "../../tools/render-manifests.ts";
import { ownCrds } from "./admin-requests.ts";
import { type KubernetesBed, startKubernetes } from "./bed.ts";
import { type ChartObject, neededValues, objectsIn, renderChart, setArgs } from "./chart.ts";
import { runProgram } from "./run-program.ts";

const namespace = "agentbox";
const definitions = ["checkpoints", "sandboxenvs", "sandboxpools", "sandboxtemplates", "sandboxvolumes"].map(
  (name) => `customresourcedefinition.apiextensions.k8s.io/${name}.agents.navix.sh`,
);
const withFirstPool = [...neededValues, "firstPool.enabled=true"];
const base = { namespace: "default", name: "base" };

let bed: KubernetesBed;
let client: KubernetesClient;
let kinds: string;
beforeAll(async () => {
  bed = await startKubernetes();
  kinds = await kindsOfChart();
  client = await kubernetesClient({ kubeconfig: bed.kubeconfig });
}, 120_000);
afterAll(async () => {
  await client.close();
  await bed.stop();
});

const helm = (...args: readonly string[]): Promise<string> =>
  runProgram(join(bed.bin, "helm"), ["--kubeconfig", bed.kubeconfig, "--namespace", namespace, ...args]);
const kubectlAt = ({ bin, kubeconfig }: KubernetesBed, ...args: readonly string[]): Promise<string> =>
  runProgram(join(bin, "kubectl"), ["--kubeconfig", kubeconfig, ...args]);
const kubectl = (...args: readonly string[]): Promise<string> => kubectlAt(bed, ...args);
const install = (values: readonly string[]): Promise<string> =>
  helm("install", "agentbox", chartFolder, "--create-namespace", ...setArgs(values));

/** All kinds that the chart has, whatever its values, as kubectl takes them. */
async function kindsOfChart(): Promise<string> {
  const rendered = await Promise.all([
    renderChart(bed.bin),
    renderChart(bed.bin, { values: ["images.registry=registry.invalid", "singlePod.enabled=true"], only: "data.yaml" }),
    renderChart(bed.bin, { values: ["images.registry=registry.invalid", "database.url=postgres://db.invalid/x"], only: "data.yaml" }),
  ]);
  return [...new Set(rendered.flatMap(objectsIn).map(({ kind, apiVersion }) => fullKind(kind, apiVersion)))].join(",");
}

/** Everything of the release on the server, as `kind/name`. */
async function present(): Promise<readonly string[]> {
  const names = await kubectl("get", kinds, "--all-namespaces", "-l", "app.kubernetes.io/instance=agentbox", "-o", "name");
  return names.split("\n").filter(Boolean).sort();
}

/** Without the version. */
function fullKind(kind: string, apiVersion: string): string {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return group === "" ? kind : `${kind}.${group}`;
}

const podOf = (deployment: ChartObject): Pod => (deployment as unknown as { spec: { template: Pod } }).spec.template;
const uidOf = ({ metadata }: ApiObject): string => metadata.uid ?? "";

describe("an installation", () => {
  test("brings all that the chart renders, the definitions of our kinds included, and tells how to make the first pool", async () => {
    const notes = await install(withFirstPool);
    expect(await present()).toHaveLength(objectsIn(await renderChart(bed.bin)).length);
    const [, manifest = ""] = /kubectl apply -f - <<'END'\n([^]*?)\nEND\n/.exec(notes) ?? [];
    await kubectl("wait", "crd", "-l", "app.kubernetes.io/instance=agentbox", "--for=condition=Established");
    const [template, pool] = objectsIn(manifest);
    await client.create(SandboxTemplates, template as SandboxTemplate, { fieldValidation: "Strict" });
    await client.create(SandboxPools, pool as SandboxPool, { fieldValidation: "Strict" });
    expect(await client.get(SandboxPools, base)).toMatchObject({ spec: { templateName: "base", replicas: 3 } });
  });

  test("changes with its values, and leaves what belongs to users alone", async () => {
    const before = uidOf(await client.patch(SandboxPools, base, { type: "merge", body: { spec: { replicas: 7 } } }));
    await helm(
      "upgrade",
      "agentbox",
      chartFolder,
      ...setArgs([...withFirstPool, "replicas.gateway=5", "replicas.api=1", "flowControl.enabled=false"]),
    );
    const after = await client.get(SandboxPools, base);
    expect([uidOf(after), after.spec.replicas]).toEqual([before, 7]);
    const replicas = await kubectl("-n", namespace, "get", "deployments", "-o", "jsonpath={.items[*].spec.replicas}");
    expect(replicas).toBe("1 2 5");
    const names = await present();
    expect(names).not.toContain("poddisruptionbudget.policy/agentbox-api");
    expect(names.filter((name) => name.startsWith("flowschema"))).toEqual([]);
  });

  test("upgrades the definitions of our kinds", async () => {
    const name = "sandboxpools.agents.navix.sh";
    const shortNames = ["get", "crd", name, "-o", "jsonpath={.spec.names.shortNames}"];
    const drop = [{ op: "replace", path: "/spec/names/shortNames", value: ["old"] }];
    await kubectl("patch", "crd", name, "--type=json", "-p", JSON.stringify(drop));
    await helm("upgrade", "agentbox", chartFolder, ...setArgs(withFirstPool));
    expect(await kubectl(...shortNames)).toBe('["sbp"]');
  });

  test("that is taken away leaves definitions and users' objects, and another finds them", async () => {
    const before = uidOf(await client.get(SandboxPools, base));
    await helm("uninstall", "agentbox");
    expect(await present()).toEqual(definitions);
    expect(uidOf(await client.get(SandboxPools, base))).toBe(before);
    await install(withFirstPool);
    expect(uidOf(await client.get(SandboxPools, base))).toBe(before);
  });

  test("makes the first pool itself where our kinds are known", async () => {
    await client.delete(SandboxPools, base);
    await helm("upgrade", "agentbox", chartFolder, ...setArgs(withFirstPool));
    expect(await client.get(SandboxPools, base)).toMatchObject({ spec: { templateName: "base", replicas: 3 } });
    await helm("uninstall", "agentbox");
  });

  test("for a trial keeps its volume", async () => {
    await install(["images.registry=registry.invalid", "singlePod.enabled=true"]);
    await helm("uninstall", "agentbox");
    expect(await present()).toEqual([...definitions, "persistentvolumeclaim/agentbox-history"]);
  });
});

test("plain manifests are taken by the server, field by field, twice", async () => {
  // They are for a server that does not know AgentBox, and the one of this file does by now.
  const other = await startKubernetes();
  const apply = (...args: readonly string[]): Promise<string> => kubectlAt(other, "apply", "--server-side", "--validate=strict", ...args);
  try {
    for (const _ of ["first", "again"]) await apply("-f", ownCrds(), "-f", join(manifestsFolder, "agentbox.yaml"));
    await kubectlAt(other, "wait", "--for=condition=Established", "-f", ownCrds());
    await apply("-f", join(manifestsFolder, "first-pool.yaml"));
    await using clients = new AsyncDisposableStack();
    const otherClient = clients.adopt(await kubernetesClient({ kubeconfig: other.kubeconfig }), (one) => one.close());
    expect(await otherClient.get(SandboxPools, base)).toMatchObject({ spec: { templateName: "base" } });
  } finally {
    await other.stop();
  }
});

test("every pod of the control plane may run where Pod Security is restricted", async () => {
  const strict = "agentbox-strict";
  await client.create(Namespaces, { metadata: { name: strict, labels: { "pod-security.kubernetes.io/enforce": "restricted" } } });
  const settings = [
    neededValues,
    ["images.registry=registry.invalid", "singlePod.enabled=true"],
    [...neededValues, "tls.existingSecret=certificate"],
  ];
  for (const values of settings) {
    const deployments = objectsIn(await renderChart(bed.bin, { values, only: "deployments.yaml" }));
    for (const deployment of deployments) {
      // There is no such class here, and what it stands for does not matter.
      const { priorityClassName: _, ...spec } = podOf(deployment).spec as Pod["spec"] & { readonly priorityClassName?: string };
      await client.create(
        Pods,
        { metadata: { namespace: strict, name: deployment.metadata.name }, spec },
        { dryRun: true, fieldValidation: "Strict" },
      );
    }
  }
  expect((await client.list(Pods, { namespace: strict })).items).toEqual([]);
});
