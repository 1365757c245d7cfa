import { describe, expect, test } from "vitest";
import type { Container, PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { mayHaveOwnUsers, withSecurity } from "./pod-security.ts";
import { renderPod } from "./render-pod.ts";

function secured(main: Partial<Container> = {}, spec: Partial<PodSpec> = {}): PodSpec {
  return withSecurity({ containers: [{ name: "main", ...main }], ...spec });
}

function contextOf(main: Partial<Container>, spec: Partial<PodSpec> = {}): Container["securityContext"] {
  return secured(main, spec).containers[0]?.securityContext;
}

/** What the standard asks of a container; the pod's part is the seccomp profile. */
const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, runAsNonRoot: true };

describe("a template that names an unprivileged user", () => {
  test("is restricted, whether the container or the pod names the user", () => {
    expect(contextOf({ securityContext: { runAsUser: 1000 } })).toEqual({ ...restricted, runAsUser: 1000 });
    expect(contextOf({}, { securityContext: { runAsUser: 1000 } })).toEqual(restricted);
    expect(secured().securityContext).toEqual({ seccompProfile: { type: "RuntimeDefault" } });
  });

  test("keeps what it says itself", () => {
    const own = { runAsUser: 1000, runAsNonRoot: false, allowPrivilegeEscalation: true, capabilities: { add: ["NET_RAW"] } };
    expect(contextOf({ securityContext: own })).toEqual(own);
    expect(contextOf({ securityContext: { runAsUser: 1000 } }, { securityContext: { runAsNonRoot: true } })).not.toHaveProperty(
      "runAsNonRoot",
    );
    const seccompProfile = { type: "Localhost", localhostProfile: "x.json" } as const;
    expect(secured({}, { securityContext: { seccompProfile } }).securityContext).toEqual({ seccompProfile });
  });

  test("has root's powers within reach when it asks for escalation: sudo is of no use without", () => {
    const context = contextOf({ securityContext: { runAsUser: 1000, allowPrivilegeEscalation: true } });
    expect(context).toMatchObject({
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"], add: expect.arrayContaining(["SETUID"]) as string[] },
    });
  });
});

describe("a template that leaves the user to its image, or names root", () => {
  test.each([{}, { runAsUser: 0 }])("may change users and owners, and nothing of the node: %o", (securityContext) => {
    const context = contextOf({ securityContext });
    expect(context).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } });
    expect(context).not.toHaveProperty("runAsNonRoot");
    const { add } = (context?.["capabilities"] ?? { add: [] }) as { readonly add: readonly string[] };
    expect(add).toEqual(expect.arrayContaining(["CHOWN", "SETGID", "SETUID"]));
    expect(add.filter((name) => ["SYS_ADMIN", "NET_RAW", "NET_ADMIN", "SYS_PTRACE", "MKNOD"].includes(name))).toEqual([]);
  });
});

test("side and init containers are bounded as well", () => {
  const spec = secured({}, { securityContext: { runAsUser: 1000 }, initContainers: [{ name: "init" }] });
  expect(spec.initContainers?.[0]?.securityContext).toEqual(restricted);
});

test("a privileged container is left as it is: the server refuses one that must not escalate", () => {
  expect(contextOf({ securityContext: { privileged: true } })).toEqual({ privileged: true });
});

describe("users of its own", () => {
  test.each<[string, Partial<PodSpec>]>([
    ["the network of the node", { hostNetwork: true }],
    ["the processes of the node", { hostPID: true }],
    ["a runtime class", { runtimeClassName: "kata" }],
    ["a wish of the template", { hostUsers: true }],
    ["a block device", { containers: [{ name: "main", volumeDevices: [{ name: "d", devicePath: "/dev/x" }] }] }],
    ["a privileged container", { containers: [{ name: "main", securityContext: { privileged: true } }] }],
  ])("are not for a pod with %s", (_, spec) => {
    expect(mayHaveOwnUsers({ containers: [{ name: "main" }], ...spec })).toBe(false);
  });

  test("are given to pods where every node can, and on clusters only", () => {
    const pool: SandboxPool = { metadata: { namespace: "ns", name: "py", uid: "u" }, spec: { replicas: 1 } };
    const template = {
      podCreationImagePolicy: "PoolDefaultImage",
      template: { spec: { containers: [{ name: "main", image: "a:1" }] } },
    } as const;
    const common = { pool, template, name: "py-a", digests: { "a:1": digestOf("a") }, publicKey: "a2V5" };
    const delivery = () => ({ kind: "image-volume", image: "d:1" }) as const;
    const hostUsers = (result: ReturnType<typeof renderPod>): unknown => result.kind === "pod" && result.pod.spec.hostUsers;
    expect(hostUsers(renderPod({ ...common, delivery, userNamespaces: true }))).toBe(false);
    expect(hostUsers(renderPod({ ...common, delivery }))).toBeUndefined();
    expect(hostUsers(renderPod({ ...common, userNamespaces: true }))).toBeUndefined();
  });
});

test("what a template says of where and how its pods run is passed through", () => {
  const own: Partial<PodSpec> = {
    runtimeClassName: "gvisor",
    priorityClassName: "low",
    tolerations: [{ key: "sandboxes", operator: "Exists" }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
    nodeSelector: { pool: "sandboxes" },
  };
  expect(secured({}, own)).toMatchObject(own);
});
