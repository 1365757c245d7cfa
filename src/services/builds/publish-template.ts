/**
 * What a finished build becomes: a SandboxTemplate with its image, and an Env of the same name that grows with demand. Both are ordinary objects: an admin can
 * change how many pods wait. Another build of the same template is a new version of the SandboxTemplate, to which the Env's members are brought.
 */
import { isDeepStrictEqual } from "node:util";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ResourceType } from "#model/resource.ts";
import type { ApiObject } from "#model/meta.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";
import type { EnvService } from "#services/envs/env-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { isServiceError } from "#services/service-error.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { StoredTemplate } from "./build-records.ts";

export interface PublishDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "templates">;
  readonly envs: Pick<EnvService, "create" | "refresh" | "delete">;
  /** Of Envs. */
  readonly namespace: string;
  /** The cluster whose members are written. */
  readonly clusterId: string;
}

/** The services themselves write these objects, for an owner that may not write templates. */
const server: Caller = { role: "admin", team: "", keyId: "template-build" };

const envdPort = 49_983;
const daemon = { name: "e2b", port: envdPort, readinessProbe: { httpGet: { path: "/health", port: envdPort }, periodSeconds: 10 } };
const group = "default";
const usualDisk = "1Gi";

export async function publishTemplate(deps: PublishDeps, template: StoredTemplate, image: string, signal: AbortSignal): Promise<void> {
  const isNew = await writeTemplate(deps, template, image);
  if ((await found(deps.client, SandboxEnvs, { namespace: deps.namespace, name: template.env })) === undefined) {
    await deps.envs.create(server, envOf(deps, template), signal);
  } else if (isNew) {
    await deps.envs.refresh(server, { wanted: { name: template.env, namespace: deps.namespace }, dryRun: false }, signal);
  }
}

/** Throws conflict for a name that stands for something else. */
export async function checkFree(deps: Pick<PublishDeps, "client" | "namespace">, name: string): Promise<void> {
  const there =
    (await found(deps.client, SandboxEnvs, { namespace: deps.namespace, name })) ?? (await found(deps.client, SandboxTemplates, { name }));
  if (there === undefined) return;
  throw new ServiceError(
    "conflict",
    `there is an Env or template ${JSON.stringify(name)} already, which was not built: choose another name`,
    {
      field: "name",
    },
  );
}

/** True when it was written; false when it was so already. */
async function writeTemplate({ client, cache }: PublishDeps, template: StoredTemplate, image: string): Promise<boolean> {
  const present = await found(client, SandboxTemplates, { name: template.env });
  if (present !== undefined && present.metadata.annotations?.[annotationKeys.builtTemplate] !== template.templateId) {
    throw new ServiceError("conflict", `there is a template ${JSON.stringify(template.env)} that was not built: choose another name`);
  }
  const next = templateOf(template, image, present);
  if (present !== undefined && isDeepStrictEqual({ ...present.spec, version: "" }, { ...next.spec, version: "" })) return false;
  const written = await (present === undefined ? client.create(SandboxTemplates, next) : client.update(SandboxTemplates, next));
  cache.templates.remember(written);
  return true;
}

function templateOf(template: StoredTemplate, image: string, present: SandboxTemplate | undefined): SandboxTemplate {
  const { owner, env, name, cpuCount, memoryMB, diskMB } = template;
  const disk = diskMB === undefined ? usualDisk : `${diskMB}Mi`;
  const limits = { cpu: String(cpuCount), memory: `${memoryMB}Mi`, "ephemeral-storage": disk };
  const container = { name: "sandbox", image, resources: { limits, requests: { cpu: "50m", memory: "32Mi" } } };
  return {
    metadata: {
      ...present?.metadata,
      name: env,
      annotations: { ...present?.metadata.annotations, [annotationKeys.builtTemplate]: template.templateId },
    },
    spec: {
      version: nextVersion(present?.spec.version),
      description: `Built template ${name}`,
      runtimes: [daemon],
      template: { spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      ...(owner.team !== "" && { visibility: { rules: [{ team: owner.team, ...(owner.user !== undefined && { users: [owner.user] }) }] } }),
    },
  };
}

function nextVersion(version = ""): string {
  const [, head, patch] = /^(v\d+\.\d+)\.(\d+)$/.exec(version) ?? [];
  return head === undefined ? "v1.0.0" : `${head}.${Number(patch) + 1}`;
}

function envOf({ namespace, clusterId }: PublishDeps, { owner, env: name, templateId }: StoredTemplate): SandboxEnv {
  const { team, user } = owner;
  const labels = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== undefined && { [labelKeys.user]: user }) };
  return {
    metadata: { namespace, name, labels, annotations: { [annotationKeys.builtTemplate]: templateId } },
    spec: {
      templateRef: { name },
      mode: "WarmPool",
      overrides: { podCreationImagePolicy: "PoolDefaultImage" },
      clusters: [{ clusterID: clusterId, members: [{ name, config: { scalingGroup: group } }] }],
      autoscaling: {
        groups: [
          { name: group, enabled: true, minReplicas: 0, scaleUpPolicy: { mode: "Demand" }, scaleDownPolicy: { idleTimeoutSeconds: 60 } },
        ],
      },
    },
  };
}

/** Sandboxes that run go on; repeating it is a success. */
export async function unpublishTemplate(deps: PublishDeps, template: StoredTemplate): Promise<void> {
  const { client, namespace } = deps;
  try {
    await deps.envs.delete(server, { name: template.env, namespace }, false);
  } catch (error) {
    if (!isServiceError(error, "not_found")) throw error;
  }
  const present = await found(client, SandboxTemplates, { name: template.env });
  if (present === undefined || present.metadata.annotations?.[annotationKeys.builtTemplate] !== template.templateId) return;
  try {
    await client.delete(SandboxTemplates, { name: template.env }, { preconditions: { uid: present.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

async function found<T extends ApiObject>(
  client: ObjectClient,
  type: ResourceType<T>,
  key: { readonly namespace?: string; readonly name: string },
): Promise<T | undefined> {
  try {
    return await client.get(type, key);
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}
