/** Templates: a caller sees those that are meant for it; admins make and change them. */
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

const docsSchema = named("TemplateDocs", open({ markdown: text("Markdown.") }, "A document for the users of a template."));

export function templateRoutes({ templates }: TemplateRoutesDeps): readonly Route[] {
  return [...readTemplates(templates), ...writeTemplates(templates)];
}

function readTemplates(templates: TemplateService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/templates",
      name: "listTemplates",
      summary: "The templates that pools can be made from, by name",
      query: templateListQuery,
      answers: [{ status: 200, description: "A page of them.", schema: templatePageSchema }],
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
      summary: "What a template's author wrote for its users",
      description:
        "The annotation agentbox.navix.sh/docs, with {{template}}, {{apiUrl}}, {{team}} and {{user}} filled in for the caller. Empty when there is none.",
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
      summary: "Make a template (admins)",
      body: templateSchema,
      answers: [{ status: 201, description: "It is there.", schema: templateSchema }],
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
      description: "With metadata.resourceVersion only if the template is still that one. Idle pods made from it are replaced.",
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
      description: "Pools made from it keep the pods that they have, and make no new ones.",
      params: templateParams,
      answers: [{ status: 204, description: "It has gone." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params }) => templates.delete(caller(), params.templateName),
    }),
  ];
}
