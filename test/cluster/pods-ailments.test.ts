/** What a real kubelet reports of pods that fare ill, and what we make of it. */
import { expect, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type Container, type Pod, Pods, type PodSpec } from "#model/pod.ts";
import { deathOf, type Failure } from "#sandbox/health/death.ts";
import { type PodStatusDetail, statusDetailFromPod } from "#sandbox/health/diagnosis.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { triggerUpdate } from "#sandbox/images/inplace-update.ts";
import { stableContainerStatuses, unexpectedRestart } from "#sandbox/health/restart.ts";
import { kubectl, push, until } from "./cluster-under-test.ts";
import { digestOfTag } from "./digest-of-tag.ts";
import { RenderedPods } from "./pods-rendered.ts";

async function aPlainPod(pods: RenderedPods, container: Partial<Container>, spec: Partial<PodSpec> = {}): Promise<Pod> {
  const image = container.image ?? (await push({ name: "tests/shell:1" }));
  const containers = [{ name: "main", image, ...container }];
  const made = { metadata: { namespace: pods.namespace, name: "ill" }, spec: { terminationGracePeriodSeconds: 1, containers, ...spec } };
  return until(() => pods.client.create(Pods, made));
}

/** The pod once something is to be said of it that fits. */
function diagnosed(pods: RenderedPods, pod: Pod, reason: string): Promise<PodStatusDetail> {
  return until(async () => {
    const seen = await pods.read(pod);
    const detail = statusDetailFromPod(seen);
    if (detail?.reason !== reason) throw new Error(`${JSON.stringify(detail)} of ${JSON.stringify(seen.status)}`);
    return detail;
  });
}

function dead(pods: RenderedPods, pod: Pod): Promise<Failure> {
  return until(async () => {
    const seen = await pods.read(pod);
    const death = deathOf(seen);
    if (death === undefined) throw new Error(`it lives: ${JSON.stringify(seen.status)}`);
    return death;
  });
}

const sh = (script: string): Partial<Container> => ({ command: ["/bin/sh", "-c", script] });

test("an image that there is not", async () => {
  const pods = await RenderedPods.open();
  const image = (await push({ name: "tests/shell:1" })).replace(/shell.*/, `missing:1-u0@sha256:${"0".repeat(64)}`);
  const pod = await aPlainPod(pods, { image });
  await until(async () => {
    const detail = statusDetailFromPod(await pods.read(pod));
    expect(detail?.reason).toMatch(/^(ErrImagePull|ImagePullBackOff)$/);
    expect(detail?.message).toContain("tests/missing");
  });
});

test("a program that is not in its image", async () => {
  const pods = await RenderedPods.open();
  const pod = await aPlainPod(pods, { command: ["/no/such/program"] });
  await until(async () => {
    const detail = statusDetailFromPod(await pods.read(pod));
    expect(detail?.reason).toMatch(/^(RunContainerError|CrashLoopBackOff|StartError)$/);
    expect(detail?.message).toMatch(/no such file|exit code 128/);
  });
});

test("a container that takes more memory than it may", async () => {
  const pods = await RenderedPods.open();
  const pod = await aPlainPod(pods, {
    ...sh("sleep 2; exec /bin/busybox tail /dev/zero"),
    resources: { limits: { memory: "32Mi" }, requests: { memory: "8Mi" } },
  });
  const running = await until(async () => {
    const seen = await pods.read(pod);
    expect(seen.status?.containerStatuses?.[0]?.state?.running).toBeDefined();
    return seen;
  });
  expect((await diagnosed(pods, pod, "OOMKilled")).message).toMatch(/main/);
  // As if it had been a sandbox: another container than the one it began with.
  const state = serializeInplaceUpdateState({ phase: "completed", stableContainerStatuses: stableContainerStatuses(running, []) });
  const restarted = await until(async () => {
    const seen = await pods.read(pod);
    const restart = unexpectedRestart({
      ...seen,
      metadata: {
        ...seen.metadata,
        labels: { [labelKeys.sandboxPhase]: "running" },
        annotations: { [annotationKeys.inplaceUpdateState]: state },
      },
    });
    if (restart === undefined) throw new Error("it is the one that it was");
    return restart;
  });
  expect(restarted).toMatchObject({ container: "main", failureReason: "OOMKilled", exitCode: 137 });
});

test("a pod that is drained from its node", async () => {
  const pods = await RenderedPods.open();
  const made = await aPlainPod(pods, {});
  const pod = await pods.ready(made);
  const { name = "" } = pod.metadata;
  // As every pod of a pool, so that its end can be read off it.
  await pods.client.patch(
    Pods,
    { namespace: pods.namespace, name },
    { type: "merge", body: { metadata: { finalizers: ["tests.invalid/hold"] } } },
  );
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: pods.namespace, name } };
  await kubectl(["create", "--raw", `/api/v1/namespaces/${pods.namespace}/pods/${name}/eviction`, "-f", "-"], JSON.stringify(eviction));
  expect(await dead(pods, pod)).toMatchObject({ failureReason: "Evicted", failureMessage: expect.stringContaining("evict") as string });
  await pods.client.patch(Pods, { namespace: pods.namespace, name }, { type: "merge", body: { metadata: { finalizers: null } } });
});

test("a pod that uses more of its node's disk than it may", async () => {
  const pods = await RenderedPods.open();
  const volumes = [{ name: "data", emptyDir: { sizeLimit: "1Mi" } }];
  const container = {
    ...sh("/bin/busybox dd if=/dev/zero of=/data/x bs=1M count=20; sleep 1000"),
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  const pod = await aPlainPod(pods, container, { volumes });
  expect(await dead(pods, pod)).toMatchObject({
    failureReason: "Evicted",
    failureMessage: expect.stringMatching(/EmptyDir|exceeds/) as string,
  });
  expect(statusDetailFromPod(await pods.read(pod))).toMatchObject({ reason: "Evicted" });
});

test("a namespace that is full, and one that does not take such pods", async () => {
  const pods = await RenderedPods.open();
  const { namespace } = pods;
  await kubectl(["-n", namespace, "create", "quota", "none", "--hard=pods=0"]);
  const wishes = { image: await push({ name: "tests/shell:1" }), delivery: "image-volume" } as const;
  const rendered = await pods.render(wishes);
  const refusal = (): Promise<unknown> => pods.client.create(Pods, rendered).catch((error: unknown) => error);
  await until(async () => {
    const full = await refusal();
    expect(isApiError(full, "Forbidden") && full.message).toMatch(/exceeded quota: none/);
  });
  await kubectl(["-n", namespace, "delete", "quota", "none"]);
  await kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
  await until(async () => {
    const refused = await refusal();
    expect(isApiError(refused, "Forbidden") && refused.message).toMatch(/violates PodSecurity "restricted/);
  });
});

test("an exchange is over when the kubelet has reported all of it, and not before", async () => {
  const pods = await RenderedPods.open();
  const [one, two] = await Promise.all([
    push({ name: "tests/one:1", files: { one: "1" } }),
    push({ name: "tests/two:1", files: { two: "2" } }),
  ]);
  const pod = await pods.ready(await pods.create({ image: one, delivery: "image-volume" }));
  const labelled: Pod = { ...pod, metadata: { ...pod.metadata, labels: { [labelKeys.sandboxPhase]: "idle" } } };
  const target = two.replace(/:1@/, ":1-u1@");
  const plan = triggerUpdate(
    labelled,
    { containerImages: { main: target }, targetPodPhase: "running", updatePodPhase: "starting" },
    Date.now(),
  );
  if (plan.kind !== "patch") throw new Error(plan.message);
  await pods.swap(pod, two, 1);
  const seen: string[] = [];
  const completed = await until(async () => {
    const now = await pods.read(pod);
    const annotations = { [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(plan.state) };
    const completion = completionOf({
      ...now,
      metadata: { ...now.metadata, labels: { [labelKeys.sandboxPhase]: "starting" }, annotations },
    });
    if (completion.kind !== "completed") {
      seen.push(completion.kind === "waiting" ? completion.why : completion.kind);
      throw new Error(seen.at(-1));
    }
    return now;
  });
  expect(seen[0]).toContain("is still the one before");
  // Nothing lags behind any more: what is reported is what runs.
  expect((await pods.run(completed, { argv: ["cat", "/two"] })).out).toBe("2");
  expect(completed.status?.containerStatuses?.[0]?.imageID).toContain(await digestOfTag(two));
});
