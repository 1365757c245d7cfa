/** Envs, templates and instance types for tests to vary. */
import type { EnvClusterMember, EnvClusterMemberConfig } from "#model/env-member.ts";
import { type InstanceTypes, readInstanceTypes } from "#model/instance-types.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";

export function shellTemplate(spec: Partial<SandboxTemplate["spec"]> = {}, metadata: SandboxTemplate["metadata"] = {}): SandboxTemplate {
  const containers = [
    { name: "main", image: "host", resources: { limits: { cpu: "2", memory: "1Gi", "ephemeral-storage": "4Gi" } } },
    { name: "side", image: "side:1" },
  ];
  return {
    metadata: { name: "shell", ...metadata },
    spec: { version: "v1.0.0", idleImage: "pause:1", template: { spec: { containers } }, ...spec },
  };
}

export function aMember(name: string, config: EnvClusterMemberConfig = {}, more: Partial<EnvClusterMember> = {}): EnvClusterMember {
  return { name, config: { scalingGroup: "default", ...config }, ...more };
}

export interface EnvShape {
  readonly name?: string;
  readonly members?: readonly EnvClusterMember[];
  readonly spec?: Partial<SandboxEnv["spec"]>;
  readonly metadata?: SandboxEnv["metadata"];
}

/** Of template shell, with members in cluster local. */
export function shellEnv({ name = "shell", members = [aMember("shell-a")], spec = {}, metadata = {} }: EnvShape = {}): SandboxEnv {
  return {
    metadata: { namespace: "default", name, ...metadata },
    spec: { templateRef: { name: "shell" }, mode: "WarmPool", clusters: [{ clusterID: "local", members: [...members] }], ...spec },
  };
}

/** small: one core, multiplier 1 to 8, on nodes with an ssd. big: at least two of its kind. */
export function someInstanceTypes(): InstanceTypes {
  return readInstanceTypes({
    data: {
      small: "resources: { limits: { cpu: 500m, memory: 512Mi }, requests: { cpu: 100m } }\nmaxMultiplier: 8\nnodeSelector: { disk: ssd }",
      big: "resources: { limits: { cpu: '4' } }\nminMultiplier: 2\nmaxMultiplier: 4",
    },
  });
}
