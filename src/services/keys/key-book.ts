/** The keys that have not been revoked, from the cache, and which key made which: a key is good only as long as the one that made it is. */
import type { Informer } from "#kube/informer/informer.ts";
import type { Secret } from "#model/core-kinds.ts";
import { isKeyId } from "./api-key.ts";
import { keySecretName, makerOf, storedKey, type StoredKey } from "./key-secret.ts";

export type KeySecrets = Pick<Informer<Secret>, "get" | "remember" | "objects" | "onChange">;

export interface KnownKey {
  readonly secret: Secret;
  readonly key: StoredKey;
}

export class KeyBook {
  readonly #secrets: KeySecrets;
  readonly #namespace: string;
  /** What was revoked here is over at once, however late the watch tells the cache. */
  readonly #revoked = new Set<string>();

  constructor({ secrets, namespace }: { readonly secrets: KeySecrets; readonly namespace: string }) {
    this.#secrets = secrets;
    this.#namespace = namespace;
  }

  find(id: string): KnownKey | undefined {
    return isKeyId(id) ? this.#good(this.#secrets.get({ namespace: this.#namespace, name: keySecretName(id) })) : undefined;
  }

  *all(): Generator<KnownKey> {
    for (const secret of this.#secrets.objects.list(this.#namespace)) {
      const known = this.#good(secret);
      if (known !== undefined) yield known;
    }
  }

  /** The key that made it, the one that made that, and so on. */
  chain({ secret }: KnownKey): readonly Secret[] {
    return this.#chain(secret) ?? [];
  }

  /** The keys that it made, those that these made, and so on. */
  madeBy(maker: KnownKey): readonly KnownKey[] {
    const { uid } = maker.secret.metadata;
    return this.all()
      .filter((known) => this.chain(known).some(({ metadata }) => metadata.uid === uid))
      .toArray();
  }

  revoked(id: string): void {
    this.#revoked.add(id);
  }

  #good(secret: Secret | undefined): KnownKey | undefined {
    const key = secret && storedKey(secret);
    if (secret === undefined || key === undefined || this.#revoked.has(key.id)) return undefined;
    return this.#chain(secret) === undefined ? undefined : { secret, key };
  }

  /** Undefined when one of them is gone. */
  #chain(secret: Secret): readonly Secret[] | undefined {
    const chain: Secret[] = [];
    for (let maker = makerOf(secret); maker !== undefined; maker = makerOf(chain.at(-1) ?? secret)) {
      const found = this.#secrets.get({ namespace: this.#namespace, name: maker.name });
      const key = found && storedKey(found);
      // A Secret that was made to own itself by hand has no end of its chain.
      if (key === undefined || found?.metadata.uid !== maker.uid || this.#revoked.has(key.id) || chain.includes(found)) return undefined;
      chain.push(found);
    }
    return chain;
  }
}
