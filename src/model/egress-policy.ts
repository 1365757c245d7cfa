/**
 * Where a sandbox may connect to. A wanted state and an answer, as with pausing:
 *
 * - Wanted is the annotation `agentbox.navix.sh/egress-policy` on the pod, JSON of an EgressPolicy. A claim sets it, a caller that
 *   may change the sandbox changes it, and recycling removes it with everything else of the sandbox: until then it holds, also
 *   while the sandbox is ending. Without one: the Internet, and nothing private.
 * - The answer is the pod condition `agentbox.navix.sh/EgressPolicy`, written by the node; its message repeats the policy that it
 *   answers. True: every packet is judged by this policy, those of open connections too. False with reason InvalidPolicy: the
 *   policy cannot be read, and until it can, the sandbox reaches nothing.
 *
 * Arming a sandbox with a policy waits for the answer: before it, the sandbox's first program could still connect.
 */
import { parseSubnet } from "#lib/subnet.ts";
import { podCondition } from "./claimed-pod.ts";
import { annotationKeys, podConditionReasons, podConditions } from "./keys.ts";
import type { Pod } from "./pod.ts";

export interface EgressPolicy {
  /** False: only what `allow` names. */
  readonly internet: boolean;
  /** IPv4 networks or addresses; goes before `deny`. Private networks stay closed. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export type ParsedEgressPolicy =
  | { readonly kind: "policy"; readonly policy: EgressPolicy }
  | { readonly kind: "invalid"; readonly why: string };

/** What is asked for and cannot be understood is given as nothing at all. */
export const closedEgress: EgressPolicy = { internet: false, allow: [], deny: [] };

const fields: ReadonlySet<string> = new Set(["internet", "allow", "deny"]);
const maxNetworks = 1000;

export function egressPolicyText({ internet, allow, deny }: EgressPolicy): string {
  return JSON.stringify({ internet, allow, deny });
}

/** Fields that are left out: the Internet, and no exceptions. */
export function parseEgressPolicy(text: string): ParsedEgressPolicy {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid("it is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return invalid("it must be a JSON object");
  const unknown = Object.keys(value).find((field) => !fields.has(field));
  if (unknown !== undefined) return invalid(`it has the field ${JSON.stringify(unknown)}; there are ${[...fields].join(", ")}`);
  const { internet = true, allow = [], deny = [] } = value as Readonly<Record<string, unknown>>;
  if (typeof internet !== "boolean") return invalid("internet must be true or false");
  const wrong = wrongNetworks("allow", allow) ?? wrongNetworks("deny", deny);
  if (wrong !== undefined) return invalid(wrong);
  return { kind: "policy", policy: { internet, allow: allow as readonly string[], deny: deny as readonly string[] } };
}

function wrongNetworks(field: string, value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) return `${field} must be a list of networks`;
  if (value.length > maxNetworks) return `${field} has ${value.length} networks; at most ${maxNetworks} are possible`;
  try {
    value.forEach(parseSubnet);
    return undefined;
  } catch (error) {
    return `${field}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function invalid(why: string): ParsedEgressPolicy {
  return { kind: "invalid", why };
}

export function egressWish({ metadata: { annotations } }: Pick<Pod, "metadata">): string | undefined {
  return annotations?.[annotationKeys.egressPolicy];
}

/** True when the node has done what the pod wishes now; of a pod without a wish, when it has taken back the last one. */
export function isEgressApplied(pod: Pod): boolean {
  const wish = egressWish(pod);
  const condition = podCondition(pod, podConditions.egressPolicy);
  if (wish === undefined) return condition === undefined;
  return condition?.status === "True" && condition.message === wish;
}

/** The message of a condition that says that a wish cannot be read. */
export function invalidEgressMessage(wish: string, why: string): string {
  return `${wish}: ${why}`;
}

/** Why the present wish cannot be granted; undefined as long as it may be. */
export function egressRefusal(pod: Pod): string | undefined {
  const wish = egressWish(pod);
  const condition = podCondition(pod, podConditions.egressPolicy);
  if (wish === undefined || condition?.reason !== podConditionReasons.invalidPolicy) return undefined;
  const answered = invalidEgressMessage(wish, "");
  return condition.message?.startsWith(answered) === true ? condition.message.slice(answered.length) : undefined;
}
