/**
 * Objects that this version stores and does nothing about say so in their status, at once: checkpoints. The change that brings their controller
 * removes this folder.
 */
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Informer } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { kubernetesTime, type MonotonicClock } from "#lib/clock.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { notImplemented } from "#model/keys.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

export interface UnattendedDeps extends ControllerDeps {
  readonly clock: MonotonicClock;
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "checkpoints">;
}

export function startUnattended(deps: UnattendedDeps): Controller {
  return told(deps, deps.cache.checkpoints, { type: Checkpoints, name: "unattended-checkpoint", statusOf: checkpointStatus });
}

function checkpointStatus({ status }: Checkpoint, now: string): JsonObject | undefined {
  if (status?.phase !== undefined) return undefined;
  return { phase: "Failed", message: `${notImplemented}: this version of AgentBox takes no checkpoints`, completionTime: now };
}

interface Told<T extends ApiObject> {
  readonly type: ResourceType<T>;
  readonly name: string;
  /** What is to be written, if something is. */
  readonly statusOf: (object: T, now: string) => JsonObject | undefined;
}

function told<T extends ApiObject>(deps: UnattendedDeps, informer: Informer<T>, { type, name, statusOf }: Told<T>): Controller {
  return startController(deps, {
    name,
    sources: [changesOf(informer)],
    reconcile: async (key, signal) => {
      const object = informer.objects.get(key);
      const status = object === undefined ? undefined : statusOf(object, kubernetesTime(deps.clock.now()));
      if (object === undefined || status === undefined) return undefined;
      const { resourceVersion = "" } = object.metadata;
      const body = { metadata: { resourceVersion }, status };
      try {
        informer.remember(await deps.client.patch(type, key, { type: "merge", body }, { subresource: "status", signal }));
      } catch (error) {
        if (!isLostRace(error)) throw error;
      }
      return undefined;
    },
  });
}
