import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { moduleOf } from "./known-runtimes.ts";
import { probeProblem } from "./ready-checks.ts";

/** What is wrong with the runtimes of a template, and where; undefined: nothing. */
export function runtimeProblem(runtimes: readonly SandboxRuntime[] = []): { readonly field: string; readonly message: string } | undefined {
  for (const [index, runtime] of runtimes.entries()) {
    const config = runtime.config === undefined ? undefined : moduleOf(runtime).configProblem(runtime.config);
    if (config !== undefined) return problem(`spec.runtimes[${index}].config`, runtime, config);
    const probe = probeProblem(runtime, runtimes);
    if (probe !== undefined) return problem(`spec.runtimes[${index}].readinessProbe`, runtime, probe);
  }
  return undefined;
}

function problem(field: string, { name }: SandboxRuntime, what: string): { readonly field: string; readonly message: string } {
  return { field, message: `${field} of the runtime ${name}: ${what}` };
}
