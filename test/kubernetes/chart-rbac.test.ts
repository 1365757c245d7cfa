/**
 * Every part of AgentBox under exactly the rights that the chart gives it. It has a bed of its own, because its controllers look
 * after all pools of a server.
 */
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpCaller } from "#client/http-caller.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { isApiError } from "#kube/api-error.ts";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Leases, Namespaces, Secrets } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { freezeFailure } from "#model/pause.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { until } from "../contract/helpers.ts";
import { ann, ClaimScene } from "../world/claim-scene.ts";
import { eventually } from "../world/eventually.ts";
import { SteppedClock } from "../world/stepped-clock.ts";
import { ownCrds } from "./admin-requests.ts";
import { type KubernetesBed, startKubernetes } from "./bed.ts";
import { type Account, type AccountName, accountNames, grantedRights, makeAccounts, type Right, usedRights } from "./chart-accounts.ts";
import { nodeName, RunningPart } from "./running-part.ts";

const places = { namespace: "agentbox", sandboxNamespace: "sandboxes", pullSecret: "regcred" };
const { namespace, sandboxNamespace } = places;
/** No registry is asked for a digest. */
const image = `registry.invalid/app@sha256:${"a".repeat(64)}`;
const template = { spec: { containers: [{ name: "main", image }] } };

let bed: KubernetesBed;
let admin: KubernetesClient;
let accounts: Record<AccountName, Account>;
beforeAll(async () => {
  bed = await startKubernetes({ crds: ownCrds(), audit: true });
  admin = await kubernetesClient({ kubeconfig: bed.kubeconfig });
  accounts = await makeAccounts(bed, admin, places);
}, 120_000);
afterAll(async () => {
  for (const name of accountNames) await accounts[name].client.close();
  await admin.close();
  await bed.stop();
});

test("all parts start and do their work, and nothing is refused them", async () => {
  const running = accountNames.map((part) => new RunningPart(part, { bed, account: accounts[part], ...places, daemonImage: image }));
  const [api] = running;
  await Promise.all(running.map((part) => part.says("agentbox is ready")));
  const address = (await api?.says("API listens"))?.["address"];
  const { data } = await admin.get(Secrets, { namespace, name: "agentbox-admin-key" });
  const caller = new HttpCaller({ url: String(address), apiKey: Buffer.from(data?.["key"] ?? "", "base64").toString() });
  const pool = { namespace: sandboxNamespace, name: "py" };

  await caller.json({ method: "POST", path: "/v1/templates", body: { metadata: { name: "t" }, spec: { version: "v1.0.0", template } } });
  await caller.json({ method: "POST", path: "/v1/pools", body: { metadata: { name: "py" }, spec: { replicas: 2, templateName: "t" } } });
  await until(admin, SandboxPools, pool, (now) => now?.status?.replicas === 2);
  await until(admin, SandboxTemplates, { name: "t" }, (now) => (now?.status?.conditions?.length ?? 0) > 0);
  // Of this one there is something to tell.
  await caller.json({
    method: "POST",
    path: "/v1/pools",
    body: { metadata: { name: "lost" }, spec: { replicas: 1, templateName: "none" } },
  });
  await eventually(async () => {
    const { events } = await caller.json<{ readonly events: readonly { readonly reason: string }[] }>({
      method: "GET",
      path: "/v1/pools/lost/events",
    });
    expect(events.map(({ reason }) => reason)).toContain("TemplateMissing");
  });
  const { id } = await caller.json<{ readonly id: string }>({ method: "POST", path: "/v1/keys", body: { team: "red", name: "CI" } });
  await caller.json({ method: "DELETE", path: `/v1/keys/${id}` });
  await caller.json({ method: "PUT", path: "/v1/templates/t", body: { metadata: { name: "t" }, spec: { version: "v1.0.1", template } } });
  await caller.json({ method: "PUT", path: "/v1/pools/py", body: { metadata: { name: "py" }, spec: { replicas: 3, templateName: "t" } } });
  await caller.json({ method: "PUT", path: "/v1/pools/py/scale", body: { replicas: 1 } });
  await until(admin, SandboxPools, pool, (now) => now?.status?.replicas === 1);
  for (const name of ["py", "lost"]) {
    await caller.json({ method: "DELETE", path: `/v1/pools/${name}` });
    await until(admin, SandboxPools, { ...pool, name }, (now) => now === undefined);
  }
  expect((await admin.list(Pods, { namespace: sandboxNamespace })).items).toEqual([]);
  const env = {
    templateRef: { name: "t" },
    clusters: [{ clusterID: "local", members: [{ name: "grown-a", config: { minReplicas: 1 } }] }],
  };
  await caller.json({ method: "POST", path: "/v1/envs", body: { metadata: { name: "grown" }, spec: env } });
  const member = { ...pool, name: "grown-a" };
  await until(admin, SandboxPools, member, (now) => (now?.status?.replicas ?? 0) > 0);
  const put = { metadata: { name: "grown" }, spec: { ...env, overrides: { defaultIdleTimeout: "1h" } } };
  await caller.json({ method: "PUT", path: "/v1/envs/grown", body: put });
  await until(admin, SandboxPools, member, (now) => now?.spec.defaultIdleTimeout === "1h");
  await caller.json({ method: "DELETE", path: "/v1/envs/grown?endSandboxes=true" });
  await until(admin, SandboxPools, member, (now) => now === undefined);
  await caller.json({ method: "DELETE", path: "/v1/templates/t" });

  for (const part of running) await part.stop();
  expect(running.flatMap((part) => part.refusals())).toEqual([]);
});

test("a sandbox is claimed by the API, used through the gateway, ended, and its pod made ready again by the controllers", async () => {
  const { api, controllers, gateway } = accounts;
  const claims = "claims";
  await admin.create(Namespaces, { metadata: { name: claims } });
  await using scene = await ClaimScene.open({ client: admin, clock: systemClock, namespace: claims, claimsOnLeases: true });
  const looking = await scene.process({ client: controllers.client });
  scene.startControllers(looking, controllers.client);
  const claiming = await scene.process({ client: api.client, keysNamespace: namespace });
  const { sandbox } = await claiming.create({ idempotencyKey: "once", idleTimeoutMs: 60_000 });
  expect((await claiming.create({ idempotencyKey: "once", idleTimeoutMs: 60_000 })).sandbox.sandboxId).toBe(sandbox.sandboxId);

  const routing = await scene.process({ client: gateway.client });
  const clock = new SteppedClock(Date.now());
  const traffic = new TrafficLog(clock);
  const metrics = prometheusMetrics(new Registry());
  const writer = new ActivityWriter({
    ...gateway,
    cache: routing.cache,
    traffic,
    clock,
    log: routing.logged.log,
    metrics,
    random: () => 0,
  });
  traffic.begin(sandbox.sandboxId, await scene.pod())();
  await clock.step(120_000);
  const pod = { namespace: claims, name: "py-1" };
  await until(admin, Pods, pod, (now) => now?.metadata.annotations?.[annotationKeys.lastActive] !== undefined);
  writer.stop();

  await claiming.claims.end(ann, sandbox.sandboxId);
  await scene.nodeStarts();
  await scene.nodeReports();
  const idle = await until(admin, Pods, pod, (now) => now !== undefined && sandboxPhaseOf(now) === "idle");
  expect(idle && sandboxIdOf(idle)).toBeUndefined();
  expect((await claiming.create()).sandbox.podName).toBe("py-1");
});

test("the agent of a node says on a pod what became of the wish to pause it", async () => {
  const agent = new RunningPart("node", { bed, account: accounts.node, ...places, daemonImage: image });
  await agent.says("agentbox is ready");
  const labels = { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i-1" };
  const key = { namespace: sandboxNamespace, name: "paused" };
  await admin.create(Pods, { metadata: { ...key, labels }, spec: { nodeName, containers: [{ name: "main", image }] } });
  const status = {
    name: "main",
    image,
    imageID: image,
    ready: true,
    restartCount: 0,
    containerID: "containerd://none",
    state: { running: {} },
  };
  await admin.patch(Pods, key, { type: "merge", body: { status: { containerStatuses: [status] } } }, { subresource: "status" });
  const wish = "2026-01-01T00:00:00.000Z";
  await admin.patch(Pods, key, { type: "merge", body: { metadata: { annotations: { [annotationKeys.paused]: wish } } } });
  const told = await until(admin, Pods, key, (now) => now !== undefined && freezeFailure(now) !== undefined);
  expect(told && freezeFailure(told)).toContain("no control group");
  await admin.delete(Pods, key, { gracePeriodSeconds: 0 });
  await agent.stop();
  expect(agent.refusals()).toEqual([]);
});

/** Rights that the tests above may have no occasion for, and what that would be. */
const withoutOccasion: Readonly<Record<string, string>> = {
  "api: create pods/exec": "a command in a sandbox: there is no kubelet",
  "api: get pods/exec": "the same, on servers before 1.35",
  "api: get pods/log": "logs of a sandbox: there is no kubelet",
  "api: delete configmaps": "an idempotency key whose create failed, or that is old",
  "api: delete pods": "a sandbox that could not be armed, and cannot be asked whether it was",
  "api: get leases": "is the API server back?",
  "api: patch secrets": "keys that are kept when the key that made them is revoked",
  "api: update configmaps": "limits that an admin sets again",
  "api: get pods": "a claim or an end whose answer was lost",
  "api: get sandboxpools": "a pool that somebody else changed meanwhile",
  "controllers: delete leases": "an API process that died and left its lease",
  "controllers: get events": "something that happens again",
  "controllers: patch checkpoints/status": "a checkpoint that is taken: there is no kubelet",
  "controllers: patch checkpoints": "one that is to be taken, or has had its time",
  "controllers: delete checkpoints": "one that has had its time",
  "api: create checkpoints": "one that is asked for: there is no kubelet",
  "api: get checkpoints": "one that the cache does not know yet",
  "api: delete checkpoints": "one that its owner deletes",
  "api: get sandboxenvs": "an Env that another process changed meanwhile",
  "api: patch sandboxenvs": "a member or a group of an Env by itself",
  "controllers: create sandboxenvs": "a pool that asks for an Env of its own",
  "controllers: delete sandboxenvs": "such a pool that is deleted",
  "controllers: get sandboxenvs": "an Env that another process changed meanwhile",
  "controllers: update sandboxenvs/finalizers": "a server that checks who may block the deletion of an owner",
  "controllers: patch sandboxtemplates": "a template that a pool begins or ceases to use",
  "controllers: patch sandboxvolumes/status": "a volume, which clusters do not have yet",
  "controllers: patch events": "something that happens again",
  "controllers: get pods": "a create or an end whose answer was lost",
  "controllers: get sandboxpools": "a pod whose pool is not in the cache",
  "controllers: update sandboxpools/finalizers": "a server that checks who may block the deletion of an owner",
  "gateway: get leases": "is the API server back?",
  "gateway: get pods": "a paused sandbox that is woken",
  "node: get leases": "is the API server back?",
};

test("no right is given that nobody uses", async () => {
  const used = await usedRights(bed, places);
  const granted = Object.entries(await grantedRights(bed)) as [AccountName, ReadonlySet<string>][];
  const listed = granted.flatMap(([name, rights]) =>
    [...rights].map((right) => ({ right: `${name}: ${right}`, isUsed: used[name].has(right) })),
  );
  expect(listed.filter(({ right, isUsed }) => !isUsed && withoutOccasion[right] === undefined)).toEqual([]);
  expect(listed.map(({ right }) => right)).toEqual(expect.arrayContaining(Object.keys(withoutOccasion)));
});

const everywhere = { namespace: "default" };
const inOwn = { namespace };
const inPools = { namespace: sandboxNamespace };

/** Of a refusal, which there has to be. */
async function reasonOf(asked: Promise<unknown>): Promise<string | undefined> {
  return asked.then(
    () => undefined,
    (error: unknown) => (isApiError(error) ? error.reason : String(error)),
  );
}

describe("what nobody needs is refused", () => {
  const rights: readonly (Right & { readonly by?: readonly AccountName[] })[] = [
    // Secrets of others, and our own beside those that a part reads.
    ...["get", "list", "watch", "create", "update", "patch", "delete"].map((verb) => ({ verb, of: "secrets", ...everywhere })),
    { verb: "list", of: "secrets", ...inPools },
    { verb: "get", of: "secrets", ...inPools, name: "another" },
    { verb: "list", of: "secrets", ...inOwn, by: ["controllers", "gateway", "node"] },
    { verb: "get", of: "secrets", ...inOwn, name: "agentbox-signing-key", by: ["node"] },
    { verb: "get", of: "secrets", ...inOwn, name: "agentbox-admin-key", by: ["controllers", "gateway", "node"] },
    { verb: "delete", of: "secrets", ...inOwn, by: ["controllers", "gateway", "node"] },
    { verb: "update", of: "secrets", ...inOwn },
    { verb: "get", of: "secrets", ...inPools, name: "regcred", by: ["gateway", "node"] },
    // Impersonating another user.
    { verb: "create", of: "serviceaccounts/token", ...inOwn },
    { verb: "impersonate", of: "users" },
    { verb: "create", of: "rolebindings.rbac.authorization.k8s.io", ...inOwn },
    { verb: "update", of: "clusterroles.rbac.authorization.k8s.io" },
    { verb: "patch", of: "deployments.apps", ...inOwn },
    { verb: "update", of: "customresourcedefinitions.apiextensions.k8s.io" },
    // The machines.
    { verb: "get", of: "nodes/proxy" },
    { verb: "patch", of: "nodes" },
    { verb: "list", of: "nodes", by: ["api", "gateway", "node"] },
    // What another part does.
    { verb: "create", of: "pods", ...inPools, by: ["api", "gateway", "node"] },
    { verb: "patch", of: "pods", ...inPools, by: ["node"] },
    { verb: "delete", of: "pods", ...inPools, by: ["gateway", "node"] },
    { verb: "create", of: "pods/exec", ...inPools, by: ["controllers", "gateway", "node"] },
    { verb: "get", of: "pods/log", ...inPools, by: ["controllers", "gateway", "node"] },
    { verb: "create", of: "sandboxpools.agents.navix.sh", ...inPools, by: ["gateway", "node"] },
    { verb: "create", of: "sandboxenvs.agents.navix.sh", ...inPools, by: ["gateway", "node"] },
    { verb: "delete", of: "sandboxtemplates.agents.navix.sh", by: ["controllers", "gateway", "node"] },
    { verb: "patch", of: "sandboxpools.agents.navix.sh/status", ...inPools, by: ["api", "gateway", "node"] },
    { verb: "patch", of: "pods/status", ...inPools, by: ["api", "controllers", "gateway"] },
    { verb: "create", of: "configmaps", ...everywhere },
    { verb: "list", of: "configmaps", ...inOwn, by: ["controllers", "gateway", "node"] },
    { verb: "update", of: "leases.coordination.k8s.io", ...everywhere, by: ["gateway", "node"] },
    { verb: "delete", of: "leases.coordination.k8s.io", ...everywhere },
    { verb: "deletecollection", of: "pods", ...inPools },
  ];
  test.each(rights)("$verb $of $namespace $name", async ({ by = accountNames, ...right }) => {
    const allowed = await Promise.all(by.map(async (name) => ((await accounts[name].may(right)) ? [name] : [])));
    expect(allowed.flat()).toEqual([]);
  });

  test("so is a Lease outside our own namespace that is none of a pod of a pool: the leaders of others", async () => {
    const metadata = { ...everywhere, name: "leader-of-somebody" };
    const leader = await admin.create(Leases, { metadata, spec: { holderIdentity: "somebody" } });
    const labelled = { ...leader, metadata: { ...leader.metadata, labels: { [labelKeys.sandboxPool]: "py" } } };
    for (const { client } of [accounts.api, accounts.controllers]) {
      // A server takes policies in after a moment.
      await eventually(async () => expect(await reasonOf(client.update(Leases, leader, { dryRun: true }))).toBe("Invalid"));
      expect(await reasonOf(client.update(Leases, labelled, { dryRun: true }))).toBe("Invalid");
      expect(await reasonOf(client.create(Leases, { metadata: { ...metadata, name: "another" } }, { dryRun: true }))).toBe("Invalid");
    }
  });

  test("and what cannot be tried here is allowed to whom it belongs: commands and logs of pods, pull secrets by their names", async () => {
    const { api, controllers } = accounts;
    expect(await api.may({ verb: "create", of: "pods/exec", ...inPools })).toBe(true);
    expect(await api.may({ verb: "get", of: "pods/log", ...inPools })).toBe(true);
    for (const account of [api, controllers]) {
      expect(await account.may({ verb: "get", of: "secrets", ...inPools, name: "regcred" })).toBe(true);
      expect(await account.may({ verb: "get", of: "serviceaccounts", ...inPools, name: "default" })).toBe(true);
    }
  });
});
