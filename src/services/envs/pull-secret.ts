/** The Secret with an Env's registry credentials. It belongs to the Env and goes with it. Its content is never answered and never logged. */
import { ifFound, isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import { envImagePullSecretName, envOwnerKind } from "#model/keys.ts";
import { apiVersionOf } from "#model/resource.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { ServiceError } from "../service-error.ts";
import { asServiceError } from "../service-failure.ts";
import type { EnvDeps, PullCredentials } from "./env-deps.ts";

const maxTries = 8;

/** Null takes the Secret away; undefined leaves it as it is. */
export async function writePullSecret(
  { client }: Pick<EnvDeps, "client">,
  env: SandboxEnv,
  credentials: PullCredentials | null | undefined,
): Promise<void> {
  if (credentials === undefined) return;
  const key = { namespace: env.metadata.namespace, name: envImagePullSecretName(env.metadata.name ?? "") };
  try {
    if (credentials === null) await removed(client, key, env);
    else await stored(client, pullSecretFor(env, credentials), env);
  } catch (error) {
    throw asServiceError(error);
  }
}

export function checkCredentials(credentials: PullCredentials | null | undefined): void {
  if (credentials === undefined || credentials === null) return;
  for (const name of ["registry", "username", "password"] as const) {
    const field = `imagePullSecret.${name}`;
    if (credentials[name] === "") throw new ServiceError("invalid_request", `${field} must not be empty`, { field });
  }
  if (!/[\s/]/.test(credentials.registry)) return;
  const field = "imagePullSecret.registry";
  throw new ServiceError("invalid_request", `${field} must be the host of a registry, such as registry.example.com`, { field });
}

function pullSecretFor(env: SandboxEnv, { registry, username, password }: PullCredentials): Secret {
  const { namespace, name = "", uid = "" } = env.metadata;
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  const config = JSON.stringify({ auths: { [registry]: { username, password, auth } } });
  const owner = { apiVersion: apiVersionOf(SandboxEnvs), kind: envOwnerKind, name, uid, controller: true };
  return {
    metadata: {
      name: envImagePullSecretName(name),
      ...(namespace !== undefined && { namespace }),
      ownerReferences: [owner],
    },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
  };
}

/** Creates the Secret, or replaces the data of the Env's own. A Secret of the same name that is not the Env's is left alone. */
async function stored(client: EnvDeps["client"], secret: Secret, env: SandboxEnv): Promise<void> {
  const { namespace, name = "" } = secret.metadata;
  for (let attempt = 1; ; attempt++) {
    try {
      const present = await ifFound(client.get(Secrets, { namespace, name }));
      if (present === undefined) await client.create(Secrets, secret);
      else {
        checkOwned(present, env);
        await client.update(Secrets, { ...secret, metadata: present.metadata });
      }
      return;
    } catch (error) {
      if (attempt === maxTries || !(isLostRace(error) || isApiError(error, "AlreadyExists"))) throw error;
    }
  }
}

async function removed(client: EnvDeps["client"], key: Key, env: SandboxEnv): Promise<void> {
  const present = await ifFound(client.get(Secrets, key));
  if (present === undefined) return;
  checkOwned(present, env);
  try {
    await client.delete(Secrets, key, { preconditions: { uid: present.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

interface Key {
  readonly namespace: string | undefined;
  readonly name: string;
}

function checkOwned({ metadata }: Secret, env: SandboxEnv): void {
  if (metadata.ownerReferences?.some(({ uid }) => uid === env.metadata.uid) === true) return;
  const message = `there is a Secret ${metadata.name ?? ""} that does not belong to Env ${env.metadata.name ?? ""}: rename or delete it`;
  throw new ServiceError("conflict", message);
}
