/** What the processes of this benchmark tell each other. */

export interface Order {
  readonly count: number;
  /** Begins one so often, whether or not those before are done; 0: all at once. Left out: one after the other. */
  readonly everyMs?: number;
  /** A second command in the same sandbox, to see what the first one pays for being the first. */
  readonly again?: boolean;
}

export type Asked =
  | { readonly kind: "ran"; readonly sandboxId: string; readonly createdMs: number; readonly totalMs: number; readonly againMs: number }
  | { readonly kind: "failed"; readonly why: string };
