import type { ControllerDeps } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { formatKey } from "#kube/controller/key.ts";
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MemberRefusal } from "#pools/admit-member.ts";
import type { ApiObject } from "#model/meta.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";

/** What the keeping of Envs is given. */
export interface EnvDeps extends ControllerDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "pods" | "templates" | "instanceTypes" | "instanceTypeCatalogue" | "poolsOfEnv">;
  /** The entry of spec.clusters and status.clusters that is this cluster's. No other is written. */
  readonly clusterID: string;
  /** All pools are admitted when left out. */
  readonly plugins?: Pick<PluginChain, "preCreatePool" | "preDeletePool"> | undefined;
  /** No request waits when left out. */
  readonly pressure?: Pick<ClaimPressure, "setsAt"> | undefined;
  readonly events: Pick<EventRecorder, "record" | "forget">;
  readonly random: () => number;
  readonly pace?: Partial<EnvPace> | undefined;
}

export interface EnvPace {
  /** An Env to which nothing happens is looked at so often, give or take a fifth: a fleet of Envs must not wake in one moment. */
  readonly againMs: number;
  /** Least time between two writes of one Env's status. */
  readonly statusEveryMs: number;
  /** After a plugin has refused a member and did not say when to ask again. */
  readonly refusedMs: number;
  /** How often the Secret with registry credentials is looked for while there is none. */
  readonly secretEveryMs: number;
  /** The same while a pool cannot have its image. */
  readonly secretInTroubleMs: number;
}

export const defaultEnvPace: EnvPace = {
  againMs: 10_000,
  statusEveryMs: 1_000,
  refusedMs: 30_000,
  secretEveryMs: 5 * 60_000,
  secretInTroubleMs: 15_000,
};

export const againJitter = 0.2;

export interface KeptRefusal {
  readonly refusal: MemberRefusal;
  /** The generation of the Env that was refused: another one is asked about at once. */
  readonly generation: number | undefined;
  readonly untilMs: number;
}

/** What a process knows of one Env beside its objects. All of it may be lost. */
export interface EnvMemory {
  statusAtMs: number | undefined;
  secretLookedAtMs: number | undefined;
  /** By the member's name. */
  readonly refusals: Map<string, KeptRefusal>;
}

export interface EnvTools extends Omit<EnvDeps, "pace"> {
  readonly pace: EnvPace;
  readonly memories: Map<string, EnvMemory>;
}

export function memoryOf({ memories }: Pick<EnvTools, "memories">, key: Key): EnvMemory {
  const text = formatKey(key);
  const memory = memories.get(text) ?? { statusAtMs: undefined, secretLookedAtMs: undefined, refusals: new Map() };
  memories.set(text, memory);
  return memory;
}

export function keyOf({ metadata: { namespace, name = "" } }: ApiObject): Key {
  return { namespace, name };
}
