import { describe, expect, test } from "vitest";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import type { Container, Pod, PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { digestOf, nodeCatchesUp } from "../../../test/world/pool-pods.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import { podBlueprint } from "./pod-blueprint.ts";
import { type RenderedPod, renderPod } from "./render-pod.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { templateHash } from "#sandbox/pools/template-hash.ts";

const pool: SandboxPool = {
  metadata: {
    namespace: "ns",
    name: "py",
    uid: "pool-uid",
    labels: { [labelKeys.env]: "shell", [labelKeys.scalingGroup]: "small", [labelKeys.team]: "red", own: "label" },
  },
  spec: { replicas: 1, templateName: "base" },
};

const digests = { "app:1": digestOf("app"), "idle:1": digestOf("idle"), "side:1": digestOf("side"), "init:1": digestOf("init") };

function aTemplate(more: Partial<PoolTemplate> = {}, spec: Partial<PodSpec> = {}): PoolTemplate {
  return {
    podCreationImagePolicy: "IdleImage",
    idleImage: "idle:1",
    from: { name: "base", version: "v1.0.0" },
    template: {
      metadata: { labels: { app: "shell" }, annotations: { note: "x" } },
      spec: {
        containers: [
          { name: "main", image: "app:1" },
          { name: "side", image: "side:1" },
        ],
        ...spec,
      },
    },
    ...more,
  };
}

function rendered(template: PoolTemplate): RenderedPod {
  return renderPod({ pool, template, name: "py-abc", digests, publicKey: "a2V5" });
}

function aPod(template: PoolTemplate = aTemplate()): Pod {
  const result = rendered(template);
  if (result.kind !== "pod") throw new Error(JSON.stringify(result));
  return result.pod;
}

function warnings(spec: Partial<PodSpec>): readonly string[] {
  const result = rendered(aTemplate({}, spec));
  return result.kind === "pod" ? result.warnings : [result.kind];
}

function hashOf(template: PoolTemplate, publicKey = "a2V5"): string {
  const result = podBlueprint(template, { publicKey });
  if (result.kind !== "blueprint") throw new Error(result.message);
  return templateHash(result.blueprint);
}

describe("a new pod", () => {
  test("of a member of an Env names the template that its pool is a copy of, without another hash for that", () => {
    const { from: _, ...copy } = aTemplate();
    const annotations = { [annotationKeys.templateName]: "base", [annotationKeys.templateVersion]: "v2" };
    const member = { ...pool, metadata: { ...pool.metadata, annotations } };
    const result = renderPod({ pool: member, template: copy, name: "py-abc", digests, publicKey: "a2V5" });
    expect(result).toMatchObject({ pod: { metadata: { annotations: { ...annotations, [annotationKeys.templateHash]: hashOf(copy) } } } });
    expect(aPod(copy).metadata.annotations).not.toHaveProperty(annotationKeys.templateName);
  });

  test("is idle, its pool's, and held by the finalizer that guards its history", () => {
    const { metadata } = aPod();
    expect(metadata).toMatchObject({ name: "py-abc", namespace: "ns", finalizers: [finalizers.sandboxProtection] });
    expect(metadata.labels).toEqual({
      app: "shell",
      [labelKeys.sandboxPool]: "py",
      [labelKeys.sandboxPhase]: "idle",
      [labelKeys.managedBy]: "sandbox-api-server",
      [labelKeys.env]: "shell",
      [labelKeys.scalingGroup]: "small",
    });
    expect(metadata.ownerReferences).toEqual([
      {
        apiVersion: "agents.navix.sh/v1alpha1",
        kind: "SandboxPool",
        name: "py",
        uid: "pool-uid",
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  test("says which template it is from, in which version, and has not been used", () => {
    expect(aPod().metadata.annotations).toEqual({
      note: "x",
      [annotationKeys.templateName]: "base",
      [annotationKeys.templateVersion]: "v1.0.0",
      [annotationKeys.templateHash]: hashOf(aTemplate()),
      [annotationKeys.useCount]: "0",
    });
    const { from: _, ...inline } = aTemplate();
    expect(Object.keys(aPod(inline).metadata.annotations ?? {}).sort()).toEqual(
      [annotationKeys.templateHash, annotationKeys.useCount, "note"].sort(),
    );
  });

  test("waits on pinned images", () => {
    expect(aPod().spec.containers.map(({ image }) => image)).toEqual([`idle:1-u0@${digestOf("idle")}`, `side:1-u0@${digestOf("side")}`]);
    const onRunImage = aPod(aTemplate({ podCreationImagePolicy: "PoolDefaultImage" }));
    expect(onRunImage.spec.containers[0]?.image).toBe(`app:1-u0@${digestOf("app")}`);
  });

  test("has init containers pinned as well", () => {
    const pod = aPod(aTemplate({}, { initContainers: [{ name: "init", image: "init:1" }] }));
    expect(pod.spec.initContainers).toEqual([{ name: "init", image: `init:1-u0@${digestOf("init")}` }]);
    expect(aPod().spec).not.toHaveProperty("initContainers");
  });

  test("has the daemon's ports, variables and probe in its first container only", () => {
    const [main, side] = aPod().spec.containers;
    expect(main?.env?.map(({ name }) => name)).toEqual(["AGENTBOX_POD_UID", "AGENTBOX_PUBLIC_KEY"]);
    expect(main?.ports?.map(({ containerPort }) => containerPort)).toEqual([49_983]);
    expect(side).toEqual({ name: "side", image: `side:1-u0@${digestOf("side")}` });
  });

  test("may be claimed as soon as its node has it ready", () => {
    const pod = aPod();
    const status = { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }] } as const;
    expect(whyNotClaimable(nodeCatchesUp({ ...pod, status }))).toBeUndefined();
  });

  test("carries everything else of its template along", () => {
    const spec = { runtimeClassName: "gvisor", tolerations: [{ key: "x" }], hostUsers: false, somethingNew: { a: 1 } };
    expect(aPod(aTemplate({}, spec)).spec).toMatchObject(spec);
  });
});

describe("whatever its template says, a pod", () => {
  test("has no token for the cluster and no list of its services", () => {
    expect(aPod(aTemplate({}, { automountServiceAccountToken: true })).spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
    });
    expect(warnings({ automountServiceAccountToken: true })).toEqual(["no service account token is mounted into a sandbox"]);
  });

  test("comes back when it is told to stop: otherwise no image could be exchanged", () => {
    expect(aPod(aTemplate({}, { restartPolicy: "Never" })).spec.restartPolicy).toBe("Always");
    expect(warnings({ restartPolicy: "Never" })).toEqual(["restartPolicy is Always and not Never"]);
    expect(warnings({ restartPolicy: "Always" })).toEqual([]);
  });

  test("has no liveness probe, which would restart a paused sandbox", () => {
    const containers: Container[] = [
      { name: "main", image: "app:1", livenessProbe: { tcpSocket: { port: 1 } } },
      { name: "side", image: "side:1", livenessProbe: { tcpSocket: { port: 2 } }, startupProbe: { tcpSocket: { port: 2 } } },
    ];
    const pod = aPod(aTemplate({}, { containers }));
    expect(pod.spec.containers.map((container) => container.livenessProbe)).toEqual([undefined, undefined]);
    expect(pod.spec.containers[1]?.startupProbe).toBeDefined();
    expect(warnings({ containers })).toHaveLength(2);
  });

  test("W27: has no key of AgentBox from there, except those that are meant for templates", () => {
    const metadata = {
      labels: { [labelKeys.sandboxId]: "fake", [labelKeys.user]: "ann", app: "shell" },
      annotations: {
        [annotationKeys.endTime]: "1970-01-01T00:00:00Z",
        [annotationKeys.recyclePolicy]: "Always",
        [annotationKeys.maxUses]: "5",
      },
    };
    const template = aTemplate({ template: { metadata, spec: { containers: [{ name: "main", image: "app:1" }] } } });
    const pod = aPod(template);
    expect(pod.metadata.labels).not.toHaveProperty(labelKeys.sandboxId);
    expect(pod.metadata.labels).not.toHaveProperty(labelKeys.user);
    expect(pod.metadata.annotations).not.toHaveProperty(annotationKeys.endTime);
    expect(pod.metadata.annotations).toMatchObject({ [annotationKeys.recyclePolicy]: "Always", [annotationKeys.maxUses]: "5" });
    const result = rendered(template);
    expect(result.kind === "pod" && result.warnings).toEqual([
      "the key agentbox.navix.sh/sandbox-id is left out: it is reserved for AgentBox",
      "the key scheduling.navix.sh/user is left out: it is reserved for AgentBox",
      "the key agentbox.navix.sh/end-time is left out: it is reserved for AgentBox",
    ]);
  });
});

describe("a pod cannot be made", () => {
  test("before all its digests are known; the missing ones are named", () => {
    const template = aTemplate({ idleImage: "new:1" }, { initContainers: [{ name: "init", image: "other:1" }] });
    expect(rendered(template)).toEqual({ kind: "unresolved", missing: ["new:1", "other:1"] });
  });

  test("without containers, or with one that has no image", () => {
    expect(rendered({ podCreationImagePolicy: "IdleImage" })).toMatchObject({ kind: "refused", code: "no-containers" });
    expect(rendered(aTemplate({}, { containers: [] }))).toMatchObject({ code: "no-containers" });
    expect(rendered(aTemplate({}, { containers: [{ name: "main", image: "app:1" }, { name: "side" }] }))).toEqual({
      kind: "refused",
      code: "target-image-required",
      message: 'container "side" of the template has no image',
    });
    expect(rendered(aTemplate({}, { initContainers: [{ name: "init" }] }))).toMatchObject({ code: "target-image-required" });
  });

  test("for a pool that no server has seen", () => {
    const { uid: _, ...metadata } = pool.metadata;
    expect(() => renderPod({ pool: { ...pool, metadata }, template: aTemplate(), name: "x", digests, publicKey: "k" })).toThrow(
      "pool py has no uid: it was not read from a server",
    );
  });
});

describe("the hash of a template", () => {
  test("is the same for the same pods, in whatever order their fields come", () => {
    const one = aTemplate({ template: { spec: { containers: [{ name: "main", image: "app:1", workingDir: "/x" }], hostUsers: false } } });
    const two = aTemplate({ template: { spec: { hostUsers: false, containers: [{ workingDir: "/x", image: "app:1", name: "main" }] } } });
    expect(hashOf(one)).toBe(hashOf(two));
    expect(hashOf(one)).toMatch(/^[0-9a-f]{16}$/);
  });

  test.for<[string, PoolTemplate]>([
    ["another container", aTemplate({}, { containers: [{ name: "main", image: "app:1" }] })],
    [
      "another side image",
      aTemplate(
        {},
        {
          containers: [
            { name: "main", image: "app:1" },
            { name: "side", image: "side:2" },
          ],
        },
      ),
    ],
    ["another idle image", aTemplate({ idleImage: "idle:2" })],
    ["another policy", aTemplate({ podCreationImagePolicy: "PoolDefaultImage" })],
    ["another runtime", aTemplate({ runtimes: [{ name: "swerex", port: 8000 }] })],
    ["another field of the pod", aTemplate({}, { runtimeClassName: "gvisor" })],
    [
      "the order of containers",
      aTemplate(
        {},
        {
          containers: [
            { name: "side", image: "side:1" },
            { name: "main", image: "app:1" },
          ],
        },
      ),
    ],
  ])("changes with %s", ([, template]) => {
    expect(hashOf(template)).not.toBe(hashOf(aTemplate()));
  });

  test("can be taken of a template with a null in it", () => {
    expect(hashOf(aTemplate({}, { somethingNew: null } as object))).not.toBe(hashOf(aTemplate({}, { somethingNew: {} } as object)));
  });

  test("changes with the key that arms the pods: the old ones could not be armed", () => {
    expect(hashOf(aTemplate(), "other")).not.toBe(hashOf(aTemplate()));
  });

  test("does not change with the version, nor with a run image that no idle pod runs", () => {
    const containers = [
      { name: "main", image: "app:2" },
      { name: "side", image: "side:1" },
    ];
    expect(hashOf(aTemplate({ from: { name: "base", version: "v9.0.0" } }))).toBe(hashOf(aTemplate()));
    expect(hashOf(aTemplate({}, { containers }))).toBe(hashOf(aTemplate()));
    const policy = { podCreationImagePolicy: "PoolDefaultImage" } as const;
    expect(hashOf(aTemplate(policy, { containers }))).not.toBe(hashOf(aTemplate(policy)));
  });
});
