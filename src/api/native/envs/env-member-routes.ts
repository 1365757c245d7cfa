/** The members of an Env: see, add, change, scale and remove them. */
import type { EnvService } from "#services/envs/env-service.ts";
import type { MemberName } from "#services/envs/write-members.ts";
import { noteSubject } from "#api/http/observe-requests.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { envParams, meantEnv, memberParams } from "./env-paths.ts";
import { type Route, route } from "#api/native/route.ts";
import { envMemberSchema, envMembersSchema, envQuery, memberWishSchema } from "#api/native/schemas/envs.ts";
import { scaleSchema } from "#api/native/schemas/objects.ts";

const asItIs = { status: 200, description: "The member as it is now.", schema: envMemberSchema } as const;

export function envMemberRoutes(envs: EnvService): readonly Route[] {
  return [...readMembers(envs), addMember(envs), ...changeMembers(envs)];
}

function readMembers(envs: EnvService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/envs/{envName}/members",
      name: "listEnvMembers",
      summary: "List the members of an Env with their last known state",
      params: envParams,
      query: envQuery,
      answers: [{ status: 200, description: "All of them.", schema: envMembersSchema }],
      errors: ["not_found", "conflict"],
      handle: async ({ caller, params, query }) => ({ members: await envs.members(caller(), meantEnv(params, query)) }),
    }),
    route({
      method: "GET",
      path: "/envs/{envName}/members/{memberName}",
      name: "getEnvMember",
      summary: "Show a member of an Env",
      params: memberParams,
      query: envQuery,
      answers: [asItIs],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.member(caller(), meant(params, query)),
    }),
  ];
}

function addMember(envs: EnvService): Route {
  return route({
    method: "POST",
    path: "/envs/{envName}/members",
    name: "addEnvMember",
    summary: "Add a member to an Env, in this server's cluster",
    description: "Plugins are called before the member is added; their answer is stored with the member.",
    params: envParams,
    query: envQuery,
    body: memberWishSchema,
    answers: [{ status: 201, description: "The member was added; its pool is being created.", schema: envMemberSchema }],
    errors: ["not_found", "conflict", "too_large", "limit_reached"],
    handle: async ({ caller, params, query, body, request, reply }) => {
      const member = await envs.addMember(caller(), meantEnv(params, query), body, requestSignal(reply));
      noteSubject(request, { memberName: member.name });
      reply.header("location", `/v1/envs/${params.envName}/members/${member.name}`);
      return member;
    },
  });
}

function changeMembers(envs: EnvService): readonly Route[] {
  return [
    route({
      method: "PUT",
      path: "/envs/{envName}/members/{memberName}",
      name: "replaceEnvMember",
      summary: "Replace the config of a member",
      description: "Replaces the whole config: fields that are left out are removed. Replicas that are left out do not change.",
      params: memberParams,
      query: envQuery,
      body: memberWishSchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "too_large", "limit_reached"],
      handle: ({ caller, params, query, body, reply }) => envs.updateMember(caller(), meant(params, query), body, requestSignal(reply)),
    }),
    route({
      method: "PUT",
      path: "/envs/{envName}/members/{memberName}/scale",
      name: "scaleEnvMember",
      summary: "Change how many pods a member has",
      description: "Fails with conflict if an autoscaler sets the number: change the bounds of the group, or disable its autoscaling.",
      params: memberParams,
      query: envQuery,
      body: scaleSchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "limit_reached"],
      handle: ({ caller, params, query, body }) => envs.scaleMember(caller(), meant(params, query), body.replicas),
    }),
    route({
      method: "DELETE",
      path: "/envs/{envName}/members/{memberName}",
      name: "removeEnvMember",
      summary: "Remove a member from an Env",
      description: "The pool is deleted when its running sandboxes have ended.",
      params: memberParams,
      query: envQuery,
      answers: [{ status: 202, description: "The member was removed; its pool will be deleted." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.removeMember(caller(), meant(params, query)),
    }),
  ];
}

interface MemberPath {
  readonly envName: string;
  readonly memberName: string;
}

function meant(params: MemberPath, query: { readonly namespace?: string | undefined }): MemberName {
  return { env: meantEnv(params, query), member: params.memberName };
}
