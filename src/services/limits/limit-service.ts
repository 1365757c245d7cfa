/**
 * Seeing limits with what is used of them, and setting them. Tenants see their team's, and a user its own; admins see all and set them.
 */
import { ifFound, isApiError } from "#kube/api-error.ts";
import type { Informer } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import {
  everyUser,
  highestLimit,
  type LimitInfo,
  limitsConfigMap,
  limitsConfigMapName,
  type LimitTable,
  type LimitValues,
  readLimits,
  type ServerLimit,
  serverLimits,
  type TeamLimit,
  teamLimits,
  type UserLimit,
  userLimits,
} from "#model/limits.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { asServiceError } from "../service-failure.ts";
import type { LimitGuard, Seen } from "./limit-guard.ts";

/** Owner of the limits: the server, every team, one team, or one user of it (or every user: `*`). */
export type LimitsOf =
  | { readonly of: "server" }
  | { readonly of: "teams" }
  | { readonly of: "team"; readonly team: string }
  | { readonly of: "user"; readonly team: string; readonly user: string };

export interface LimitView {
  readonly name: string;
  /** Left out: as much as there is. */
  readonly limit?: number;
  /** Left out where nothing adds up. */
  readonly used?: number;
  /** Whether an admin has set it here. */
  readonly isSet: boolean;
  readonly about: string;
}

export type LimitSet = LimitsOf & { readonly limits: readonly LimitView[] };

export interface LimitService {
  /**
   * A tenant's own, and those of its user; an admin's are the server's, those of every team, and all that teams and users have of their
   * own; with a team or a user, that one's.
   */
  list(caller: Caller, wanted: WantedLimits): readonly LimitSet[];
  /** What is used of what is limited: of one team, with all of its users that have something or a limit. */
  use(caller: Caller, wanted: WantedLimits): readonly LimitSet[];
  /** Null: as if it had never been set. */
  set(caller: Caller, whose: LimitsOf, change: Readonly<Record<string, number | null>>): Promise<LimitSet>;
}

export interface WantedLimits {
  readonly team?: string | undefined;
  /** Of that team. */
  readonly user?: string | undefined;
}

export interface LimitServiceDeps {
  readonly client: ObjectClient;
  readonly guard: LimitGuard;
  readonly limits: Pick<Informer<ConfigMap>, "remember">;
  readonly table: () => LimitTable;
  /** The system namespace. */
  readonly namespace: string;
}

const maxTries = 8;

export function limitService(deps: LimitServiceDeps): LimitService {
  const { guard } = deps;
  return {
    list: (caller, wanted) => listed(deps, caller, wanted).map((whose) => shown(deps, whose)),
    use: (caller, wanted) =>
      listed(deps, caller, wanted)
        .filter(({ of, ...whose }) => of !== "teams" && !("user" in whose && whose.user === everyUser))
        .map((whose) => shown(deps, whose))
        .map(({ limits, ...whose }) => ({ ...whose, limits: limits.filter(({ used }) => used !== undefined) })),
    set: async (caller, whose, change) => {
      if (caller.role !== "admin") throw new ServiceError("forbidden", "only an admin key can set limits");
      checkChange(whose, change);
      await write(deps, whose, change);
      return shown({ ...deps, guard }, whose);
    },
  };
}

function listed({ table }: LimitServiceDeps, caller: Caller, { team, user }: WantedLimits): readonly LimitsOf[] {
  if (user !== undefined && team === undefined && caller.role === "admin") {
    throw new ServiceError("invalid_request", "user needs team: name the team of the user", { field: "query.team" });
  }
  if (caller.role !== "admin") return ofTenant(caller, { team, user });
  if (team !== undefined) return user === undefined ? [{ of: "team", team }, ...usersOf(table(), team)] : [{ of: "user", team, user }];
  const { teams, users = {} } = table();
  const own = Object.keys(teams).sort();
  return [
    { of: "server" },
    { of: "teams" },
    ...own.map((one) => ({ of: "team", team: one }) as const),
    ...Object.keys(users)
      .sort()
      .flatMap((one) => usersOf(table(), one)),
  ];
}

/** A key of the whole team sees all of its users, a user's key this user. */
function ofTenant(caller: Caller, { team, user }: WantedLimits): readonly LimitsOf[] {
  if (team !== undefined && team !== caller.team) throw notYours();
  if (caller.user !== undefined && user !== undefined && user !== caller.user) {
    throw new ServiceError("forbidden", "a user can see only its own limits", { field: "query.user" });
  }
  if (caller.team === "") return [];
  const wanted = user ?? caller.user;
  return wanted === undefined
    ? [{ of: "team", team: caller.team }]
    : [
        { of: "team", team: caller.team },
        { of: "user", team: caller.team, user: wanted },
      ];
}

function usersOf({ users = {} }: LimitTable, team: string): readonly LimitsOf[] {
  const own = Object.hasOwn(users, team) ? Object.keys(users[team] ?? {}) : [];
  return own.sort().map((user) => ({ of: "user", team, user }) as const);
}

function notYours(): ServiceError {
  return new ServiceError("forbidden", "a tenant sees the limits of its own team only", { field: "query.team" });
}

function known(whose: LimitsOf): Readonly<Record<string, Omit<LimitInfo, "usual">>> {
  if (whose.of === "user") return userLimits;
  return whose.of === "server" ? serverLimits : teamLimits;
}

function limitOf(guard: LimitGuard, whose: LimitsOf, name: string): number | undefined {
  if (whose.of === "server") return guard.ofServer(name as ServerLimit);
  return whose.of === "user" ? guard.ofUser(whose.team, whose.user, name as UserLimit) : guard.ofTeam(teamOf(whose), name as TeamLimit);
}

/** Of every team together, or of every user of one, nothing adds up. */
function usedOf(guard: LimitGuard, whose: LimitsOf, name: string): number | undefined {
  if (whose.of === "teams" || !isSeen(name)) return undefined;
  if (whose.of !== "user") return guard.used(name, teamOf(whose));
  return whose.user === everyUser ? undefined : guard.used(name, whose.team, whose.user);
}

function shown({ guard, table }: Pick<LimitServiceDeps, "guard" | "table">, whose: LimitsOf): LimitSet {
  const set = valuesOf(table(), whose);
  const limits = Object.entries(known(whose)).map(([name, { about }]): LimitView => {
    const [limit, used] = [limitOf(guard, whose, name), usedOf(guard, whose, name)];
    return {
      name,
      ...(limit !== undefined && { limit }),
      ...(used !== undefined && { used }),
      isSet: Object.hasOwn(set, name),
      about,
    };
  });
  return { ...whose, limits };
}

/** Empty is no team's name: so it has what every team has. */
function teamOf(whose: LimitsOf): string {
  return whose.of === "team" ? whose.team : "";
}

const seen: ReadonlySet<string> = new Set<Seen>([
  "pods",
  "pools",
  "sandboxes",
  "cpu",
  "memoryMiB",
  "idlePods",
  "keys",
  "templates",
  "imageMiB",
  "volumes",
  "volumeMiB",
]);

function isSeen(name: string): name is Seen {
  return seen.has(name);
}

function checkChange(whose: LimitsOf, change: Readonly<Record<string, number | null>>): void {
  for (const [name, value] of Object.entries(change)) {
    const field = `limits.${name}`;
    if (!Object.hasOwn(known(whose), name)) {
      throw new ServiceError(
        "invalid_request",
        `${field} is no limit of ${whose.of === "server" ? "the server" : whose.of === "user" ? "a user" : "a team"}`,
        {
          field,
          available: Object.keys(known(whose)),
        },
      );
    }
    if (value === null || (Number.isInteger(value) && value >= 0 && value <= highestLimit)) continue;
    throw new ServiceError("invalid_request", `${field} must be a whole number from 0 to ${highestLimit}, or null`, { field });
  }
}

function valuesOf({ server, everyTeam, teams, users = {} }: LimitTable, whose: LimitsOf): LimitValues {
  if (whose.of === "server") return server;
  if (whose.of === "user") {
    const ofTeam = (Object.hasOwn(users, whose.team) ? users[whose.team] : undefined) ?? {};
    return (Object.hasOwn(ofTeam, whose.user) ? ofTeam[whose.user] : undefined) ?? {};
  }
  return whose.of === "teams" ? everyTeam : ((Object.hasOwn(teams, whose.team) ? teams[whose.team] : undefined) ?? {});
}

/** On the object as the server has it, so that two admins at once do not undo each other. */
async function write(deps: LimitServiceDeps, whose: LimitsOf, change: Readonly<Record<string, number | null>>): Promise<void> {
  const { client, namespace } = deps;
  for (let attempt = 1; ; attempt++) {
    try {
      const present = await presentLimits(deps);
      const table = changed(present === undefined ? { server: {}, everyTeam: {}, teams: {} } : readLimits(present), whose, change);
      const next = limitsConfigMap(namespace, table);
      const written =
        present === undefined
          ? await client.create(ConfigMaps, next)
          : await client.update(ConfigMaps, { ...next, metadata: { ...present.metadata, labels: { ...next.metadata.labels } } });
      deps.limits.remember(written);
      return;
    } catch (error) {
      if (attempt === maxTries || !(isLostRace(error) || isApiError(error, "AlreadyExists"))) throw asServiceError(error);
    }
  }
}

async function presentLimits({ client, namespace }: LimitServiceDeps): Promise<ConfigMap | undefined> {
  return ifFound(client.get(ConfigMaps, { namespace, name: limitsConfigMapName }));
}

function changed(table: LimitTable, whose: LimitsOf, change: Readonly<Record<string, number | null>>): LimitTable {
  const merged = Object.entries({ ...valuesOf(table, whose), ...change }).filter((entry): entry is [string, number] => entry[1] !== null);
  const values = Object.fromEntries(merged);
  if (whose.of === "server") return { ...table, server: values };
  if (whose.of === "teams") return { ...table, everyTeam: values };
  if (whose.of === "user") {
    const { [whose.user]: _, ...others } = table.users?.[whose.team] ?? {};
    const ofTeam = merged.length === 0 ? others : { ...others, [whose.user]: values };
    return { ...table, users: { ...table.users, [whose.team]: ofTeam } };
  }
  return { ...table, teams: { ...table.teams, [whose.team]: values } };
}
