/** What a runtime of a template is for us. One that we serve ourselves is a module of its own; any other is `otherRuntime`. */
import type { JsonObject } from "#model/meta.ts";
import type { EnvVar } from "#model/pod.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";

export interface RuntimeModule {
  /** Where its clients look for it, unless the template says otherwise. */
  readonly usualPort?: number;
  /** What the container gets of it, so that it can start as it is configured. The port is the template's, or the usual one. */
  variables(runtime: SandboxRuntime, port: number | undefined): readonly EnvVar[];
  /** Whether the daemon serves it: then it is ready as soon as the daemon answers. */
  isServed(runtime: SandboxRuntime): boolean;
  /** What is wrong with its settings; undefined: nothing. */
  configProblem(config: JsonObject): string | undefined;
}

/** Variables of the daemon: no template may set them. */
export const runtimeVariables = {
  daemonPort: "AGENTBOX_ENVD_PORT",
  interpreterPort: "AGENTBOX_INTERPRETER_PORT",
  swerexPort: "AGENTBOX_SWEREX_PORT",
  swerexUser: "AGENTBOX_SWEREX_USER",
  swerexMode: "AGENTBOX_SWEREX_MODE",
} as const;

/** Names the settings that there are. */
export function unknownKeys(config: JsonObject, known: readonly string[]): string | undefined {
  const other = Object.keys(config).find((key) => !known.includes(key));
  if (other === undefined) return undefined;
  return `has no setting ${JSON.stringify(other)}; ${known.length === 0 ? "this runtime has none" : `there are ${known.join(", ")}`}`;
}
