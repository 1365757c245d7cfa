/** Why a build cannot go on, for its user: a step that is wrong or that failed. Everything else is a defect, and is told as one. */

/** The phase before the first step, the one after the last, or a step by its number from 1 on: E2B's clients find the caller's line by it. */
export type StepName = "base" | "finalize" | number;

export class BuildFailure extends Error {
  override readonly name = "BuildFailure";
  readonly step: StepName;

  constructor(step: StepName, message: string, options?: ErrorOptions) {
    super(message, options);
    this.step = step;
  }
}

export function nameOfStep(step: StepName): string {
  return String(step);
}
