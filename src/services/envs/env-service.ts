/**
 * The use cases of Envs, as every API sees them; each throws ServiceError. The owner of an Env may change it. An Env without an owner is for
 * every caller to use and for admins to change, and another tenant's Env answers as if it did not exist (I8).
 *
 * - `env-deps.ts`       inputs and dependencies            - `find-env.ts`      finds the Env and checks rights
 * - `stored-env.ts`     what of a body is stored             - `member-name.ts`   names for members without one
 * - `prepare-env.ts`    checks, and snapshots of members     - `env-limits.ts`    limits of teams
 * - `write-env.ts`      create, replace, delete; conditional writes
 * - `write-members.ts`  one member                           - `write-groups.ts`  the policy of one group
 * - `env-parts.ts`      members and groups inside an Env     - `pull-secret.ts`   registry credentials
 * - `refresh-env.ts`    members to the template's version    - `admit-snapshot.ts`  the snapshot of one member
 * - `env-views.ts`      members, autoscaling and events as shown
 */
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { Caller } from "#services/caller.ts";
import { type NamedPage, pageOf, type PageQuery } from "#services/reading/named-page.ts";
import type { EnvBody, EnvDeps, EnvName, MemberWish, LocalCluster } from "./env-deps.ts";
import { groupsOf } from "./env-parts.ts";
import { type EnvEvent, envEvents, autoscalingView, type EnvAutoscaling, type EnvMember, memberViews } from "./env-views.ts";
import { findEnv, visibleEnvs } from "./find-env.ts";
import { type EnvRefresh, type RefreshEnv, refreshEnv } from "./refresh-env.ts";
import { createEnv, deleteEnv, replaceEnv } from "./write-env.ts";
import { deleteGroup, findGroup, type GroupBody, type GroupName, putGroup } from "./write-groups.ts";
import { addMember, type MemberName, type MemberWritten, noSuchMember, removeMember, scaleMember, updateMember } from "./write-members.ts";

export interface EnvService {
  list(caller: Caller, query: PageQuery & { readonly namespace?: string }): Promise<NamedPage<SandboxEnv>>;
  get(caller: Caller, env: EnvName): Promise<SandboxEnv>;
  create(caller: Caller, body: EnvBody, signal: AbortSignal): Promise<SandboxEnv>;
  /** With a resourceVersion in the body: only if the Env is still that one. */
  replace(caller: Caller, env: EnvName, body: EnvBody, signal: AbortSignal): Promise<SandboxEnv>;
  /** Its sandboxes run on until they end, unless `endSandboxes`. */
  delete(caller: Caller, env: EnvName, endSandboxes: boolean): Promise<void>;
  members(caller: Caller, env: EnvName): Promise<readonly EnvMember[]>;
  member(caller: Caller, member: MemberName): Promise<EnvMember>;
  addMember(caller: Caller, env: EnvName, wish: MemberWish, signal: AbortSignal): Promise<EnvMember>;
  updateMember(caller: Caller, member: MemberName, wish: MemberWish, signal: AbortSignal): Promise<EnvMember>;
  removeMember(caller: Caller, member: MemberName): Promise<void>;
  /** Refused where an autoscaler sets the number. */
  scaleMember(caller: Caller, member: MemberName, replicas: number): Promise<EnvMember>;
  groups(caller: Caller, env: EnvName): Promise<readonly EnvAutoscalingGroup[]>;
  group(caller: Caller, group: GroupName): Promise<EnvAutoscalingGroup>;
  putGroup(caller: Caller, group: GroupName, body: GroupBody): Promise<EnvAutoscalingGroup>;
  deleteGroup(caller: Caller, group: GroupName): Promise<void>;
  /** Sizes of all groups, with the latest decisions and their reasons. */
  autoscaling(caller: Caller, env: EnvName): Promise<EnvAutoscaling>;
  /** Of the Env and its pools, newest first. */
  events(caller: Caller, env: EnvName): Promise<readonly EnvEvent[]>;
  refresh(caller: Caller, asked: RefreshEnv, signal: AbortSignal): Promise<EnvRefresh>;
  clusters(caller: Caller): Promise<readonly ClusterView[]>;
}

export function envService(deps: EnvDeps): EnvService {
  return { ...reading(deps), ...writing(deps) };
}

type Reading = "list" | "get" | "members" | "member" | "groups" | "group" | "autoscaling" | "events" | "clusters";

function reading(deps: EnvDeps): Pick<EnvService, Reading> {
  const { id } = deps.cluster;
  return {
    list: async (caller, { namespace, ...query }) => pageOf(visibleEnvs(deps, caller, namespace), query),
    get: async (caller, env) => findEnv(deps, caller, env),
    members: async (caller, env) => memberViews(findEnv(deps, caller, env), id),
    member: async (caller, { env, member }) => viewOf(findEnv(deps, caller, env), id, { env, member }),
    groups: async (caller, env) => groupsOf(findEnv(deps, caller, env)),
    group: async (caller, { env, group }) => findGroup(findEnv(deps, caller, env), group),
    autoscaling: async (caller, wanted) => {
      const env = findEnv(deps, caller, wanted);
      const pools = deps.cache.poolsOfEnv(keyOf(env)).map((pool) => [pool.metadata.name ?? "", pool] as const);
      return autoscalingView(env, new Map(pools));
    },
    events: async (caller, env) => envEvents(deps, findEnv(deps, caller, env)),
    clusters: async (caller) => clustersOf(deps.cluster, visibleEnvs(deps, caller, undefined)),
  };
}

function writing(deps: EnvDeps): Omit<EnvService, Reading> {
  const { id } = deps.cluster;
  const written = ({ env, name }: MemberWritten, wanted: EnvName): EnvMember => viewOf(env, id, { env: wanted, member: name });
  return {
    create: (caller, body, signal) => createEnv(deps, caller, body, signal),
    replace: (caller, wanted, body, signal) => replaceEnv(deps, caller, { wanted, body }, signal),
    delete: (caller, env, endSandboxes) => deleteEnv(deps, caller, env, endSandboxes),
    addMember: async (caller, wanted, wish, signal) => written(await addMember(deps, caller, { wanted, wish }, signal), wanted),
    updateMember: async (caller, wanted, wish, signal) => written(await updateMember(deps, caller, { wanted, wish }, signal), wanted.env),
    removeMember: (caller, member) => removeMember(deps, caller, member),
    scaleMember: async (caller, wanted, replicas) => written(await scaleMember(deps, caller, wanted, replicas), wanted.env),
    putGroup: (caller, group, body) => putGroup(deps, caller, group, body),
    deleteGroup: (caller, group) => deleteGroup(deps, caller, group),
    refresh: (caller, asked, signal) => refreshEnv(deps, caller, asked, signal),
  };
}

/** The member of this server's cluster goes before one of the same name elsewhere. */
function viewOf(env: SandboxEnv, clusterID: string | undefined, { env: { name }, member }: MemberName): EnvMember {
  const views = memberViews(env, clusterID).filter((one) => one.name === member);
  const view = views.find(({ isLocal }) => isLocal) ?? views[0];
  if (view === undefined) throw noSuchMember(name, member);
  return view;
}

/** The clusters that Envs name. Only the server's own one is known for more than its id. Pure. */
export interface ClusterView {
  /** Absent for a server that was started without one. */
  readonly id?: string;
  /** Absent for another cluster. */
  readonly engine?: LocalCluster["engine"];
  readonly isLocal: boolean;
}

/** The local one first, then by id. */
export function clustersOf({ engine, id }: LocalCluster, envs: Iterable<SandboxEnv>): readonly ClusterView[] {
  const named = Iterator.from(envs).flatMap(({ spec }) => (spec.clusters ?? []).map(({ clusterID }) => clusterID));
  const others = [...new Set(named)].filter((one) => one !== id).toSorted();
  return [{ ...(id !== undefined && { id }), engine, isLocal: true }, ...others.map((one) => ({ id: one, isLocal: false }))];
}
