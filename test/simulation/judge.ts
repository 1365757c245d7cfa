/** Keeps the first thing that must not happen and did. What follows from it is not worth telling. */
export interface Violation {
  /** I1 to I11 of docs/ARCHITECTURE.md, or E1 to E5 of env-watch.ts. */
  readonly invariant: string;
  readonly message: string;
}

export class Judge {
  #violation: Violation | undefined;

  get violation(): Violation | undefined {
    return this.#violation;
  }

  violate(invariant: string, message: string): void {
    this.#violation ??= { invariant, message };
  }

  /** Says so if it does not hold. */
  hold(invariant: string, holds: boolean, message: () => string): void {
    if (!holds) this.violate(invariant, message());
  }
}
