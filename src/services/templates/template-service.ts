/** The use cases of templates: callers see the templates visible to them (template-visibility.ts), admins create and change them. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { poolsByTemplateName } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { apiVersionOf } from "#model/resource.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";
import { checkRuntimes } from "./check-runtimes.ts";
import type { CheckPodTemplate } from "./check-pod-template.ts";
import { checkLocal, checkNotGlobal } from "./global-objects.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { type NamedPage, pageOf, type PageQuery } from "#services/reading/named-page.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";
import { type DocsReader, docsFor } from "./template-docs.ts";
import { maySee } from "./template-visibility.ts";

export interface TemplateService {
  list(caller: Caller, query: PageQuery): Promise<NamedPage<SandboxTemplate>>;
  get(caller: Caller, name: string): Promise<SandboxTemplate>;
  /** What its author wrote for its users, filled in for this reader; empty when that is nothing. */
  docs(reader: DocsReader, name: string): Promise<string>;
  create(caller: Caller, body: SandboxTemplate): Promise<SandboxTemplate>;
  /** With a resourceVersion in the body: only if the template is still that one. */
  replace(caller: Caller, name: string, body: SandboxTemplate): Promise<SandboxTemplate>;
  delete(caller: Caller, name: string): Promise<void>;
}

export interface TemplateDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "templates" | "pools">;
  /** No limits when left out. */
  readonly limits?: Pick<LimitGuard, "reserve"> | undefined;
  readonly checkPodTemplate?: CheckPodTemplate | undefined;
}

const maxNames = 5;
const strict = { fieldValidation: "Strict" } as const;

export function templateService(deps: TemplateDeps): TemplateService {
  const { cache } = deps;
  return {
    list: async (caller, query) =>
      pageOf(
        cache.templates.objects.list().filter((template) => maySee(caller, template)),
        query,
      ),
    get: async (caller, name) => seenTemplate(deps, caller, name),
    docs: async (reader, name) => docsFor(seenTemplate(deps, reader.caller, name), reader) ?? "",
    create: (caller, body) => create(deps, caller, body),
    replace: (caller, name, body) => replace(deps, caller, name, body),
    delete: (caller, name) => remove(deps, caller, name),
  };
}

function seenTemplate({ cache }: TemplateDeps, caller: Caller, name: string): SandboxTemplate {
  const template = cache.templates.objects.get({ name });
  if (template === undefined || !maySee(caller, template)) throw noSuchTemplate(name);
  return template;
}

function noSuchTemplate(name: string, cause?: unknown): ServiceError {
  return new ServiceError("not_found", `there is no template ${JSON.stringify(name)}`, { cause });
}

/** Checked first, so that a tenant learns nothing about templates it cannot see (I8). */
function checkAdmin({ role }: Caller): void {
  if (role !== "admin") throw new ServiceError("forbidden", "only an admin key can change templates");
}

async function create(deps: TemplateDeps, caller: Caller, body: SandboxTemplate): Promise<SandboxTemplate> {
  checkAdmin(caller);
  const { name } = body.metadata;
  if (name === undefined || name === "") throw wrong("metadata.name", "is needed");
  checkNotGlobal(body);
  using _ = deps.limits?.reserve("", { templates: 1 });
  try {
    const template = storedTemplate(body, {});
    checkRuntimes(template);
    deps.checkPodTemplate?.(SandboxTemplates, template);
    return remembered(deps, await deps.client.create(SandboxTemplates, template, strict));
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw asServiceError(error);
    throw new ServiceError("conflict", `there is a template ${JSON.stringify(name)} already`, { field: "metadata.name", cause: error });
  }
}

async function replace(deps: TemplateDeps, caller: Caller, name: string, body: SandboxTemplate): Promise<SandboxTemplate> {
  checkAdmin(caller);
  if (body.metadata.name !== undefined && body.metadata.name !== name) throw wrong("metadata.name", `must be ${name}`);
  try {
    const present = await localTemplate(deps, name);
    checkNotGlobal(body);
    const { resourceVersion = present.metadata.resourceVersion } = body.metadata;
    const metadata = { ...present.metadata, ...withoutUndefined({ resourceVersion }) };
    const template = storedTemplate(body, metadata);
    checkRuntimes(template);
    deps.checkPodTemplate?.(SandboxTemplates, template, present);
    return remembered(deps, await deps.client.update(SandboxTemplates, template, strict));
  } catch (error) {
    throw isApiError(error, "NotFound") ? noSuchTemplate(name, error) : asServiceError(error);
  }
}

async function remove(deps: TemplateDeps, caller: Caller, name: string): Promise<void> {
  checkAdmin(caller);
  checkUnused(deps, name);
  try {
    const { metadata } = await localTemplate(deps, name);
    await deps.client.delete(SandboxTemplates, { name }, { preconditions: { uid: metadata.uid } });
  } catch (error) {
    throw isApiError(error, "NotFound") ? noSuchTemplate(name, error) : asServiceError(error);
  }
}

async function localTemplate({ client }: TemplateDeps, name: string): Promise<SandboxTemplate> {
  const template = await client.get(SandboxTemplates, { name });
  checkLocal(template, `template ${JSON.stringify(name)}`);
  return template;
}

/** Its pools could make no pods any more. What gets past this, the template's finalizer holds. */
function checkUnused({ cache }: TemplateDeps, name: string): void {
  const pools = cache.pools.objects.lookup(poolsByTemplateName, name).toArray();
  if (pools.length === 0) return;
  const names = pools.slice(0, maxNames).map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`);
  const more = pools.length > maxNames ? ` and ${pools.length - maxNames} more` : "";
  const message = `template ${JSON.stringify(name)} is in use by ${names.join(", ")}${more}: first delete these pools, or change their template`;
  throw new ServiceError("conflict", message);
}

function storedTemplate({ apiVersion, kind, metadata, spec }: SandboxTemplate, base: ObjectMeta): SandboxTemplate {
  const known = { apiVersion: apiVersionOf(SandboxTemplates), kind: SandboxTemplates.kind };
  if (apiVersion !== undefined && apiVersion !== known.apiVersion) throw wrong("apiVersion", `must be ${known.apiVersion}, or left out`);
  if (kind !== undefined && kind !== known.kind) throw wrong("kind", `must be ${known.kind}, or left out`);
  const { name, labels = {}, annotations = {} } = metadata;
  return { metadata: { ...base, ...withoutUndefined({ name: base.name ?? name }), labels, annotations }, spec };
}

function wrong(field: string, rule: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${rule}`, { field });
}

function remembered({ cache }: TemplateDeps, template: SandboxTemplate): SandboxTemplate {
  cache.templates.remember(template);
  return template;
}
