/** Template builds: ask for one, send its files, start it, follow it; and the templates that were built. */
import type { ErrorCode } from "#model/error-codes.ts";
import { uploadUrl } from "#api/http/upload-url.ts";
import { type Route, route } from "#api/native/route.ts";
import {
  buildParams,
  buildsQuery,
  buildsSchema,
  builtTemplatesSchema,
  fileParams,
  logQuery,
  logSchema,
  oneBuildSchema,
  oneTemplateSchema,
  requestBuildSchema,
  type StartBuildBody,
  startBuildSchema,
  templateParams,
  uploadSchema,
} from "#api/native/schemas/builds.ts";
import type { BuildRequest } from "#services/builds/build-records.ts";
import type { TemplateBuilds } from "#services/builds/template-builds.ts";
import { ServiceError } from "#services/service-error.ts";

export interface BuildRoutesDeps {
  /** Left out where templates cannot be built. */
  readonly builds?: TemplateBuilds | undefined;
}

type Builds = () => TemplateBuilds;

const errors: readonly ErrorCode[] = ["not_found", "conflict", "not_implemented"];
const entriesAtOnce = 500;

export function buildRoutes({ builds }: BuildRoutesDeps): readonly Route[] {
  const needed: Builds = () => {
    if (builds !== undefined) return builds;
    throw new ServiceError("not_implemented", "templates are built on one machine (agentbox up), and not on a cluster yet");
  };
  return [request(needed), files(needed), start(needed), ...readRoutes(needed), ...templateRoutes(needed)];
}

function request(builds: Builds): Route {
  return route({
    method: "POST",
    path: "/builds",
    name: "requestBuild",
    summary: "Ask for a build of a template",
    description: "It waits for its files and to be started. A template of the same name gets another build.",
    body: requestBuildSchema,
    answers: [{ status: 201, description: "It waits.", schema: oneBuildSchema }],
    errors: [...errors, "limit_reached"],
    handle: async ({ caller, body }) => {
      const { templateId: template, buildId } = await builds().request(caller(), body);
      return { build: builds().build(caller(), { template, buildId }) };
    },
  });
}

function files(builds: Builds): Route {
  return route({
    method: "GET",
    path: "/builds/{buildId}/files/{hash}",
    name: "getBuildUpload",
    summary: "Where to send the files of a COPY",
    params: fileParams,
    answers: [{ status: 200, description: "The address.", schema: uploadSchema }],
    errors,
    handle: async ({ caller, params, request: asked }) => {
      const { templateId } = builds().build(caller(), { buildId: params.buildId });
      const { present, token } = await builds().uploadLink(caller(), templateId, params.hash);
      return { present, url: uploadUrl(asked, token) };
    },
  });
}

function start(builds: Builds): Route {
  return route({
    method: "POST",
    path: "/builds/{buildId}/start",
    name: "startBuild",
    summary: "Start a build",
    description: "An older build of the same template and tag ends.",
    params: buildParams,
    body: startBuildSchema,
    answers: [{ status: 202, description: "It is under way.", schema: oneBuildSchema }],
    errors: [...errors, "too_large"],
    handle: async ({ caller, params, body }) => {
      await builds().start(caller(), params, requestOf(body));
      return { build: builds().build(caller(), params) };
    },
  });
}

function requestOf({ fromImage, fromTemplate, steps, force = false, startCmd = "", readyCmd = "" }: StartBuildBody): BuildRequest {
  if ((fromImage === undefined) === (fromTemplate === undefined)) {
    throw new ServiceError("invalid_request", "exactly one of fromImage and fromTemplate must be given", { field: "fromImage" });
  }
  const from = fromTemplate === undefined ? { image: fromImage ?? "" } : { template: fromTemplate };
  return { from, steps, force, startCmd, readyCmd };
}

function readRoutes(builds: Builds): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/builds",
      name: "listBuilds",
      summary: "List builds",
      query: buildsQuery,
      answers: [{ status: 200, description: "Own builds.", schema: buildsSchema }],
      errors,
      handle: async ({ caller, query }) => ({ builds: builds().list(caller(), query.template) }),
    }),
    route({
      method: "GET",
      path: "/builds/{buildId}",
      name: "getBuild",
      summary: "Show a build",
      params: buildParams,
      answers: [{ status: 200, description: "The build.", schema: oneBuildSchema }],
      errors,
      handle: async ({ caller, params }) => ({ build: builds().build(caller(), params) }),
    }),
    route({
      method: "GET",
      path: "/builds/{buildId}/logs",
      name: "getBuildLogs",
      summary: "Read the log of a build",
      params: buildParams,
      query: logQuery,
      answers: [{ status: 200, description: "Entries from the offset on.", schema: logSchema }],
      errors,
      handle: async ({ caller, params, query: { offset = 0 } }) => ({
        entries: builds()
          .logs(caller(), params)
          .slice(offset, offset + entriesAtOnce),
      }),
    }),
    route({
      method: "DELETE",
      path: "/builds/{buildId}",
      name: "cancelBuild",
      summary: "End a build that is under way",
      description: "One that is over stays as it is.",
      params: buildParams,
      answers: [{ status: 204, description: "It is over." }],
      errors,
      handle: ({ caller, params }) => builds().cancel(caller(), params),
    }),
  ];
}

function templateRoutes(builds: Builds): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/built-templates",
      name: "listBuiltTemplates",
      summary: "List templates that were built",
      answers: [{ status: 200, description: "Those that the caller may use.", schema: builtTemplatesSchema }],
      errors,
      handle: async ({ caller }) => ({ templates: builds().templates(caller()) }),
    }),
    route({
      method: "GET",
      path: "/built-templates/{name}",
      name: "getBuiltTemplate",
      summary: "Show a template that was built",
      params: templateParams,
      answers: [{ status: 200, description: "The template.", schema: oneTemplateSchema }],
      errors,
      handle: async ({ caller, params }) => {
        const template = builds().template(caller(), params.name);
        if (template !== undefined) return { template };
        throw new ServiceError("not_found", `there is no built template ${JSON.stringify(params.name)}`);
      },
    }),
    route({
      method: "DELETE",
      path: "/built-templates/{name}",
      name: "deleteBuiltTemplate",
      summary: "Delete a template that was built",
      description: "With its builds and its Env. Sandboxes that run go on.",
      params: templateParams,
      answers: [{ status: 204, description: "It is deleted." }],
      errors,
      handle: ({ caller, params }) => builds().delete(caller(), params.name),
    }),
  ];
}
