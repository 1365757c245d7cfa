/** What a plugin may answer: well-formed objects in which nothing is changed that makes them what they are. Pure. */
import { isDeepStrictEqual } from "node:util";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Refusal, RefusalKind } from "./plugin.ts";

const refusalKinds: readonly RefusalKind[] = ["InsufficientResources", "InvalidSpec", "Internal"];
const longestMessage = 2000;
/** A plugin that says more, or less, is asked again after this: its mistake must neither keep a member away for ever nor have it asked without a rest. */
const [shortestRetryMs, longestRetryMs] = [1000, 3_600_000];

/** What is wrong with the answer, to be put behind the name of the hook; undefined: nothing. */
export function answerFault(given: Pod | SandboxPool, answer: unknown): string | undefined {
  if (!isRecord(answer) || !isRecord(answer["metadata"]) || !isRecord(answer["spec"])) {
    return "answered something that is not an object with metadata and spec";
  }
  const object = answer as unknown as Pod | SandboxPool;
  return shapeFault(given, object) ?? identityFault(given, object);
}

function shapeFault(given: Pod | SandboxPool, { spec }: Pod | SandboxPool): string | undefined {
  if (isPool(given)) {
    const { replicas } = spec as SandboxPool["spec"];
    return Number.isInteger(replicas) && replicas >= 0
      ? undefined
      : "answered a pool whose spec.replicas is not a whole number of at least 0";
  }
  const { containers } = spec as Pod["spec"];
  const isList =
    Array.isArray(containers) && containers.length > 0 && containers.every((one) => isRecord(one) && typeof one["name"] === "string");
  return isList ? undefined : "answered a pod whose spec.containers is not a list of named containers";
}

/** A pool has replicas, a pod has containers. */
function isPool(object: Pod | SandboxPool): object is SandboxPool {
  return "replicas" in object.spec;
}

const keptMetadata = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "ownerReferences",
  "finalizers",
] as const;
const ownLabels: readonly string[] = Object.values(labelKeys);
/** What schedulers are told is for plugins to write. */
const forSchedulers: ReadonlySet<string> = new Set([annotationKeys.reservation, annotationKeys.replicaQuota]);
const ownAnnotations: readonly string[] = Object.values(annotationKeys).filter((key) => !forSchedulers.has(key));

function identityFault(given: ApiObject, answer: ApiObject): string | undefined {
  const changed = keptMetadata.find((field) => !isDeepStrictEqual(given.metadata[field], answer.metadata[field]));
  if (changed !== undefined) return `changed metadata.${changed}, which plugins may not change`;
  if (!isDeepStrictEqual(statusOf(given), statusOf(answer))) return "changed status, which plugins may not change";
  return (
    keysFault("labels", [given.metadata.labels, answer.metadata.labels], ownLabels) ??
    keysFault("annotations", [given.metadata.annotations, answer.metadata.annotations], ownAnnotations)
  );
}

function statusOf(object: ApiObject): unknown {
  return (object as { readonly status?: unknown }).status;
}

type Texts = Readonly<Record<string, string>> | undefined;

function keysFault(field: string, [given = {}, answer = {}]: readonly [Texts, Texts], own: readonly string[]): string | undefined {
  if (!isRecord(answer) || !Object.values(answer).every((value) => typeof value === "string")) {
    return `answered metadata.${field} that are not texts`;
  }
  const changed = own.find((key) => given[key] !== answer[key]);
  return changed === undefined ? undefined : `changed metadata.${field}[${JSON.stringify(changed)}], which AgentBox keeps itself`;
}

/** A refusal that is not one is an internal one that says so. */
export function readRefusal(hook: string, refusal: unknown): Refusal {
  if (!isRecord(refusal)) return { kind: "Internal", message: `${hook} answered a refusal that is not an object` };
  const { message, wouldFit, retryAfterMs } = refusal;
  const kind = refusalKinds.find((known) => known === refusal["kind"]);
  if (kind === undefined) {
    return {
      kind: "Internal",
      message: `${hook} refused with the kind ${JSON.stringify(refusal["kind"])}: it must be one of ${refusalKinds.join(", ")}`,
    };
  }
  const said = typeof message === "string" && message.trim() !== "" ? message.trim().slice(0, longestMessage) : "it gave no reason";
  return {
    kind,
    message: said,
    ...(isCount(wouldFit) && { wouldFit: Math.floor(wouldFit) }),
    ...(isCount(retryAfterMs) && { retryAfterMs: Math.min(Math.max(retryAfterMs, shortestRetryMs), longestRetryMs) }),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
