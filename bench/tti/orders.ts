/** What the processes of this benchmark tell each other. */

export interface Order {
  readonly count: number;
  /** Begins one so often, whether or not those before are done; 0: all at once. Left out: one after the other. */
  readonly everyMs?: number;
}

export type Asked =
  | { readonly kind: "ran"; readonly sandboxId: string; readonly createdMs: number; readonly totalMs: number }
  | { readonly kind: "failed"; readonly why: string };
