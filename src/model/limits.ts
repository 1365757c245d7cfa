/**
 * How much a team, a user of it and the whole server may have. What is not set has the usual value; what an admin sets stands in one ConfigMap of the
 * system namespace, which every process follows. Pure.
 */
import type { ConfigMap } from "./core-kinds.ts";

export interface LimitInfo {
  /** For one machine. */
  readonly usual: number;
  readonly about: string;
}

/** Of each team, or of one. */
export const teamLimits = {
  pods: { usual: 500, about: "Pods of all its pools together, as their replicas say." },
  podsPerPool: { usual: 200, about: "Pods of one pool." },
  pools: { usual: 50, about: "Pools." },
  envs: { usual: 100, about: "Envs, wherever their members are." },
  sandboxes: { usual: 500, about: "Sandboxes that start, run or are paused." },
  cpu: {
    usual: 100_000,
    about: "Cores that its live sandboxes may use together, as the limits of their pods say; and so for the pods of its pools.",
  },
  memoryMiB: { usual: 100_000_000, about: "MiB of memory that its live sandboxes may use together; and so for the pods of its pools." },
  idlePods: { usual: 500, about: "Pods of its pools that wait without a sandbox." },
  keys: { usual: 100, about: "API keys." },
  webhooks: { usual: 20, about: "Webhooks for events of sandboxes." },
  imageMiB: {
    usual: 20_480,
    about: "MiB on the disk of images that its pods have brought to the machine, and of its checkpoints. Embedded engine only.",
  },
  checkpoints: { usual: 200, about: "Checkpoints. What their images take counts for imageMiB." },
  volumes: { usual: 20, about: "Volumes." },
  volumeMiB: { usual: 20_480, about: "MiB that its volumes can hold together, whatever is in them." },
  builds: { usual: 20, about: "Builds of templates that wait or run." },
  buildFilesMiB: { usual: 8192, about: "MiB of files that are kept for COPY steps of builds; what was not used for longest goes first." },
  waitingCreates: { usual: 2048, about: "Creates that wait for a pod, in each API process." },
  connections: { usual: 2000, about: "Requests and connections under way, in each API and gateway process." },
  createsPerMinute: { usual: 6000, about: "Creates in a minute, over all API processes." },
  requestsPerSecond: { usual: 2000, about: "Requests to the API in a second, over all API processes." },
} as const satisfies Readonly<Record<string, LimitInfo>>;

/** Of all teams together, and of what belongs to no team. */
export const serverLimits = {
  pods: { usual: 20_000, about: "Pods of all pools together, as their replicas say." },
  podsPerPool: { usual: 10_000, about: "Pods of one pool." },
  pools: { usual: 2000, about: "Pools." },
  envs: { usual: 2000, about: "Envs." },
  sandboxes: { usual: 20_000, about: "Sandboxes that start, run or are paused." },
  keys: { usual: 20_000, about: "API keys." },
  templates: { usual: 2000, about: "Templates." },
  volumes: { usual: 2000, about: "Volumes." },
  volumeMiB: { usual: 204_800, about: "MiB that all volumes can hold together, whatever is in them." },
  checkpoints: { usual: 10_000, about: "Checkpoints." },
} as const satisfies Readonly<Record<string, LimitInfo>>;

/** Of one user of a team, beside what the team may have: what is not set has no limit of its own. */
export const userLimits = {
  sandboxes: { about: "Sandboxes that start, run or are paused." },
  cpu: { about: "Cores that its live sandboxes may use together; and so for the pods of its own pools." },
  memoryMiB: { about: "MiB of memory that its live sandboxes may use together; and so for the pods of its own pools." },
  idlePods: { about: "Pods of its own pools that wait without a sandbox." },
  createsPerMinute: { about: "Creates in a minute, over all API processes." },
} as const satisfies Readonly<Record<string, Omit<LimitInfo, "usual">>>;

/** Stands for every user of a team that has no limits of its own; no user can be called so. */
export const everyUser = "*";

export interface UserOfTeam {
  readonly team: string;
  /** Or everyUser. */
  readonly user: string;
}

export type UserLimit = keyof typeof userLimits;
export type TeamLimit = keyof typeof teamLimits;
export type ServerLimit = keyof typeof serverLimits;
export type LimitValues = Readonly<Record<string, number>>;

/** What was set. */
export interface LimitTable {
  readonly server: LimitValues;
  readonly everyTeam: LimitValues;
  readonly teams: Readonly<Record<string, LimitValues>>;
  /** Team to user to values; left out: none. */
  readonly users?: Readonly<Record<string, UserValues>>;
}

type UserValues = Readonly<Record<string, LimitValues>>;

export const limitsConfigMapName = "agentbox-limits";
export const noLimitsSet: LimitTable = { server: {}, everyTeam: {}, teams: {} };
export const highestLimit = 1_000_000_000;

const [serverKey, everyTeamKey, teamPrefix, usersPrefix] = ["server", "teams", "team.", "users."];

/** What cannot be read is as if it were not set. */
export function readLimits({ data = {} }: Pick<ConfigMap, "data">): LimitTable {
  const entriesOf = (prefix: string): readonly (readonly [string, string])[] =>
    Object.entries(data).flatMap(([key, text]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), text] as const] : []));
  const users = entriesOf(usersPrefix).map(([team, text]) => [team, usersIn(text)] as const);
  return {
    server: valuesIn(data[serverKey], serverLimits),
    everyTeam: valuesIn(data[everyTeamKey], teamLimits),
    teams: Object.fromEntries(entriesOf(teamPrefix).map(([team, text]) => [team, valuesIn(text, teamLimits)])),
    ...(users.length > 0 && { users: Object.fromEntries(users) }),
  };
}

function usersIn(text: string): UserValues {
  return Object.fromEntries(Object.entries(parsed(text)).map(([user, values]) => [user, known(values, userLimits)]));
}

/** Names and values that are none are left out: another version may have more of them. */
function valuesIn(text: string | undefined, names: Readonly<Record<string, LimitInfo>>): LimitValues {
  return known(parsed(text), names);
}

function known(values: unknown, names: object): LimitValues {
  const entries = typeof values === "object" && values !== null ? Object.entries(values) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Object.hasOwn(names, entry[0]) && isLimit(entry[1])));
}

function parsed(text = "{}"): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isLimit(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= highestLimit;
}

export function limitsConfigMap(namespace: string, { server, everyTeam, teams, users = {} }: LimitTable): ConfigMap {
  const sets = [
    [serverKey, server] as const,
    [everyTeamKey, everyTeam] as const,
    ...Object.entries(teams).map(([team, values]) => [`${teamPrefix}${team}`, values] as const),
    ...Object.entries(users).map(([team, ofTeam]) => [`${usersPrefix}${team}`, filled(ofTeam)] as const),
  ].filter(([, values]) => Object.keys(values).length > 0);
  return {
    metadata: { namespace, name: limitsConfigMapName },
    data: Object.fromEntries(sets.map(([key, values]) => [key, JSON.stringify(values)])),
  };
}

function filled(users: UserValues): UserValues {
  return Object.fromEntries(Object.entries(users).filter(([, values]) => Object.keys(values).length > 0));
}

export function serverLimit({ server }: LimitTable, name: ServerLimit): number {
  return server[name] ?? serverLimits[name].usual;
}

export function teamLimit(table: LimitTable, team: string, name: TeamLimit): number {
  return setTeamLimit(table, team, name) ?? teamLimits[name].usual;
}

/** What an admin has set; undefined: nothing. */
export function setTeamLimit({ everyTeam, teams }: LimitTable, team: string, name: TeamLimit): number | undefined {
  const own = Object.hasOwn(teams, team) ? teams[team] : undefined;
  return own?.[name] ?? everyTeam[name];
}

/** What an admin has set for the user, or for every user of the team; undefined: nothing. */
export function setUserLimit({ users = {} }: LimitTable, { team, user }: UserOfTeam, name: UserLimit): number | undefined {
  const ofTeam = Object.hasOwn(users, team) ? users[team] : undefined;
  const own = ofTeam !== undefined && Object.hasOwn(ofTeam, user) ? ofTeam[user] : undefined;
  return own?.[name] ?? ofTeam?.[everyUser]?.[name];
}
