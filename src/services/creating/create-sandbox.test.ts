import { describe, expect, test } from "vitest";
import { ImageError } from "#images/image-error.ts";
import { sleep } from "#lib/clock.ts";
import type { Span } from "#lib/tracing.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf, ann, type ClaimScene } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { countSandboxes } from "#services/limits/count-use.ts";
import { LimitGuard } from "#services/limits/limit-guard.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { meddled, waysToClaim } from "../../../test/world/meddled-writes.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { refusal } from "../../../test/world/refusal.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

const idleImagePool = { podCreationImagePolicy: "IdleImage", idleImage: "registry.invalid/idle:1" } as const;

test.each(waysToClaim)(
  "a create on the fast path is one write and one call to the daemon (claims on $where)",
  async ({ claimsOnLeases }) => {
    await using world = await embeddedClaimScene({ pods: 1, claimsOnLeases });
    const { scene } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    let writes = 0;
    meddling.patch = meddling.lease = (send) => ((writes += 1), send());
    scene.daemons.calls.length = 0;

    const { sandbox, accessToken } = await process.create({ metadata: { purpose: "test" }, idleTimeoutMs: 60_000, lifetimeMs: 3_600_000 });

    expect({ writes, calls: scene.daemons.calls }).toEqual({ writes: 1, calls: [`init ${addressOf(1)}`] });
    expect(sandbox).toMatchObject({ status: "Running", poolName: "py", team: "red", user: "ann", metadata: { purpose: "test" } });
    expect(sandbox).toMatchObject({ idleTimeoutMs: 60_000, endTime: "2026-01-01T01:00:00.000Z" });
    const pod = await scene.pod();
    expect([sandboxIdOf(pod), sandboxPhaseOf(pod)]).toEqual([sandbox.sandboxId, "running"]);
    expect(accessToken).toBe(process.claims.accessTokenOf(sandbox.sandboxId));
    expect(sandbox.openDaemon).toBeUndefined();
  },
);

test("W7: environment variables and the access token reach the daemon on the fast path, and no pod", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  const { sandbox, accessToken } = await process.create({ envVars: { SECRET: "of-the-user" } });
  const armed = scene.daemons.at(addressOf(1))?.armed;
  expect(armed).toMatchObject({ sandboxId: sandbox.sandboxId, body: { accessToken, envVars: { SECRET: "of-the-user" } } });
  const written = JSON.stringify([await scene.pod(), process.logged.lines]);
  for (const secret of ["of-the-user", accessToken ?? ""]) expect(written).not.toContain(secret);
});

test("a sandbox that is not secure has no access token", async () => {
  await using world = await embeddedClaimScene();
  const process = await world.scene.process();
  const { accessToken, sandbox } = await process.create({ secure: false });
  expect(accessToken).toBeUndefined();
  expect(world.scene.daemons.at(addressOf(1))?.armed?.body).toEqual({});
  expect(sandbox.openDaemon, "so that gateways and later answers know").toBe(true);
});

test("on the slow path the new container is armed as soon as it answers, before its node reports it", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const old = scene.daemons.at(addressOf(1));
  const creating = process.create();
  await clock.step(100);
  expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
  expect(old?.armed, "the container that goes is armed for nobody").toBeUndefined();
  scene.daemons.down(addressOf(1));
  await clock.step(300);
  await scene.nodeStarts();
  await clock.step(300);
  const { sandbox } = await creating;
  expect(sandbox.status, "though the label still says that it starts").toBe("Running");
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
});

test("where nobody knew the old boot, the node's report tells the new container", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  scene.daemons.down(addressOf(1));
  const process = await scene.process();
  await settle();
  const creating = process.create();
  await clock.step(100);
  await scene.nodeStarts();
  await clock.step(5_000);
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
  await scene.nodeReports();
  await clock.step(1_000);
  expect((await creating).sandbox.status).toBe("Running");
});

test("a caller who leaves while waiting leaves the queue; one who leaves while arming gives the pod back", async () => {
  await using world = await embeddedClaimScene({ pods: 1 });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.delayMs = 1_000;
  const [first, second] = [new AbortController(), new AbortController()];
  const arming = refusal(process.create({}, { signal: first.signal }));
  const waiting = refusal(process.create({}, { signal: second.signal }));
  await clock.step(100);
  second.abort();
  expect(await waiting).toMatchObject({ code: "canceled" });
  expect(process.claims.pending({ namespace: "ns", name: "py" })).toBe(0);
  first.abort();
  expect(await arming).toMatchObject({ code: "canceled" });
  await settle();
  const { metadata } = await scene.pod();
  expect([metadata.labels?.[labelKeys.sandboxPhase], metadata.annotations?.[annotationKeys.stopReason]]).toEqual(["stopping", "Canceled"]);
});

test("W7: a sandbox that is not armed by its deadline is given back, and its record says why", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const failed = refusal(process.create({ startupTimeoutMs: 5_000 }));
  await clock.step(5_000);
  expect(await failed).toMatchObject({ code: "timeout" });
  await settle();
  const { labels = {}, annotations = {} } = (await scene.pod()).metadata;
  expect(labels[labelKeys.sandboxPhase]).toBe("stopping");
  expect([annotations[annotationKeys.stopReason], annotations[annotationKeys.failureReason]]).toEqual(["Canceled", "StartupTimeout"]);
});

test("who does not want to wait has an answer with the claim, and the sandbox comes up by itself", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const client = new AbortController();
  const { sandbox } = await process.create({}, { wait: false, signal: client.signal });
  expect(sandbox.status).toBe("Starting");
  client.abort();
  await scene.nodeStarts();
  await clock.step(1_000);
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
  expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
});

test("what fails after the answer ends the sandbox and says why", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "refused");
  await process.create({}, { wait: false });
  await settle();
  const { labels = {}, annotations = {} } = (await scene.pod()).metadata;
  expect(labels[labelKeys.sandboxPhase]).toBe("stopping");
  expect(annotations[annotationKeys.failureReason]).toBe("StartFailed");
});

test("W27: keys of AgentBox and of the pool's template are refused, by name, and nothing is taken", async () => {
  const template = { metadata: { labels: { app: "base" } }, spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
  await using world = await embeddedClaimScene({ pool: { template } });
  const { scene } = world;
  const process = await scene.process();
  const reserved = await refusal(process.create({ labels: { [labelKeys.team]: "blue" } }));
  expect(reserved).toMatchObject({ code: "invalid_request", details: { field: `labels.${labelKeys.team}` } });
  const taken = await refusal(process.create({ labels: { app: "mine" } }));
  expect(taken).toMatchObject({ code: "invalid_request", details: { field: "labels.app" } });
  expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
});

test("W31: the image of a container that is named goes before the image of the sandbox", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  const images = { image: "registry.invalid/idle:1", containerImages: { main: "registry.invalid/side:1" } };
  const { sandbox } = await process.create(images, { wait: false });
  expect(sandbox.containerImages["main"]).toContain("registry.invalid/side:1@");
  const unknown = await refusal(process.create({ containerImages: { other: "registry.invalid/side:1" } }));
  expect(unknown).toMatchObject({ code: "invalid_request", details: { field: "containerImages" } });
});

test("a server that ends tells who waits, gives back what it is arming, and refuses what comes", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  scene.daemons.delayMs = 60_000;
  const arming = refusal(process.create());
  const waiting = refusal(process.create());
  await clock.step(10);
  meddling.patch = (send) => settle().then(send);
  await process.claims.stop();
  for (const failed of [arming, waiting, refusal(process.create())]) expect(await failed).toMatchObject({ code: "no_capacity" });
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});

test("the same request again with its key is the same sandbox, and one write", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const process = await world.scene.process();
  const [first, second] = [await process.create({ idempotencyKey: "k" }), await process.create({ idempotencyKey: "k" })];
  expect(second.sandbox.sandboxId).toBe(first.sandbox.sandboxId);
  expect(second.sandbox.status).toBe("Running");
  expect((await world.scene.pods()).filter((pod) => sandboxPhaseOf(pod) === "running")).toHaveLength(1);
});

test("the same key while its first request is still under way is told to come again", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const send = async () => sleep(clock, 5_000).then(() => ({ status: 200, headers: {}, text: "" }));
  const process = await scene.process({ http: { send } });
  await settle();
  const command = { idempotencyKey: "k", postStartHooks: [{ http: { port: 80 } }] };
  const first = process.create(command);
  await clock.step(1_000);
  expect(
    scene.daemons.calls.some((call) => call.startsWith("init")),
    "armed, but its hooks are not done",
  ).toBe(true);
  expect(await refusal(process.create(command))).toMatchObject({ code: "conflict" });
  expect((await process.create(command, { wait: false })).sandbox.status).toBe("Starting");
  await clock.step(5_000);
  expect((await process.create(command)).sandbox.sandboxId).toBe((await first).sandbox.sandboxId);
});

test("a sandbox is marked until its hooks have run, and nothing that can be read of them is written down", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const marks: unknown[] = [];
  const mark = async (): Promise<void> => {
    const { items } = await scene.client.list(Pods);
    const claimed = items.find(({ metadata }) => metadata.annotations?.[annotationKeys.claimedAt] !== undefined);
    marks.push(claimed?.metadata.annotations?.[annotationKeys.postStartHooks], JSON.stringify(items).includes("secret-body"));
  };
  const send = async () => (await mark(), { status: 200, headers: {}, text: "" });
  const process = await scene.process({ http: { send } });
  const { sandbox } = await process.create({ postStartHooks: [{ http: { port: 80, body: "secret-body" } }] });
  await mark();
  expect([sandbox.status, marks]).toEqual([
    "Running",
    [expect.stringMatching(/^{"pending":1,"sealed":"[\w-]+"}$/), false, undefined, false],
  ]);
});

test("a create is a span with one child for each of its steps", async () => {
  await using world = await embeddedClaimScene();
  const names: string[] = [];
  const spanAt = (path: string): Span => ({
    set: () => {},
    span: (name, _attributes, work) => (names.push(`${path}${name}`), work(spanAt(`${path}${name}/`))),
  });
  const send = async () => ({ status: 200, headers: {}, text: "" });
  const process = await world.scene.process({ tracer: spanAt(""), http: { send } });
  await process.create({ postStartHooks: [{ http: { port: 80 } }] });
  expect(names).toEqual(["create", "create/resolve", "create/wait", "create/claim", "create/arm", "create/hooks"]);
});

test("creates are counted by pool, path and outcome, and a pool's standing is shown until it is gone", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const process = await scene.process();
  await settle();
  await process.create();
  scene.daemons.fail("init", "refused");
  await refusal(process.create());
  const counted = await process.registry.metrics();
  const pool = 'namespace="ns",pool="py"';
  expect(counted).toContain(`agentbox_sandbox_create_total{${pool},path="fast",result="created"} 1`);
  expect(counted).toContain(`agentbox_sandbox_create_total{${pool},path="fast",result="start_failed"} 1`);
  expect(counted).toContain(`agentbox_sandbox_claim_duration_seconds_count{${pool},path="fast"} 1`);
  expect(counted).toContain(`agentbox_schedule_ready_queue_size{${pool}} 0`);
  await scene.client.delete(SandboxPools, { namespace: "ns", name: "py" });
  await settle();
  expect(await process.registry.metrics()).not.toContain("agentbox_schedule_ready_queue_size{");
});

test("of a batch all are had, or none", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const process = await scene.process();
  const options = { signal: new AbortController().signal, wait: true };
  const command = { from: "ns/py", startupTimeoutMs: 1_000 };
  const failed = refusal(process.claims.createMany(ann, command, { ...options, count: 3 }));
  await clock.step(1_000);
  expect(await failed).toMatchObject({ code: "no_capacity" });
  await settle();
  expect((await scene.pods()).map(sandboxPhaseOf)).toEqual(["stopping", "stopping"]);
});

test("every log line of a create has the sandbox's id", async () => {
  await using world = await embeddedClaimScene();
  const process = await world.scene.process();
  const { sandbox } = await process.create();
  const lines = process.logged.lines.filter(({ msg }) => msg.includes("sandbox"));
  expect(lines.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
});

describe("a pool whose template has changed", () => {
  const serving = {
    templateHash: "h",
    images: [{ container: "main", image: "registry.invalid/app:1", digest: digestOf("app") }],
    waitingImages: [{ container: "main", image: "registry.invalid/app:1", digest: digestOf("app") }],
  };

  async function changed(scene: ClaimScene, spec: JsonObject): Promise<void> {
    const key = { namespace: "ns", name: "py" };
    await scene.client.patch(SandboxPools, key, { type: "merge", body: { status: { serving } } }, { subresource: "status" });
    await scene.client.patch(SandboxPools, key, { type: "merge", body: { spec } });
  }

  const otherImage: JsonObject = { template: { spec: { containers: [{ name: "main", image: "registry.invalid/typo:1" }] } } };
  test.each([
    ["to an image that is not there", otherImage],
    ["to one that has no containers", { template: { spec: { containers: [] } } }],
    ["to one of which there is none", { template: null, templateName: "gone" }],
  ])("%s goes on handing out the version that last was ready", async (_, spec) => {
    await using world = await embeddedClaimScene();
    const { scene } = world;
    await changed(scene, spec);
    const process = await scene.process({ digests: { resolve: () => Promise.reject(new ImageError("not_found", "manifest unknown")) } });
    const { sandbox } = await process.create();
    expect(sandbox).toMatchObject({ status: "Running", podName: "py-1" });
    expect((await scene.pod()).spec.containers[0]?.image).toContain(digestOf("app"));
  });

  test("gives the new image to a request that names it", async () => {
    await using world = await embeddedClaimScene();
    const { scene } = world;
    await changed(scene, otherImage);
    const process = await scene.process({ digests: { resolve: () => Promise.reject(new ImageError("not_found", "manifest unknown")) } });
    expect(await refusal(process.create({ image: "registry.invalid/typo:1" }))).toMatchObject({ code: "image_unavailable" });
  });

  test("gets a pod of the version that serves back, and not one of the new version in its place", async () => {
    await using world = await embeddedClaimScene();
    const { scene } = world;
    const hash = (await scene.pod()).metadata.annotations?.[annotationKeys.templateHash] ?? "";
    await changed(scene, otherImage);
    const body = { status: { serving: { ...serving, templateHash: hash } } };
    await scene.client.patch(SandboxPools, { namespace: "ns", name: "py" }, { type: "merge", body }, { subresource: "status" });
    const process = await scene.process();
    const { sandbox } = await process.create();
    await process.claims.end(ann, sandbox.sandboxId);
    const pod = await scene.pod();
    expect(pod.metadata.deletionTimestamp).toBeUndefined();
    expect(pod.spec.containers[0]?.image).toContain(`-u1@${digestOf("app")}`);
  });
});

test("a team's creates at once never pass its limit of live sandboxes, and what failed or ended gives its place back", async () => {
  await using world = await embeddedClaimScene({ pods: 6 });
  const { scene } = world;
  const table = { server: {}, everyTeam: { sandboxes: 3 }, teams: {} };
  const none = (): number => 0;
  const guard = new LimitGuard({ cache: { limitTable: () => table }, use: { pods: none, pools: none, keys: none, templates: none } });
  const process = await scene.process({ guard });
  using live = new LiveSandboxes(process.cache.pods);
  guard.countSandboxes(countSandboxes(live));
  await settle();

  const ends = await Promise.allSettled(Array.from({ length: 6 }, () => process.create()));
  const made = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.sandbox.sandboxId] : []));
  expect(made).toHaveLength(3);
  expect(await refusal(process.create())).toMatchObject({
    code: "limit_reached",
    details: { limit: { name: "sandboxes", used: 3, limit: 3 } },
  });
  await process.claims.end(ann, made[0] ?? "");
  await settle();
  await process.create();
  expect(await refusal(process.create({ from: `${scene.namespace}/none` }))).toMatchObject({ code: "not_found" });
  expect(guard.used("sandboxes", "red")).toBe(3);
});

test("the same create again is answered at the limit, too", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const table = { server: {}, everyTeam: { sandboxes: 1 }, teams: {} };
  const none = (): number => 0;
  const guard = new LimitGuard({ cache: { limitTable: () => table }, use: { pods: none, pools: none, keys: none, templates: none } });
  const process = await world.scene.process({ guard });
  using live = new LiveSandboxes(process.cache.pods);
  guard.countSandboxes(countSandboxes(live));
  const first = await process.create({ idempotencyKey: "once" });
  expect((await process.create({ idempotencyKey: "once" })).sandbox.sandboxId).toBe(first.sandbox.sandboxId);
});
