/** Which Env a caller means, and whether that caller may change it. */
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { type Caller, mayUse, owns } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import type { EnvDeps, EnvName } from "./env-deps.ts";

type FindDeps = Pick<EnvDeps, "cache">;

export function visibleEnvs({ cache }: FindDeps, caller: Caller, namespace: string | undefined): IteratorObject<SandboxEnv, undefined> {
  return cache.envs.objects.list(namespace).filter((env) => mayUse(caller, env));
}

export function noSuchEnv({ name, namespace }: EnvName): ServiceError {
  const where = namespace === undefined ? "" : ` in namespace ${JSON.stringify(namespace)}`;
  return new ServiceError("not_found", `there is no Env ${JSON.stringify(name)}${where}`);
}

export function findEnv(deps: FindDeps, caller: Caller, wanted: EnvName): SandboxEnv {
  const envs = visibleEnvs(deps, caller, wanted.namespace)
    .filter(({ metadata }) => metadata.name === wanted.name)
    .toArray();
  const [env] = envs;
  if (env === undefined) throw noSuchEnv(wanted);
  if (envs.length === 1) return env;
  const available = envs.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`);
  const message = `there are several Envs ${JSON.stringify(wanted.name)}: add the namespace`;
  throw new ServiceError("conflict", message, { field: "namespace", available });
}

/** Throws `forbidden` for an Env that the caller sees and does not own, and a conflict for one that is being deleted. */
export function checkMayChange(caller: Caller, env: SandboxEnv): void {
  const { name = "", deletionTimestamp } = env.metadata;
  if (!owns(caller, env)) throw new ServiceError("forbidden", `Env ${name} belongs to another owner and cannot be changed with this key`);
  if (deletionTimestamp !== undefined) throw new ServiceError("conflict", `Env ${name} is being deleted`);
}
