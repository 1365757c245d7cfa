/** Envs as the native API sends and receives them. A test compares these types with those of the services. */
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { everyPage } from "./every-page.ts";
import type { HttpCaller } from "./http-caller.ts";
import type {
  CreateEnv,
  EnvMemberWish,
  ImagePullCredentials as RegistryCredentials,
  EnvMember,
  EnvGroupMember,
  EnvGroup,
  EnvAutoscaling,
  EnvEvent,
  EnvRefresh,
  Cluster,
} from "./generated/api-types.generated.ts";

export type { EnvMemberWish, RegistryCredentials, EnvMember, EnvGroupMember, EnvGroup, EnvAutoscaling, EnvEvent, EnvRefresh, Cluster };

export type EnvBody = SandboxEnv & Pick<CreateEnv, "members" | "imagePullSecret">;

/** Without a namespace: the only Env of that name visible to the caller. */
export interface EnvName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** A policy without its name. */
export type EnvGroupBody = Omit<EnvAutoscalingGroup, "name"> & { readonly name?: string };

/** All throw ClientError. */
export class EnvsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  /** All Envs visible to the caller, sorted by name. */
  async list(namespace?: string, signal?: AbortSignal): Promise<readonly SandboxEnv[]> {
    return await everyPage(this.#http, { path: "/v1/envs", items: "envs", query: { namespace }, signal });
  }

  async get(env: EnvName, signal?: AbortSignal): Promise<SandboxEnv> {
    return await this.#http.json({ method: "GET", ...at(env), signal });
  }

  async create(body: EnvBody, signal?: AbortSignal): Promise<SandboxEnv> {
    return await this.#http.json({ method: "POST", path: "/v1/envs", body, signal });
  }

  /** With metadata.resourceVersion, the Env is replaced only if it still has this version. */
  async replace(env: EnvName, body: EnvBody, signal?: AbortSignal): Promise<SandboxEnv> {
    return await this.#http.json({ method: "PUT", ...at(env), body, signal });
  }

  async delete(env: EnvName, { endSandboxes }: { readonly endSandboxes?: boolean } = {}, signal?: AbortSignal): Promise<void> {
    const { path, query } = at(env);
    await this.#http.json({ method: "DELETE", path, query: { ...query, endSandboxes }, signal });
  }

  async members(env: EnvName, signal?: AbortSignal): Promise<readonly EnvMember[]> {
    return (await this.#http.json<{ members: readonly EnvMember[] }>({ method: "GET", ...at(env, "members"), signal })).members;
  }

  async member(env: EnvName, member: string, signal?: AbortSignal): Promise<EnvMember> {
    return await this.#http.json({ method: "GET", ...at(env, "members", member), signal });
  }

  async addMember(env: EnvName, body: EnvMemberWish, signal?: AbortSignal): Promise<EnvMember> {
    return await this.#http.json({ method: "POST", ...at(env, "members"), body, signal });
  }

  async replaceMember(env: EnvName, member: string, body: EnvMemberWish, signal?: AbortSignal): Promise<EnvMember> {
    return await this.#http.json({ method: "PUT", ...at(env, "members", member), body, signal });
  }

  async removeMember(env: EnvName, member: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", ...at(env, "members", member), signal });
  }

  async scaleMember(env: EnvName, member: string, replicas: number, signal?: AbortSignal): Promise<EnvMember> {
    return await this.#http.json({ method: "PUT", ...at(env, "members", member, "scale"), body: { replicas }, signal });
  }

  async groups(env: EnvName, signal?: AbortSignal): Promise<readonly EnvAutoscalingGroup[]> {
    return (await this.#http.json<{ groups: readonly EnvAutoscalingGroup[] }>({ method: "GET", ...at(env, "groups"), signal })).groups;
  }

  async group(env: EnvName, group: string, signal?: AbortSignal): Promise<EnvAutoscalingGroup> {
    return await this.#http.json({ method: "GET", ...at(env, "groups", group), signal });
  }

  /** Adds the policy, or replaces it as a whole. */
  async putGroup(env: EnvName, group: string, body: EnvGroupBody, signal?: AbortSignal): Promise<EnvAutoscalingGroup> {
    return await this.#http.json({ method: "PUT", ...at(env, "groups", group), body, signal });
  }

  async deleteGroup(env: EnvName, group: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", ...at(env, "groups", group), signal });
  }

  async autoscaling(env: EnvName, signal?: AbortSignal): Promise<EnvAutoscaling> {
    return await this.#http.json({ method: "GET", ...at(env, "autoscaling"), signal });
  }

  /** Events of the Env and its pools, newest first. */
  async events(env: EnvName, signal?: AbortSignal): Promise<readonly EnvEvent[]> {
    return (await this.#http.json<{ events: readonly EnvEvent[] }>({ method: "GET", ...at(env, "events"), signal })).events;
  }

  /** All members when `member` is left out. */
  async refresh(
    env: EnvName,
    { member, dryRun }: { readonly member?: string | undefined; readonly dryRun?: boolean } = {},
    signal?: AbortSignal,
  ): Promise<EnvRefresh> {
    const { path, query } = at(env, "refresh");
    return await this.#http.json({ method: "POST", path, query: { ...query, member, dryRun }, signal });
  }

  async clusters(signal?: AbortSignal): Promise<readonly Cluster[]> {
    return (await this.#http.json<{ clusters: readonly Cluster[] }>({ method: "GET", path: "/v1/clusters", signal })).clusters;
  }
}

interface Place {
  readonly path: string;
  readonly query: { readonly namespace: string | undefined };
}

function at({ name, namespace }: EnvName, ...parts: readonly string[]): Place {
  return { path: ["/v1/envs", ...[name, ...parts].map(encodeURIComponent)].join("/"), query: { namespace } };
}
