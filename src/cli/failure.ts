/** How commands fail. Whatever else is thrown is a defect and shown as one. */

/** Something the user can read and act on, already in words. Exit code 1. */
export class CliError extends Error {
  override readonly name = "CliError";
}

/** The command line itself is wrong. Exit code 2, with a hint at the help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Several things failed while others went on; each is told on its own. */
export class ManyErrors extends Error {
  override readonly name = "ManyErrors";
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(`${errors.length} errors`);
    this.errors = errors;
  }
}

/** Throws what was collected: nothing, the one error itself, or all. */
export function throwCollected(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new ManyErrors(errors);
}
