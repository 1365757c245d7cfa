/** The records of built templates and builds: read from the cache, and written one at a time, each on the condition that it is still the one that was read. */
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { Informer } from "#kube/informer/informer.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { type Caller, mayUse, owns } from "#services/caller.ts";
import {
  buildIn,
  buildSecret,
  buildSecretName,
  type StoredBuild,
  type StoredTemplate,
  templateIn,
  templateSecret,
  templateSecretName,
} from "./build-records.ts";

export interface BuildBookDeps {
  readonly client: ObjectClient;
  readonly secrets: Pick<Informer<Secret>, "get" | "remember" | "objects">;
  /** The system namespace. */
  readonly namespace: string;
}

const maxTries = 8;

export class BuildBook {
  readonly #deps: BuildBookDeps;
  /** Deleted here; the watch may tell the cache later. */
  readonly #gone = new Set<string>();

  constructor(deps: BuildBookDeps) {
    this.#deps = deps;
  }

  *templates(): Generator<StoredTemplate> {
    for (const secret of this.#all()) {
      const template = templateIn(secret);
      if (template !== undefined) yield template;
    }
  }

  *builds(templateId?: string): Generator<StoredBuild> {
    for (const secret of this.#all()) {
      const build = buildIn(secret);
      if (build !== undefined && (templateId === undefined || build.templateId === templateId)) yield build;
    }
  }

  template(templateId: string): StoredTemplate | undefined {
    const secret = this.#get(templateSecretName(templateId));
    return secret && templateIn(secret);
  }

  build(buildId: string): StoredBuild | undefined {
    const secret = this.#get(buildSecretName(buildId));
    return secret && buildIn(secret);
  }

  /** Own ones, for callers that want to change something. */
  isOwn(caller: Caller, record: StoredTemplate | StoredBuild): boolean {
    return owns(caller, asObject(record));
  }

  /** Own ones and those of no team, for callers that create sandboxes. */
  isUsable(caller: Caller, record: StoredTemplate): boolean {
    return mayUse(caller, asObject(record));
  }

  async addTemplate(template: StoredTemplate): Promise<void> {
    await this.#create(templateSecret(this.#deps.namespace, template));
  }

  async addBuild(build: StoredBuild): Promise<void> {
    await this.#create(buildSecret(this.#deps.namespace, build));
  }

  /** Undefined: it is gone, or `change` wants nothing written. */
  changeTemplate(
    templateId: string,
    change: (template: StoredTemplate) => StoredTemplate | undefined,
  ): Promise<StoredTemplate | undefined> {
    return this.#change(templateSecretName(templateId), templateIn, { change, write: templateSecret });
  }

  changeBuild(buildId: string, change: (build: StoredBuild) => StoredBuild | undefined): Promise<StoredBuild | undefined> {
    return this.#change(buildSecretName(buildId), buildIn, { change, write: buildSecret });
  }

  removeTemplate(templateId: string): Promise<void> {
    return this.#remove(templateSecretName(templateId));
  }

  removeBuild(buildId: string): Promise<void> {
    return this.#remove(buildSecretName(buildId));
  }

  *#all(): Generator<Secret> {
    for (const secret of this.#deps.secrets.objects.list(this.#deps.namespace)) {
      if (!this.#gone.has(secret.metadata.name ?? "")) yield secret;
    }
  }

  #get(name: string): Secret | undefined {
    return this.#gone.has(name) ? undefined : this.#deps.secrets.get({ namespace: this.#deps.namespace, name });
  }

  async #create(secret: Secret): Promise<void> {
    this.#deps.secrets.remember(await this.#deps.client.create(Secrets, secret));
  }

  async #change<T>(
    name: string,
    read: (secret: Secret) => T | undefined,
    { change, write }: { readonly change: (record: T) => T | undefined; readonly write: (namespace: string, record: T) => Secret },
  ): Promise<T | undefined> {
    const { client, secrets, namespace } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const present = await this.#read(name);
      const record = present && read(present);
      const next = record === undefined ? undefined : change(record);
      if (present === undefined || next === undefined) return undefined;
      try {
        const { data } = write(namespace, next);
        secrets.remember(await client.update(Secrets, { ...present, ...(data !== undefined && { data }) }));
        return next;
      } catch (error) {
        if (!isLostRace(error) || attempt === maxTries) throw error;
      }
    }
  }

  async #read(name: string): Promise<Secret | undefined> {
    try {
      return await this.#deps.client.get(Secrets, { namespace: this.#deps.namespace, name });
    } catch (error) {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async #remove(name: string): Promise<void> {
    const { secrets, namespace } = this.#deps;
    for (const known of this.#gone) if (secrets.get({ namespace, name: known }) === undefined) this.#gone.delete(known);
    this.#gone.add(name);
    try {
      await this.#deps.client.delete(Secrets, { namespace: this.#deps.namespace, name });
    } catch (error) {
      if (!isApiError(error, "NotFound")) {
        this.#gone.delete(name);
        throw error;
      }
    }
  }
}

function asObject({ owner: { team, user } }: StoredTemplate | StoredBuild) {
  const labels = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== undefined && { [labelKeys.user]: user }) };
  return { metadata: { labels } };
}
