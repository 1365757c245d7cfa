import { describe, expect, test } from "vitest";
import { daemonCommand } from "#model/daemon-command.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Container, Pod, PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { type DaemonDelivery, deliveryName } from "./daemon-delivery.ts";
import { podBlueprint } from "./pod-blueprint.ts";
import { fateAfterUse } from "#life/recycle/plan-fate.ts";
import { type RenderedPod, renderPod } from "./render-pod.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { runsImageCommand } from "./runtimes.ts";
import { templateHash } from "#sandbox/pools/template-hash.ts";

const pool: SandboxPool = { metadata: { namespace: "ns", name: "py", uid: "pool-uid" }, spec: { replicas: 1, templateName: "base" } };
const image = "registry.invalid/agentbox-daemon:1";
const imageVolume: DaemonDelivery = { kind: "image-volume", image };
const initContainer: DaemonDelivery = { kind: "init-container", image };

interface Wishes {
  readonly main?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function aTemplate({ main = {}, spec = {}, annotations = {} }: Wishes = {}): PoolTemplate {
  const containers = [{ name: "main", image: "app:1", ...main }];
  return { podCreationImagePolicy: "PoolDefaultImage", template: { metadata: { annotations }, spec: { containers, ...spec } } };
}

function rendered(delivery: DaemonDelivery, wishes?: Wishes): RenderedPod {
  const digests = { "app:1": digestOf("app"), "init:1": digestOf("init") };
  return renderPod({ pool, template: aTemplate(wishes), name: "py-a", digests, publicKey: "a2V5", delivery: () => delivery });
}

function aPod(delivery: DaemonDelivery, wishes?: Wishes): Pod {
  const result = rendered(delivery, wishes);
  if (result.kind !== "pod") throw new Error(JSON.stringify(result));
  return result.pod;
}

function sandboxOf({ spec }: Pod): Container {
  const [first] = spec.containers;
  if (first === undefined) throw new Error("the pod has no container");
  return first;
}

function hashOf(delivery: DaemonDelivery | undefined, wishes?: Wishes): string {
  const settings = delivery === undefined ? { publicKey: "a2V5" } : { publicKey: "a2V5", delivery: () => delivery };
  const result = podBlueprint(aTemplate(wishes), settings);
  if (result.kind !== "blueprint") throw new Error(result.message);
  return templateHash(result.blueprint);
}

describe("where nodes bring the daemon", () => {
  test("pods say nothing about it, and are what they always were", () => {
    const { spec } = aPod({ kind: "node" }, { main: { command: ["serve"], args: ["-v"] } });
    expect(spec.volumes).toBeUndefined();
    expect(spec.securityContext).toBeUndefined();
    expect(spec.containers[0]).toMatchObject({ command: ["serve"], args: ["-v"] });
    expect(spec.containers[0]).not.toHaveProperty("securityContext");
    expect(hashOf({ kind: "node" })).toBe(hashOf(undefined));
    expect(deliveryName({ kind: "node" })).toBeUndefined();
  });
});

describe("as an image volume", () => {
  test("the daemon is mounted, read-only, and is what the sandbox's container runs", () => {
    const { spec } = aPod(imageVolume);
    expect(spec.volumes).toEqual([{ name: "agentbox-daemon", image: { reference: image, pullPolicy: "IfNotPresent" } }]);
    expect(spec.initContainers).toBeUndefined();
    expect(sandboxOf(aPod(imageVolume))).toMatchObject({
      command: daemonCommand,
      volumeMounts: [{ name: "agentbox-daemon", mountPath: "/.envd", readOnly: true }],
    });
    expect(deliveryName(imageVolume)).toBe("ImageVolume");
  });

  test("volumes and mounts of the template stay", () => {
    const volumes = [{ name: "data", configMap: { name: "c" } }];
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const pod = aPod(imageVolume, { spec: { volumes }, main: { volumeMounts } });
    expect(pod.spec.volumes?.map(({ name }) => name)).toEqual(["data", "agentbox-daemon"]);
    expect(sandboxOf(pod).volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(["/data", "/.envd"]);
  });
});

describe("by an init container", () => {
  test("the daemon is copied before anything else starts, by somebody without rights", () => {
    const pod = aPod(initContainer, { spec: { initContainers: [{ name: "own", image: "init:1" }] } });
    expect(pod.spec.volumes).toEqual([{ name: "agentbox-daemon", emptyDir: {} }]);
    expect(pod.spec.initContainers?.map(({ name }) => name)).toEqual(["agentbox-daemon", "own"]);
    expect(pod.spec.initContainers?.[0]).toMatchObject({
      image,
      command: ["/lib/ld.so", "--library-path", "/lib", "/node", "/install.cjs", "/target"],
      volumeMounts: [{ name: "agentbox-daemon", mountPath: "/target" }],
      securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    });
    expect(deliveryName(initContainer)).toBe("InitContainer");
  });

  test("the copy is read-only for the sandbox, so its pod is used again (I2)", () => {
    const pod = aPod(initContainer);
    expect(sandboxOf(pod).volumeMounts).toEqual([{ name: "agentbox-daemon", mountPath: "/.envd", readOnly: true }]);
    const waiting = { main: { image: "app:1", digest: digestOf("app") } };
    expect(fateAfterUse(pod, { waiting, maxUses: 10 })).toMatchObject({ kind: "recycle" });
  });

  test("it has the sandbox's own resources, so that a pod is as guaranteed as its template makes it", () => {
    const resources = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } };
    expect(aPod(initContainer, { main: { resources } }).spec.initContainers?.[0]?.resources).toEqual(resources);
    expect(aPod(initContainer).spec.initContainers?.[0]).not.toHaveProperty("resources");
  });
});

describe.each([imageVolume, initContainer])("the command of a template, with %o", (delivery) => {
  const main = { command: ["serve", "--port=$(PORT)"], args: ["-v"] };

  test("is not run by itself", () => {
    const container = sandboxOf(aPod(delivery, { main }));
    expect(container.command).toEqual(daemonCommand);
    expect(container).not.toHaveProperty("args");
  });

  test("is handed to the daemon when the template wants it run", () => {
    const annotations = { [annotationKeys.runEntrypoint]: "true" };
    expect(sandboxOf(aPod(delivery, { main, annotations }))).toMatchObject({
      command: daemonCommand,
      args: ["serve", "--port=$(PORT)", "-v"],
    });
  });

  test("may be arguments alone, which are for the image's entrypoint", () => {
    const annotations = { [annotationKeys.runEntrypoint]: "true" };
    const pod = aPod(delivery, { main: { args: ["-v"] }, annotations });
    expect(sandboxOf(pod)).toMatchObject({ command: daemonCommand, args: ["-v"] });
    expect(runsImageCommand(pod)).toBe(true);
  });
});

describe.each([{ kind: "node" } as const, imageVolume])("what an image runs by itself, with %o", (delivery) => {
  const annotations = { [annotationKeys.runEntrypoint]: "true" };

  test("is waited for by the daemon if the template wants it and gives no command", () => {
    expect(runsImageCommand(aPod(delivery, { annotations }))).toBe(true);
    expect(runsImageCommand(aPod(delivery, { annotations, main: { command: ["serve"] } }))).toBe(false);
    expect(runsImageCommand(aPod(delivery))).toBe(false);
  });

  test("is not for the template's variables to ask for", () => {
    const env = [{ name: "AGENTBOX_IMAGE_ENTRYPOINT", value: "true" }];
    expect(runsImageCommand(aPod(delivery, { main: { env } }))).toBe(false);
  });
});

describe("pods are outdated", () => {
  test("when the daemon is another one", () => {
    expect(hashOf({ ...imageVolume, image: "registry.invalid/agentbox-daemon:2" })).not.toBe(hashOf(imageVolume));
  });

  test("and not when it merely comes in another way: a cluster that learns image volumes replaces nothing", () => {
    expect(hashOf(initContainer)).toBe(hashOf(imageVolume));
    const digests = { "app:1": digestOf("app") };
    const settings = { pool, template: aTemplate(), name: "x", digests, publicKey: "a2V5", delivery: () => imageVolume };
    const [one, two] = [renderPod(settings), renderPod({ ...settings, userNamespaces: true })];
    const hashes = [one, two].map((result) => result.kind === "pod" && result.pod.metadata.annotations?.[annotationKeys.templateHash]);
    expect(hashes).toEqual([hashOf(imageVolume), hashOf(imageVolume)]);
  });
});

describe("a template that leaves no place for the daemon is refused", () => {
  const mounting = (mountPath: string): Wishes => ({ main: { volumeMounts: [{ name: "x", mountPath }] } });

  test.each([
    ["a mount in its place", mounting("/.envd"), "mounts something at /.envd"],
    ["a mount in its place, with a slash", mounting("/.envd/"), "mounts something at /.envd"],
    ["a mount over a part of it", mounting("/.envd/lib"), "mounts something at /.envd"],
    ["a volume of its name", { spec: { volumes: [{ name: "agentbox-daemon", emptyDir: {} }] } }, "AgentBox's own"],
    ["a container of its name", { spec: { initContainers: [{ name: "agentbox-daemon", image: "init:1" }] } }, "AgentBox's own"],
  ])("%s", (_, wishes, message) => {
    expect(rendered(imageVolume, wishes)).toMatchObject({ kind: "refused", message: expect.stringContaining(message) as string });
    expect(rendered({ kind: "node" }, wishes)).toMatchObject({ kind: "pod" });
  });

  test("but not for a folder that only begins like it", () => {
    expect(rendered(imageVolume, mounting("/.envdata"))).toMatchObject({ kind: "pod" });
  });
});
