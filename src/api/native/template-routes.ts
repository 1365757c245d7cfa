/** Templates: a caller sees those that are visible to it; admins create and change them. */
import { Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { text } from "#model/schema-builders.ts";
import type { TemplateService } from "#services/templates/template-service.ts";
import { noteSubject } from "../http/observe-requests.ts";
import { type Route, route } from "./route.ts";
import { named, open } from "./schemas/builders.ts";
import { templateListQuery, templatePageSchema, templateSchema } from "./schemas/objects.ts";

export interface TemplateRoutesDeps {
  readonly templates: TemplateService;
}

const templateParams = Type.Object({ templateName: text("The name of a template.") });

const docsSchema = named("TemplateDocs", open({ markdown: text("Markdown.") }, "Documentation for the users of a template."));

export function templateRoutes({ templates }: TemplateRoutesDeps): readonly Route[] {
  return [...readTemplates(templates), ...writeTemplates(templates)];
}

function readTemplates(templates: TemplateService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/templates",
      name: "listTemplates",
      summary: "List the templates, sorted by name",
      query: templateListQuery,
      answers: [{ status: 200, description: "One page of the list.", schema: templatePageSchema }],
      errors: [],
      handle: async ({ caller, query }) => {
        const { items, next } = await templates.list(caller(), query);
        return { templates: items, ...withoutUndefined({ next }) };
      },
    }),
    route({
      method: "GET",
      path: "/templates/{templateName}",
      name: "getTemplate",
      summary: "A template",
      params: templateParams,
      answers: [{ status: 200, description: "The template.", schema: templateSchema }],
      errors: ["not_found"],
      handle: ({ caller, params }) => templates.get(caller(), params.templateName),
    }),
    route({
      method: "GET",
      path: "/templates/{templateName}/docs",
      name: "getTemplateDocs",
      summary: "Show the documentation of a template",
      description:
        "The annotation agentbox.navix.sh/docs, with {{template}}, {{apiUrl}}, {{team}} and {{user}} replaced by the caller's values. Empty without the annotation.",
      params: templateParams,
      answers: [{ status: 200, description: "The document.", schema: docsSchema }],
      errors: ["not_found"],
      handle: async ({ caller, params, request }) => {
        const reader = { caller: caller(), apiUrl: `${request.protocol}://${request.host}` };
        return { markdown: await templates.docs(reader, params.templateName) };
      },
    }),
  ];
}

function writeTemplates(templates: TemplateService): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/templates",
      name: "createTemplate",
      summary: "Create a template (admins)",
      body: templateSchema,
      answers: [{ status: 201, description: "The template exists.", schema: templateSchema }],
      errors: ["conflict", "too_large", "limit_reached"],
      handle: async ({ caller, body, request, reply }) => {
        const template = await templates.create(caller(), body);
        const { name = "" } = template.metadata;
        noteSubject(request, { templateName: name });
        reply.header("location", `/v1/templates/${name}`);
        return template;
      },
    }),
    route({
      method: "PUT",
      path: "/templates/{templateName}",
      name: "replaceTemplate",
      summary: "Replace a template (admins)",
      description:
        "With metadata.resourceVersion, the template is replaced only if it still has this version. Idle pods made from the template are replaced.",
      params: templateParams,
      body: templateSchema,
      answers: [{ status: 200, description: "The template as it is now.", schema: templateSchema }],
      errors: ["not_found", "conflict", "too_large"],
      handle: ({ caller, params, body }) => templates.replace(caller(), params.templateName, body),
    }),
    route({
      method: "DELETE",
      path: "/templates/{templateName}",
      name: "deleteTemplate",
      summary: "Delete a template (admins)",
      description: "Pools of the template keep their pods and create no new ones.",
      params: templateParams,
      answers: [{ status: 204, description: "It has gone." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params }) => templates.delete(caller(), params.templateName),
    }),
  ];
}
