/**
 * Where a create goes: which member pools of an Env can serve it, and in which order they are asked for a pod. Pure.
 *
 * Two questions, because the second changes with every pod: `eligibleMembers` is answered once for a request, `routeOrder` each time that the
 * request asks for a pod. A pool that is named directly is an Env with one member.
 */
import type { SandboxEnvDefaults } from "#model/sandbox-env.ts";
import { poolKey, type PoolRef } from "./pool-ref.ts";

/** What a request can choose a member by. */
export interface MemberTraits {
  readonly pool: PoolRef;
  readonly isDeleting: boolean;
  readonly instanceType?: string;
  readonly multiplier?: number;
  /** Left out: the member takes no part in autoscaling. */
  readonly scalingGroup?: string;
  /** Version of the template that it serves. */
  readonly version?: string;
  /** Size of each sandbox in cores and bytes; left out where nothing limits it. */
  readonly cpu?: number;
  readonly memory?: number;
}

export interface RouteWishes {
  readonly instanceType?: string;
  readonly multiplier?: number;
  readonly scalingGroup?: string;
  readonly version?: string;
  /** At least so much, in cores and bytes: the smallest member that has it is chosen. */
  readonly cpu?: number;
  readonly memory?: number;
}

export interface RouteSource {
  /** As errors call it, such as `Env base`. */
  readonly what: string;
  /** Used where the request names no size and a member has this one. */
  readonly defaults?: SandboxEnvDefaults | undefined;
}

export interface RouteRefusal {
  readonly kind: "refused";
  /** The wish that no member fulfils; left out where there is no member at all. */
  readonly field?: keyof RouteWishes;
  readonly message: string;
  /** What could be asked for instead. */
  readonly available: readonly string[];
}

export type Eligible<Member> = { readonly kind: "members"; readonly members: readonly Member[] } | RouteRefusal;

export function eligibleMembers<Member extends MemberTraits>(
  { what, defaults }: RouteSource,
  all: readonly Member[],
  wishes: RouteWishes,
): Eligible<Member> {
  let members = all.filter(({ isDeleting }) => !isDeleting);
  if (members.length === 0) return { kind: "refused", message: `${what} has no pool to create a sandbox from`, available: [] };
  for (const trait of namedTraits) {
    const wanted = wishes[trait];
    if (wanted === undefined) continue;
    const fitting = members.filter((member) => member[trait] === wanted);
    if (fitting.length === 0) return refusedTrait(what, { trait, wanted }, members);
    members = fitting;
  }
  if (wishes.cpu !== undefined || wishes.memory !== undefined) return smallestOf(what, members, wishes);
  const isSizeOpen = wishes.instanceType === undefined && wishes.multiplier === undefined;
  return { kind: "members", members: isSizeOpen ? ofDefaultSize(members, defaults) : members };
}

/** In this order, so that a refusal names what is available after the wishes before it. */
const namedTraits = ["version", "scalingGroup", "instanceType", "multiplier"] as const;

function refusedTrait(
  what: string,
  { trait, wanted }: { readonly trait: (typeof namedTraits)[number]; readonly wanted: string | number },
  members: readonly MemberTraits[],
): RouteRefusal {
  const available = [...new Set(members.flatMap((member) => (member[trait] === undefined ? [] : [String(member[trait])])))].sort();
  const there = available.length === 0 ? `leave ${trait} out` : `available: ${available.join(", ")}`;
  return {
    kind: "refused",
    field: trait,
    message: `${what} offers no sandbox with ${trait} ${JSON.stringify(wanted)}; ${there}`,
    available,
  };
}

/** Without members of that size the default says nothing about the members that there are. */
function ofDefaultSize<Member extends MemberTraits>(
  members: readonly Member[],
  { instanceType, multiplier }: SandboxEnvDefaults = {},
): readonly Member[] {
  if (instanceType === undefined) return members;
  const fitting = members.filter((member) => member.instanceType === instanceType && member.multiplier === multiplier);
  return fitting.length === 0 ? members : fitting;
}

function smallestOf<Member extends MemberTraits>(
  what: string,
  members: readonly Member[],
  { cpu = 0, memory = 0 }: RouteWishes,
): Eligible<Member> {
  const fitting = members.filter((member) => cpuOf(member) >= cpu && memoryOf(member) >= memory).sort(bySize);
  const [smallest] = fitting;
  if (smallest !== undefined) return { kind: "members", members: fitting.filter((member) => bySize(member, smallest) === 0) };
  const available = [...new Set([...members].sort(bySize).map(sizeText))];
  const wanted = sizeText({ ...(cpu > 0 && { cpu }), ...(memory > 0 && { memory }) });
  const message = `${what} offers no sandbox with at least ${wanted}; available: ${available.join(", ")}`;
  return { kind: "refused", field: cpu > 0 ? "cpu" : "memory", message, available };
}

type Size = Pick<MemberTraits, "cpu" | "memory">;

/** What nothing limits is larger than every limit. */
function cpuOf({ cpu = Infinity }: Size): number {
  return cpu;
}

function memoryOf({ memory = Infinity }: Size): number {
  return memory;
}

function bySize(left: Size, right: Size): number {
  return compare(cpuOf(left), cpuOf(right)) || compare(memoryOf(left), memoryOf(right));
}

function sizeText({ cpu, memory }: Size): string {
  const mebibytes = memory === undefined ? undefined : Math.floor(memory / 2 ** 20);
  const parts = [...(cpu === undefined ? [] : [`${cpu} CPU`]), ...(mebibytes === undefined ? [] : [`${mebibytes} MiB`])];
  return parts.length === 0 ? "no limit" : parts.join(" and ");
}

/** How a member stands at this moment. */
export interface RouteStanding {
  readonly pool: PoolRef;
  /** Lower is better. */
  readonly priority: number;
  /** Pods that could be claimed now: on the wanted image, and in all. */
  readonly readyOnImage: number;
  readonly readyIdle: number;
  /** It lately tried to grow and could not. */
  readonly isSaturated: boolean;
  /** It has all the pods that it may have. */
  readonly isAtCeiling: boolean;
}

/**
 * The best first: a ready pod on the wanted image, any ready pod, room to grow, no room. Priority decides among equals: a preferred pool
 * without a pod does not go before another with one (W18).
 */
export function routeOrder<Standing extends RouteStanding>(members: readonly Standing[]): readonly Standing[] {
  if (members.length < 2) return members;
  return [...members].sort(
    (left, right) =>
      compare(classOf(left), classOf(right)) ||
      compare(left.priority, right.priority) ||
      compare(right.readyIdle, left.readyIdle) ||
      compare(poolKey(left.pool), poolKey(right.pool)),
  );
}

function classOf({ readyOnImage, readyIdle, isSaturated, isAtCeiling }: RouteStanding): number {
  if (readyOnImage > 0) return 0;
  if (readyIdle > 0) return 1;
  return isSaturated || isAtCeiling ? 3 : 2;
}

function compare<Value extends number | string>(left: Value, right: Value): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
