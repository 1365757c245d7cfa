/**
 * What a refresh would change in a member: its snapshot beside the pool as it would be rendered now. Pure, so that it can be shown before it
 * is done. Replicas stay as they are: a refresh is about what pods are made of, not about how many.
 */
import { isDeepStrictEqual } from "node:util";
import type { EnvClusterMember } from "#model/env-member.ts";
import type { Json } from "#model/meta.ts";
import type { RenderedPool } from "#sandbox/pools/render-pool.ts";

export interface MemberChange {
  /** Path in the member, such as spec.template.spec.containers[0].image. */
  readonly field: string;
  /** Left out: it was not there. */
  readonly from?: Json;
  /** Left out: it is removed. */
  readonly to?: Json;
}

export interface RefreshPlan {
  /** Empty when the member is up to date. */
  readonly changes: readonly MemberChange[];
  /** The member as it would be. */
  readonly member: EnvClusterMember;
}

export function planRefresh(member: EnvClusterMember, rendered: Pick<RenderedPool, "metadata" | "spec">): RefreshPlan {
  const replicas = member.spec?.replicas ?? rendered.spec.replicas;
  const refreshed: EnvClusterMember = { ...member, metadata: rendered.metadata, spec: { ...rendered.spec, replicas } };
  const changes = [
    ...difference(asJson(member.metadata), asJson(refreshed.metadata), "metadata"),
    ...difference(asJson(member.spec), asJson(refreshed.spec), "spec"),
  ];
  return { changes, member: refreshed };
}

/** As deep as both sides have the same shape; lists of different lengths are one change. */
export function difference(from: Json | undefined, to: Json | undefined, field: string): readonly MemberChange[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (isMap(from) && isMap(to)) {
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return keys.flatMap((key) => difference(own(from, key), own(to, key), below(field, key)));
  }
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length) {
    return (to as readonly Json[]).flatMap((item, index) => difference((from as readonly Json[])[index], item, `${field}[${index}]`));
  }
  return [{ field, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
}

function own(map: Readonly<Record<string, Json>>, key: string): Json | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

function below(field: string, key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? `${field}.${key}` : `${field}[${key}]`;
}

function isMap(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Objects of the port are JSON by nature; their types only say more. */
function asJson(value: object | undefined): Json | undefined {
  return value as Json | undefined;
}
