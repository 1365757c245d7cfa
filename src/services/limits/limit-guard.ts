/**
 * Keeps teams and the server inside their limits. What is about to be made takes its place here first, in the same turn of the event loop
 * in which it is counted: so one process never passes a limit, and several pass it by no more than what they have under way at once.
 *
 * - `limit-guard.ts`    places, and the refusal           - `count-use.ts`     how much there is, from the cache
 * - `limit-service.ts`  seeing and setting limits         - `create-rate.ts`   how often, instead of how much
 */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import {
  type ServerLimit,
  serverLimit,
  serverLimits,
  setTeamLimit,
  setUserLimit,
  type TeamLimit,
  teamLimits,
  type UserLimit,
  userLimits,
} from "#model/limits.ts";
import { ServiceError } from "../service-error.ts";

/** What is counted of a team, of a user of it, and of the server. */
export type Counted =
  | "pods"
  | "pools"
  | "envs"
  | "sandboxes"
  | "cpu"
  | "memoryMiB"
  | "idlePods"
  | "keys"
  | "templates"
  | "volumes"
  | "volumeMiB"
  | "checkpoints";

/** What live sandboxes take, which the service that makes them knows. */
type OfSandboxes = "sandboxes" | "cpu" | "memoryMiB";

/** Where nothing is counted, only what is being made is. */
type Uncounted = "idlePods" | "envs" | "volumes" | "volumeMiB" | "checkpoints";

/** What is known of a team beside it, and kept inside the limit elsewhere: by the node, which brings images. */
export type Seen = Counted | "imageMiB";

/** How much there is, of a team, of one user of it, or in all. */
export type CountUse = (team?: string, user?: string) => number;

/** The owner of what is made: a team, or one user of it. Empty: no team. */
export interface Owner {
  readonly team: string;
  readonly user?: string | undefined;
}

export interface LimitGuardDeps {
  readonly cache: Pick<SandboxCache, "limitTable">;
  readonly use: Readonly<Record<Exclude<Counted, OfSandboxes | Uncounted>, CountUse> & Partial<Record<Uncounted, CountUse>>>;
  /** What this server was started with, instead of what is usual. */
  readonly usual?: Readonly<Partial<Record<TeamLimit, number | undefined>>> | undefined;
}

export interface Place extends Disposable {
  /** What the place was taken for is counted by itself now, or will not be made. */
  release(): void;
}

type Wanted = Readonly<Partial<Record<Counted, number>>>;

export class LimitGuard {
  readonly #deps: LimitGuardDeps;
  readonly #use: Map<Seen, CountUse>;
  /** `team/user/name` to how much is being made; the team is empty for all, the user for the whole team. */
  readonly #underWay = new Map<string, number>();

  constructor(deps: LimitGuardDeps) {
    this.#deps = deps;
    this.#use = new Map(Object.entries(deps.use) as [Seen, CountUse][]);
  }

  /** Sets how sandboxes, and what they take, are counted; the service that makes them knows. */
  countSandboxes(use: CountUse, taken: Partial<Readonly<Record<"cpu" | "memoryMiB", CountUse>>> = {}): void {
    for (const [name, count] of Object.entries({ sandboxes: use, ...taken })) this.#use.set(name as OfSandboxes, count);
  }

  /** Sets how volumes are counted; the service that makes them knows. */
  countVolumes(volumes: CountUse, volumeMiB: CountUse): void {
    this.#use.set("volumes", volumes);
    this.#use.set("volumeMiB", volumeMiB);
  }

  /** Tells how much images take, which the node knows. Not told: it is not shown. */
  countImages(use: CountUse): void {
    this.#use.set("imageMiB", use);
  }

  /** Undefined: no limit. */
  ofTeam(team: string, name: TeamLimit): number | undefined {
    const { usual = {}, cache } = this.#deps;
    return setTeamLimit(cache.limitTable(), team, name) ?? (Object.hasOwn(usual, name) ? usual[name] : teamLimits[name].usual);
  }

  /** Undefined: no limit beside the team's. */
  ofUser(team: string, user: string, name: UserLimit): number | undefined {
    return setUserLimit(this.#deps.cache.limitTable(), { team, user }, name);
  }

  ofServer(name: ServerLimit): number {
    return serverLimit(this.#deps.cache.limitTable(), name);
  }

  /** With what is being made now. */
  used(name: Counted, team?: string, user?: string): number;
  /** Undefined: not known here. */
  used(name: Seen, team?: string, user?: string): number | undefined;
  used(name: Seen, team = "", user?: string): number | undefined {
    const use = this.#use.get(name);
    if (use === undefined && name === "imageMiB") return undefined;
    return rounded((use?.(team === "" ? undefined : team, user) ?? 0) + (this.#underWay.get(placeKey({ team, user }, name)) ?? 0));
  }

  /** Takes the place of what is about to be made, all of it or nothing. `owner`: its team, empty for none, or a user. Throws limit_reached. */
  reserve(owner: string | Owner, wanted: Wanted): Place {
    const whose = typeof owner === "string" ? { team: owner } : owner;
    const wants = (Object.entries(wanted) as [Counted, number][]).filter(([, count]) => count > 0);
    for (const [name, count] of wants) this.#check(whose, name, count);
    this.#add(whose, wants, 1);
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      this.#add(whose, wants, -1);
    };
    return { release, [Symbol.dispose]: release };
  }

  /** Throws limit_reached for a pool that is too large by itself. */
  checkPoolSize(team: string, replicas: number): void {
    const [ofTeam, ofServer] = [team === "" ? undefined : this.ofTeam(team, "podsPerPool"), this.ofServer("podsPerPool")];
    const name = "podsPerPool";
    if (ofTeam !== undefined && replicas > ofTeam) throw limitReached({ name, team, limit: ofTeam, wanted: replicas });
    if (replicas > ofServer) throw limitReached({ name, team: "", limit: ofServer, wanted: replicas });
  }

  #check(owner: Owner, name: Counted, wanted: number): void {
    const { team } = owner;
    this.#checkUser(owner, name, wanted);
    if (team !== "" && name !== "templates") {
      const [limit, used] = [this.ofTeam(team, name), this.used(name, team)];
      if (limit !== undefined && used + wanted > limit) throw limitReached({ name, team, limit, used, wanted });
    }
    if (!isServerLimit(name)) return;
    const [limit, used] = [this.ofServer(name), this.used(name)];
    if (used + wanted > limit) throw limitReached({ name, team: "", limit, wanted, ...(team === "" && { used }) });
  }

  #checkUser({ team, user }: Owner, name: Counted, wanted: number): void {
    if (team === "" || user === undefined || !isUserLimit(name)) return;
    const [limit, used] = [this.ofUser(team, user, name), this.used(name, team, user)];
    if (limit !== undefined && used + wanted > limit) throw limitReached({ name, team, user, limit, used, wanted });
  }

  #add(owner: Owner, wants: readonly (readonly [Counted, number])[], sign: 1 | -1): void {
    const { team, user } = owner;
    const owners: Owner[] = [{ team: "" }, ...(team === "" ? [] : [{ team }]), ...(team === "" || user === undefined ? [] : [owner])];
    for (const [name, count] of wants) {
      for (const key of owners.map((one) => placeKey(one, name))) {
        const sum = rounded((this.#underWay.get(key) ?? 0) + sign * count);
        if (sum === 0) this.#underWay.delete(key);
        else this.#underWay.set(key, sum);
      }
    }
  }
}

function placeKey({ team, user = "" }: Owner, name: Seen): string {
  return `${team}/${user}/${name}`;
}

/** Parts of cores add up to whole thousandths. */
function rounded(sum: number): number {
  return Math.round(sum * 1000) / 1000;
}

function isUserLimit(name: string): name is UserLimit {
  return Object.hasOwn(userLimits, name);
}

function isServerLimit(name: string): name is ServerLimit {
  return Object.hasOwn(serverLimits, name);
}

export interface Reached {
  readonly name: TeamLimit | ServerLimit;
  /** Empty: the server's. */
  readonly team: string;
  /** Left out: the whole team's. */
  readonly user?: string;
  readonly limit: number;
  /** Left out: the business of others, or nothing that adds up. */
  readonly used?: number;
  readonly wanted: number;
}

/** Waiting does not help, so there is nothing about when to try again. */
export function limitReached({ name, team, user, limit, used, wanted }: Reached): ServiceError {
  const how = used === undefined ? `${wanted} would be too many` : `it has ${used}, and ${wanted} more would be too many`;
  const { whose, where, of } = ownerWords(team, user);
  const message = `${whose} may have ${limit} ${words[name]} (limit ${name}): ${how}. An admin can raise it: agentbox limits set ${where} ${name}=N`;
  return new ServiceError("limit_reached", message, { limit: { name, ...of, limit, ...(used !== undefined && { used }) } });
}

/** For a message, for the command line, and for programs. */
export function ownerWords(team: string, user: string | undefined) {
  if (team === "") return { whose: "this server", where: "--server", of: { of: "server" } } as const;
  if (user === undefined) return { whose: `team ${team}`, where: `--team ${team}`, of: { of: "team", team } } as const;
  return { whose: `user ${user} of team ${team}`, where: `--team ${team} --user ${user}`, of: { of: "user", team, user } } as const;
}

const words = {
  pods: "pods in its pools",
  podsPerPool: "pods in a pool",
  pools: "pools",
  envs: "Envs",
  sandboxes: "live sandboxes",
  cpu: "cores in live sandboxes",
  memoryMiB: "MiB of memory in live sandboxes",
  idlePods: "pods without a sandbox",
  keys: "API keys",
  webhooks: "webhooks",
  imageMiB: "MiB of images",
  templates: "templates",
  volumes: "volumes",
  volumeMiB: "MiB in volumes",
  checkpoints: "checkpoints",
  builds: "builds under way",
  buildFilesMiB: "MiB of files for builds",
  waitingCreates: "creates that wait",
  connections: "requests and connections open",
  createsPerMinute: "creates a minute",
  requestsPerSecond: "requests a second",
} satisfies Record<TeamLimit | ServerLimit, string>;
