import type { ApiObject, Condition } from "./meta.ts";

interface WithConditions extends ApiObject {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined };
}

export type StatedCondition = Omit<Condition, "lastTransitionTime" | "observedGeneration">;

export function conditionIn(object: WithConditions, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** What is to be written of the object. The time of a condition is when its status last changed, not when it was last written. */
export function statedCondition(object: WithConditions, stated: StatedCondition, now: string): Condition {
  const before = conditionIn(object, stated.type);
  const { generation } = object.metadata;
  return {
    ...stated,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === stated.status ? before.lastTransitionTime : now,
  };
}
