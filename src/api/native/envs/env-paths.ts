/** Path parameters of the routes of Envs. */
import { Type } from "typebox";
import { text } from "#model/schema-builders.ts";
import type { EnvName } from "#services/envs/env-deps.ts";

const envName = text("The name of an Env.");

export const envParams = Type.Object({ envName });
export const memberParams = Type.Object({ envName, memberName: text("The name of one of its members.") });
export const groupParams = Type.Object({ envName, groupName: text("The name of one of its scaling groups.") });

export function meantEnv(params: { readonly envName: string }, { namespace }: { readonly namespace?: string | undefined }): EnvName {
  return { name: params.envName, namespace };
}
