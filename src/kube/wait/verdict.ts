import type { ApiObject } from "#model/meta.ts";

/** What an object says about a state that a caller waits for. */
export type Verdict =
  | { readonly kind: "satisfied" }
  /** Not yet; `missing` says what is missing, for people. */
  | { readonly kind: "waiting"; readonly missing: string }
  /** Never any more; `reason` is one word for programs. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };

/** Pure. `now` is in milliseconds since the epoch. */
export type Checker<T extends ApiObject> = (object: T, now: number) => Verdict;

export const satisfied: Verdict = { kind: "satisfied" };

export function waiting(missing: string): Verdict {
  return { kind: "waiting", missing };
}

export function failed(reason: string, message: string): Verdict {
  return { kind: "failed", reason, message };
}
