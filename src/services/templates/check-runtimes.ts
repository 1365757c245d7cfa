import type { EmbeddedSandboxTemplate } from "#model/sandbox-runtime.ts";
import { runtimeProblem } from "#sandbox/runtimes/runtime-problem.ts";
import { ServiceError } from "#services/service-error.ts";

/** Settings of runtimes are in a form of their own, which no schema has. Throws invalid_request. */
export function checkRuntimes({ spec }: { readonly spec: EmbeddedSandboxTemplate }): void {
  const problem = runtimeProblem(spec.runtimes);
  if (problem !== undefined) throw new ServiceError("invalid_request", problem.message, { field: problem.field });
}
