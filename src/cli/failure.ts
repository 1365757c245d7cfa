/** Errors of commands. Any other exception is a bug and is shown as one. */

/** An error that the user can act on, with its final text. Exit code 1. */
export class CliError extends Error {
  override readonly name = "CliError";
}

/** The command line is wrong. Exit code 2, with a hint at the help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Several objects failed while others continued; each error is printed separately. */
export class ManyErrors extends Error {
  override readonly name = "ManyErrors";
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(`${errors.length} errors`);
    this.errors = errors;
  }
}

/** Throws the collected errors: none, a single one as itself, or all. */
export function throwCollected(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new ManyErrors(errors);
}
