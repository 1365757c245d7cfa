/** What the use cases of Envs are given, and what they are asked. */
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { AdmissionPace } from "../limits/admission-pace.ts";
import type { LimitGuard } from "../limits/limit-guard.ts";

export interface EnvDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "templates" | "poolsOfEnv" | "instanceTypes">;
  /** Members are admitted as they are rendered when left out. */
  readonly plugins?: Pick<PluginChain, "preCreatePool"> | undefined;
  /** No limits when left out. */
  readonly limits?: Pick<LimitGuard, "reserve" | "checkPoolSize"> | undefined;
  /** How often plugins are asked; without end when left out. */
  readonly pace?: Pick<AdmissionPace, "take"> | undefined;
  /** Where Envs are made when the caller names no namespace; the only place for tenants. */
  readonly namespace: string;
  readonly cluster: LocalCluster;
}

/** The cluster that this server acts in. */
export interface LocalCluster {
  readonly engine: "embedded" | "kubernetes";
  /** Undefined: the server was started without one, and writes no members. */
  readonly id?: string | undefined;
}

/** Without a namespace: the only Env of that name among those that the caller sees. */
export interface EnvName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Of one registry. Never answered, never logged. */
export interface PullCredentials {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** An Env as a caller sends it. */
export interface EnvBody extends SandboxEnv {
  /** For this server's cluster, beside what spec.clusters has; names are derived where they are left out. Only for a new Env. */
  readonly members?: readonly MemberWish[];
  /** Null takes the credentials away; left out, they stay as they are. */
  readonly imagePullSecret?: PullCredentials | null;
}

/** A member as a caller sends it. */
export interface MemberWish {
  /** Derived from the Env's name and the size of the pods when left out. */
  readonly name?: string;
  readonly config?: EnvClusterMemberConfig;
  /** Only where no autoscaler sets it. */
  readonly replicas?: number;
}
