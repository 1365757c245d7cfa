/** Every part of an installation that looks after one namespace, under exactly the rights that the chart gives it then. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpCaller } from "#client/http-caller.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { until } from "../contract/helpers.ts";
import { ownCrds } from "./admin-requests.ts";
import { type KubernetesBed, startKubernetes } from "./bed.ts";
import { type Account, type AccountName, accountNames, makeAccounts, type Right } from "./chart-accounts.ts";
import { RunningPart } from "./running-part.ts";

const places = { namespace: "agentbox", sandboxNamespace: "sandboxes", pullSecret: "regcred", values: ["sandboxes.onlyNamespace=true"] };
const { namespace, sandboxNamespace } = places;
const others = "of-others";
/** No registry is asked for a digest. */
const image = `registry.invalid/app@sha256:${"a".repeat(64)}`;
const spec = { replicas: 1, template: { spec: { containers: [{ name: "main", image }] } } };

let bed: KubernetesBed;
let admin: KubernetesClient;
let accounts: Record<AccountName, Account>;
beforeAll(async () => {
  bed = await startKubernetes({ crds: ownCrds() });
  admin = await kubernetesClient({ kubeconfig: bed.kubeconfig });
  accounts = await makeAccounts(bed, admin, places);
  await admin.create(Namespaces, { metadata: { name: others } });
}, 120_000);
afterAll(async () => {
  for (const name of accountNames) await accounts[name].client.close();
  await admin.close();
  await bed.stop();
});

test("its pools are looked after, those of others are left alone, and nothing is refused it", async () => {
  await admin.create(SandboxPools, { metadata: { namespace: others, name: "theirs" }, spec });
  const running = accountNames.map(
    (part) => new RunningPart(part, { bed, account: accounts[part], ...places, onlyNamespace: sandboxNamespace, daemonImage: image }),
  );
  const [api] = running;
  await Promise.all(running.map((part) => part.says("agentbox is ready")));
  const address = (await api?.says("API listens"))?.["address"];
  const { data } = await admin.get(Secrets, { namespace, name: "agentbox-admin-key" });
  const caller = new HttpCaller({ url: String(address), apiKey: Buffer.from(data?.["key"] ?? "", "base64").toString() });
  const template = { metadata: { name: "t" }, spec: { version: "v1.0.0", template: spec.template } };
  await caller.json({ method: "POST", path: "/v1/templates", body: template });
  await caller.json({ method: "POST", path: "/v1/pools", body: { metadata: { name: "py" }, spec: { replicas: 2, templateName: "t" } } });
  const pool = { namespace: sandboxNamespace, name: "py" };
  await until(admin, SandboxPools, pool, (now) => now?.status?.replicas === 2);
  await caller.json({ method: "DELETE", path: "/v1/pools/py" });
  await until(admin, SandboxPools, pool, (now) => now === undefined);
  expect((await admin.list(Pods, {})).items).toEqual([]);
  expect((await admin.get(SandboxPools, { namespace: others, name: "theirs" })).status?.replicas).toBeUndefined();

  for (const part of running) await part.stop();
  expect(running.flatMap((part) => part.refusals())).toEqual([]);
});

describe("what belongs to others is refused", () => {
  const verbs: readonly (readonly [string, readonly string[]])[] = [
    ["pods", ["get", "list", "watch", "create", "patch", "delete"]],
    ["pods/exec", ["get", "create"]],
    ["pods/log", ["get"]],
    ["events", ["list", "create", "patch"]],
    ["sandboxpools.agents.navix.sh", ["get", "list", "watch", "create", "update", "patch", "delete"]],
    ["sandboxpools.agents.navix.sh/status", ["patch"]],
    ["checkpoints.agents.navix.sh", ["get", "list", "watch", "create", "patch", "delete"]],
  ];
  const rights: readonly Right[] = verbs.flatMap(([of, each]) => each.map((verb) => ({ verb, of, namespace: others })));
  // Its status tells of all pools that use a template, and this installation does not see all.
  const templates: Right = { verb: "patch", of: "sandboxtemplates.agents.navix.sh/status" };
  test.each([...rights, templates])("$verb $of", async (right) => {
    const allowed = await Promise.all(accountNames.map(async (name) => ((await accounts[name].may(right)) ? [name] : [])));
    expect(allowed.flat()).toEqual([]);
  });
});
