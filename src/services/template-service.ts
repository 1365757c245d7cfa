/** The use cases of templates: everybody sees those that are meant for him (template-visibility.ts), admins make and change them. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { apiVersionOf } from "#model/resource.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import type { Caller } from "./caller.ts";
import { type NamedPage, pageOf, type PageQuery } from "./named-page.ts";
import { ServiceError } from "./service-error.ts";
import { asServiceError } from "./service-failure.ts";
import { maySee } from "./template-visibility.ts";

export interface TemplateService {
  list(caller: Caller, query: PageQuery): Promise<NamedPage<SandboxTemplate>>;
  get(caller: Caller, name: string): Promise<SandboxTemplate>;
  create(caller: Caller, body: SandboxTemplate): Promise<SandboxTemplate>;
  /** With a resourceVersion in the body: only if the template is still that one. */
  replace(caller: Caller, name: string, body: SandboxTemplate): Promise<SandboxTemplate>;
  delete(caller: Caller, name: string): Promise<void>;
}

export interface TemplateDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "templates">;
}

const strict = { fieldValidation: "Strict" } as const;

export function templateService(deps: TemplateDeps): TemplateService {
  const { cache } = deps;
  return {
    list: async (caller, query) =>
      pageOf(
        cache.templates.objects.list().filter((template) => maySee(caller, template)),
        query,
      ),
    get: async (caller, name) => {
      const template = cache.templates.objects.get({ name });
      if (template === undefined || !maySee(caller, template)) throw noSuchTemplate(name);
      return template;
    },
    create: (caller, body) => create(deps, caller, body),
    replace: (caller, name, body) => replace(deps, caller, name, body),
    delete: (caller, name) => remove(deps, caller, name),
  };
}

function noSuchTemplate(name: string, cause?: unknown): ServiceError {
  return new ServiceError("not_found", `there is no template ${JSON.stringify(name)}`, { cause });
}

/** Asked before anything else, so that a tenant learns nothing of templates that he does not see (I8). */
function checkAdmin({ role }: Caller): void {
  if (role !== "admin") throw new ServiceError("forbidden", "templates are an admin's to change");
}

async function create(deps: TemplateDeps, caller: Caller, body: SandboxTemplate): Promise<SandboxTemplate> {
  checkAdmin(caller);
  const { name } = body.metadata;
  if (name === undefined || name === "") throw wrong("metadata.name", "is needed");
  try {
    return remembered(deps, await deps.client.create(SandboxTemplates, storedTemplate(body, {}), strict));
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw asServiceError(error);
    throw new ServiceError("conflict", `there is a template ${JSON.stringify(name)} already`, { field: "metadata.name", cause: error });
  }
}

async function replace(deps: TemplateDeps, caller: Caller, name: string, body: SandboxTemplate): Promise<SandboxTemplate> {
  checkAdmin(caller);
  if (body.metadata.name !== undefined && body.metadata.name !== name) throw wrong("metadata.name", `must be ${name}`);
  try {
    const present = await deps.client.get(SandboxTemplates, { name });
    const { resourceVersion = present.metadata.resourceVersion } = body.metadata;
    const metadata = { ...present.metadata, ...withoutUndefined({ resourceVersion }) };
    return remembered(deps, await deps.client.update(SandboxTemplates, storedTemplate(body, metadata), strict));
  } catch (error) {
    throw isApiError(error, "NotFound") ? noSuchTemplate(name, error) : asServiceError(error);
  }
}

async function remove(deps: TemplateDeps, caller: Caller, name: string): Promise<void> {
  checkAdmin(caller);
  try {
    await deps.client.delete(SandboxTemplates, { name });
  } catch (error) {
    throw isApiError(error, "NotFound") ? noSuchTemplate(name, error) : asServiceError(error);
  }
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
