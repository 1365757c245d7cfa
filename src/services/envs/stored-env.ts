/**
 * What of a body becomes an Env (pure). A person writes the spec and each member's config. The snapshots of members (metadata and spec)
 * are written after admission only, so they are never taken from a body: a tenant could put any pod into one. Replicas are taken where no
 * autoscaler sets them. Members of other clusters belong to the servers there.
 */
import { isDeepStrictEqual } from "node:util";
import { labelKeys } from "#model/keys.ts";
import type { EnvClusterMember, EnvClusterSpec } from "#model/env-member.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { firstReplicas, isOnDemand, isScaled } from "#sandbox/envs/env-members.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { checkKind, storedMetadata, wrong } from "#services/pools/stored-metadata.ts";
import { tenantPoolName } from "#services/pools/tenant-pool-name.ts";
import type { EnvBody, MemberWish } from "./env-deps.ts";
import { membersHere } from "./env-parts.ts";
import { derivedMemberName } from "./member-name.ts";

export interface StoreRequest {
  readonly caller: Caller;
  readonly body: EnvBody;
  /** The Env that is replaced; undefined for a new one. */
  readonly present: SandboxEnv | undefined;
  /** The cluster of this server. */
  readonly clusterID: string;
}

/** Members that are new have no snapshot yet, apart from their replicas. */
export function storedEnv({ caller, body, present, clusterID }: StoreRequest): SandboxEnv {
  checkKind(body, SandboxEnvs);
  const metadata = storedMetadata(caller, body.metadata, present);
  // As the server fills it in, so that checks see what is going to be stored.
  const bare: SandboxEnv = { metadata, spec: Object.assign({ mode: "WarmPool" as const }, body.spec) };
  const foreign = foreignClusters(body, present, clusterID);
  const local = localMembers({ caller, env: bare, present, clusterID }, body);
  const clusters = [...foreign, ...(local.length === 0 && foreign.length === 0 ? [] : [{ clusterID, members: local }])];
  // In the order of the present entries, so that a replace that changes nothing changes nothing.
  const order = (present?.spec.clusters ?? body.spec.clusters ?? []).map((cluster) => cluster.clusterID);
  const place = (cluster: EnvClusterSpec): number => (order.includes(cluster.clusterID) ? order.indexOf(cluster.clusterID) : order.length);
  return { metadata, spec: { ...bare.spec, clusters: clusters.toSorted((left, right) => place(left) - place(right)) } };
}

/** Those that are stored stay. New ones are taken with their config alone: the server of that cluster admits them. */
function foreignClusters(body: SandboxEnv, present: SandboxEnv | undefined, clusterID: string): readonly EnvClusterSpec[] {
  const stored = (present?.spec.clusters ?? []).filter((cluster) => cluster.clusterID !== clusterID);
  const sent = (body.spec.clusters ?? []).flatMap((cluster, index) => {
    if (cluster.clusterID === clusterID) return [];
    const known = stored.find((one) => one.clusterID === cluster.clusterID);
    if (known === undefined) return [{ clusterID: cluster.clusterID, members: (cluster.members ?? []).map(configOnly) }];
    if (isDeepStrictEqual((known.members ?? []).map(configOnly), (cluster.members ?? []).map(configOnly))) return [];
    throw wrong(`spec.clusters[${index}].members`, `belong to cluster ${cluster.clusterID}: change them at the server there`);
  });
  return [...stored, ...sent];
}

function configOnly({ name, config = {} }: EnvClusterMember): EnvClusterMember {
  return { name, config: { scalingGroup: "default", ...config } };
}

interface MemberContext {
  readonly caller: Caller;
  /** With the spec that is asked for. */
  readonly env: SandboxEnv;
  readonly present: SandboxEnv | undefined;
  readonly clusterID: string;
}

function localMembers(context: MemberContext, body: EnvBody): readonly EnvClusterMember[] {
  const index = (body.spec.clusters ?? []).findIndex((cluster) => cluster.clusterID === context.clusterID);
  const listed = (body.spec.clusters?.[index]?.members ?? []).map(({ name, config, spec }, at) => {
    const wish = { name, ...(config && { config }), ...(spec && { replicas: spec.replicas }) };
    return storedMember(context, wish, { field: `spec.clusters[${index}].members[${at}]`, taken: new Set() });
  });
  return (body.members ?? []).reduce<readonly EnvClusterMember[]>((members, wish, at) => {
    const taken = new Set(members.map(({ name }) => name));
    const member = storedMember(context, wish, { field: `members[${at}]`, taken });
    if (taken.has(member.name)) throw wrong(`members[${at}].name`, `must not be that of another member: ${member.name}`);
    return [...members, member];
  }, listed);
}

export interface MemberPlace {
  /** Where the member stands in the request. */
  readonly field: string;
  /** Names that a derived one must not have. */
  readonly taken: ReadonlySet<string>;
}

/** A member as it is to be, with the snapshot that it has. */
export function storedMember(
  { caller, env, present, clusterID }: MemberContext,
  { name: wished, config = {}, replicas }: MemberWish,
  { field, taken }: MemberPlace,
): EnvClusterMember {
  const envName = env.metadata.name ?? "";
  const owner = ownerOf(env);
  const name = wished === undefined ? memberNameFor(owner, { envName, config, taken }, field) : ownName(caller, owner, wished, field);
  const stored = present && membersHere(present, clusterID).find((member) => member.name === name);
  const number = replicasFor({ env, member: { name, config }, stored: stored?.spec?.replicas, asked: replicas });
  return {
    name,
    ...(stored?.metadata && { metadata: stored.metadata }),
    spec: { ...stored?.spec, replicas: number },
    config,
  };
}

interface ReplicasRequest {
  readonly env: SandboxEnv;
  /** Without replicas. */
  readonly member: EnvClusterMember;
  readonly stored: number | undefined;
  readonly asked: number | undefined;
}

/** The autoscaler's number stays where there is one. */
function replicasFor({ env, member, stored, asked }: ReplicasRequest): number {
  if (isOnDemand(env)) return 0;
  return (isScaled(env, member) ? (stored ?? asked) : (asked ?? stored)) ?? firstReplicas(env, member);
}

type Owner = Pick<Caller, "team" | "user">;

/** Undefined: the Env has no owner. */
function ownerOf({ metadata: { labels = {} } }: SandboxEnv): Owner | undefined {
  const team = labels[labelKeys.team] ?? "";
  const user = labels[labelKeys.user] ?? "";
  return team === "" ? undefined : { team, ...(user !== "" && { user }) };
}

/** Pools of all tenants share a namespace: a tenant's members carry the mark of their owner, as its pools do. */
function ownName(caller: Caller, owner: Owner | undefined, wished: string, field: string): string {
  return caller.role === "admin" || owner === undefined ? wished : marked(owner, wished, `${field}.name`);
}

interface NameRequest {
  readonly envName: string;
  readonly config: NonNullable<MemberWish["config"]>;
  readonly taken: ReadonlySet<string>;
}

function memberNameFor(owner: Owner | undefined, { envName, config, taken }: NameRequest, field: string): string {
  if (owner === undefined) {
    const name = derivedMemberName(envName, config, taken);
    if (name.length <= maxNameLength) return name;
    throw wrong(`${field}.name`, `is needed: the derived name ${name} has more than ${maxNameLength} characters`);
  }
  // The mark is at the end of the Env's name already; it belongs to the end of the member's.
  const mark = marked(owner, "x", `${field}.name`).slice(1);
  const bare = envName.endsWith(mark) ? envName.slice(0, -mark.length) : envName;
  const bareTaken = new Set([...taken].map((name) => (name.endsWith(mark) ? name.slice(0, -mark.length) : name)));
  return marked(owner, derivedMemberName(bare, config, bareTaken), `${field}.name`);
}

const maxNameLength = 63;

function marked(owner: Owner, wished: string, field: string): string {
  try {
    return tenantPoolName(owner, wished);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw wrong(field, error.message.replace(/^metadata\.name /, ""));
  }
}
