/**
 * What registries are shown when a pod's images are looked up: the same secrets that its kubelet shows them. Secrets are kept for a
 * while, in memory only; nothing of what is in one is ever written or told.
 */
import { Keyring, type PullSecret } from "#images/registry/pull-secret.ts";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { ServiceAccounts } from "#model/cluster-kinds.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import type { ImagePuller } from "./pool-images.ts";

export interface PullSecretsDeps {
  readonly client: Pick<ObjectClient, "get">;
  readonly clock: Clock;
  readonly log: Logger;
  /** False: there are no service accounts, as on one machine. */
  readonly hasAccounts?: boolean;
}

interface Kept<T> {
  readonly value: Promise<T>;
  readonly until: number;
}

/** Short, so that a corrected secret is used soon. */
const keptMs = 60_000;
const maxKept = 1000;
const usualAccount = "default";

export class PullSecrets {
  readonly #deps: PullSecretsDeps;
  readonly #secrets = new Map<string, Kept<PullSecret | undefined>>();
  readonly #accounts = new Map<string, Kept<readonly string[]>>();

  constructor(deps: PullSecretsDeps) {
    this.#deps = deps;
  }

  /** In the order in which they are tried. `fresh`: what was known did not do. */
  async of(puller: ImagePuller, fresh = false): Promise<readonly PullSecret[]> {
    const { namespace, imagePullSecrets = [], serviceAccountName = usualAccount } = puller;
    const own = imagePullSecrets.flatMap(({ name }) => name ?? []);
    // The server gives a pod its account's secrets only if it has none of its own.
    const isEnough = own.length > 0 || this.#deps.hasAccounts === false;
    const names = isEnough ? own : await this.#ofAccount(namespace, serviceAccountName, fresh);
    const secrets = await Promise.all(names.map((name) => this.#secret(namespace, name, fresh)));
    return secrets.filter((secret) => secret !== undefined);
  }

  #ofAccount(namespace: string, name: string, fresh: boolean): Promise<readonly string[]> {
    return this.#keep(this.#accounts, `${namespace}/${name}`, fresh, async () => {
      const account = await this.#there(() => this.#deps.client.get(ServiceAccounts, { namespace, name }), {
        kind: "ServiceAccount",
        namespace,
        name,
      });
      return (account?.imagePullSecrets ?? []).flatMap((secret) => (secret.name === undefined ? [] : [secret.name]));
    });
  }

  #secret(namespace: string, name: string, fresh: boolean): Promise<PullSecret | undefined> {
    return this.#keep(this.#secrets, `${namespace}/${name}`, fresh, async () => {
      const secret = await this.#there(() => this.#deps.client.get(Secrets, { namespace, name }), { kind: "Secret", namespace, name });
      const content = secret === undefined ? undefined : pullSecretOf(secret);
      if (secret !== undefined && content === undefined) this.#deps.log.warn({ kind: "Secret", namespace, name }, "pull secret is not one");
      return content;
    });
  }

  /** Kubelets pull without what is not there or may not be read, and so do we: the image may not need it. */
  async #there<T>(get: () => Promise<T>, what: Readonly<Record<string, string>>): Promise<T | undefined> {
    try {
      return await get();
    } catch (error) {
      if (!isApiError(error, "NotFound", "Forbidden")) throw error;
      this.#deps.log.warn({ ...what, reason: error.reason }, "pull secret cannot be read");
      return undefined;
    }
  }

  #keep<T>(kept: Map<string, Kept<T>>, key: string, fresh: boolean, read: () => Promise<T>): Promise<T> {
    const now = this.#deps.clock.now();
    const known = kept.get(key);
    if (known !== undefined && known.until > now && !fresh) return known.value;
    const made = { value: read(), until: now + keptMs };
    made.value.catch(() => {
      if (kept.get(key) === made) kept.delete(key);
    });
    kept.delete(key);
    kept.set(key, made);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept) break;
      kept.delete(oldest);
    }
    return made.value;
  }
}

/** Undefined for what is no secret for registries, or cannot be understood. The older form is the inner part of the newer one. */
function pullSecretOf({ type, data = {} }: Secret): PullSecret | undefined {
  const decoded = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8");
  try {
    const text = textOf(type, decoded);
    if (text === undefined) return undefined;
    // Errors further on would quote a secret that cannot be understood, so it is left out here.
    const _ = new Keyring([text]);
    return text;
  } catch {
    return undefined;
  }
}

function textOf(type: string | undefined, decoded: (key: string) => string): string | undefined {
  if (type === "kubernetes.io/dockerconfigjson") return decoded(".dockerconfigjson");
  return type === "kubernetes.io/dockercfg" ? JSON.stringify({ auths: JSON.parse(decoded(".dockercfg")) as unknown }) : undefined;
}
