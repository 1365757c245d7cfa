/** The objects by which sandboxes are made from an image: a SandboxTemplate, and an Env that grows with demand as far as the machine can hold. */
import { localClusterID } from "#model/keys.ts";
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { recipes } from "./recipes.ts";

export const envNamespace = "default";
/** Scaling group of the Envs. */
const group = "default";

type Runtimes = NonNullable<SandboxTemplate["spec"]["runtimes"]>;

const daemon = { name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 10 } };

interface Shape {
  /** Of the SandboxTemplate. */
  readonly name: string;
  readonly runtimes: Runtimes;
  readonly memory: string;
  readonly disk: string;
  /** Names that clients ask for, and how many pods wait however quiet it is. */
  readonly envs: Readonly<Record<string, number>>;
}

const usual = { runtimes: [daemon], memory: "1Gi", disk: "2Gi" };

const shapes: Readonly<Record<ReadyTemplateName, Shape>> = {
  base: { ...usual, name: "base", memory: "512Mi", disk: "1Gi", envs: { base: 3 } },
  "code-interpreter": {
    ...usual,
    // Which E2B's code interpreter SDKs ask for when no name is given.
    name: "code-interpreter-v1",
    runtimes: [daemon, { name: "code-interpreter", port: 49_999 }],
    disk: "1Gi",
    envs: { "code-interpreter-v1": 2, "code-interpreter": 0 },
  },
  node: { ...usual, name: "node", envs: { node: 1 } },
  browser: { ...usual, name: "browser", memory: "2Gi", envs: { browser: 1 } },
  desktop: { ...usual, name: "desktop", memory: "2Gi", envs: { desktop: 1 } },
};

export interface TemplateObjects {
  readonly template: SandboxTemplate;
  /** The first has the template's name. */
  readonly envs: readonly [SandboxEnv, ...SandboxEnv[]];
}

export const hostDescription = "This machine's own programs under a clean root";

export function templateObjects(
  name: ReadyTemplateName,
  image: string,
  description = image === "host" ? hostDescription : recipes[name].description,
): TemplateObjects {
  const { name: template, runtimes, memory, disk, envs } = shapes[name];
  const limits = { cpu: "1", memory, "ephemeral-storage": disk };
  const container = { name: "sandbox", image, resources: { limits, requests: { cpu: "50m", memory: "32Mi" } } };
  const [first = envOf(template, template, 0), ...more] = Object.entries(envs).map(([env, warm]) => envOf(env, template, warm));
  return {
    template: {
      metadata: { name: template },
      spec: {
        version: "v1.0.0",
        description,
        runtimes,
        template: { spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      },
    },
    envs: [first, ...more],
  };
}

function envOf(name: string, template: string, warm: number): SandboxEnv {
  return {
    metadata: { namespace: envNamespace, name },
    spec: {
      templateRef: { name: template },
      mode: "WarmPool",
      overrides: { podCreationImagePolicy: "PoolDefaultImage" },
      clusters: [{ clusterID: localClusterID, members: [{ name, config: { scalingGroup: group } }] }],
      autoscaling: { groups: [demandGroup(warm)] },
    },
  };
}

/**
 * Without a maximum: the capacity plugin knows what the machine can hold. Pods go after a minute instead of the usual five, because what an
 * idle pod costs here is memory of the user's machine (docs/envs.md has the figures).
 */
export function demandGroup(minReplicas: number) {
  const scaleDownPolicy = { idleTimeoutSeconds: 60 };
  return { name: group, enabled: true, minReplicas, scaleUpPolicy: { mode: "Demand" }, scaleDownPolicy } as const;
}
