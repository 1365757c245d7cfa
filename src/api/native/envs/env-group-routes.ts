/** The scaling groups of an Env: their policies, how large they are, and why. */
import type { EnvService } from "#services/envs/env-service.ts";
import type { GroupName } from "#services/envs/write-groups.ts";
import { envParams, groupParams, meantEnv } from "./env-paths.ts";
import { type Route, route } from "#api/native/route.ts";
import { autoscalingSchema, envQuery, groupBodySchema, groupSchema, groupsSchema } from "#api/native/schemas/envs.ts";

const asItIs = { status: 200, description: "The policy as it is now.", schema: groupSchema } as const;

export function envGroupRoutes(envs: EnvService): readonly Route[] {
  return [...readGroups(envs), ...writeGroups(envs)];
}

function readGroups(envs: EnvService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/envs/{envName}/autoscaling",
      name: "getEnvAutoscaling",
      summary: "Show the sizes of an Env's groups, with the reasons",
      description: "Includes the latest decision for each group and the autoscaler's state for each pool.",
      params: envParams,
      query: envQuery,
      answers: [{ status: 200, description: "All groups.", schema: autoscalingSchema }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.autoscaling(caller(), meantEnv(params, query)),
    }),
    route({
      method: "GET",
      path: "/envs/{envName}/groups",
      name: "listEnvGroups",
      summary: "List the scaling policies of an Env's groups",
      params: envParams,
      query: envQuery,
      answers: [{ status: 200, description: "All of them.", schema: groupsSchema }],
      errors: ["not_found", "conflict"],
      handle: async ({ caller, params, query }) => ({ groups: await envs.groups(caller(), meantEnv(params, query)) }),
    }),
    route({
      method: "GET",
      path: "/envs/{envName}/groups/{groupName}",
      name: "getEnvGroup",
      summary: "Show the scaling policy of a group",
      params: groupParams,
      query: envQuery,
      answers: [asItIs],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.group(caller(), meant(params, query)),
    }),
  ];
}

function writeGroups(envs: EnvService): readonly Route[] {
  return [
    route({
      method: "PUT",
      path: "/envs/{envName}/groups/{groupName}",
      name: "putEnvGroup",
      summary: "Set the scaling policy of a group",
      description: "Adds the policy, or replaces it as a whole. At least one member must have the group as its scalingGroup.",
      params: groupParams,
      query: envQuery,
      body: groupBodySchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "too_large"],
      handle: ({ caller, params, query, body }) => envs.putGroup(caller(), meant(params, query), body),
    }),
    route({
      method: "DELETE",
      path: "/envs/{envName}/groups/{groupName}",
      name: "deleteEnvGroup",
      summary: "Remove the scaling policy of a group",
      description: "Afterwards the replicas of the members are set by hand.",
      params: groupParams,
      query: envQuery,
      answers: [{ status: 204, description: "The policy was removed." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.deleteGroup(caller(), meant(params, query)),
    }),
  ];
}

interface GroupPath {
  readonly envName: string;
  readonly groupName: string;
}

function meant(params: GroupPath, query: { readonly namespace?: string | undefined }): GroupName {
  return { env: meantEnv(params, query), group: params.groupName };
}
