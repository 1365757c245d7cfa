/** Turns a Dockerfile and a context folder into the request of a build. */
import type { Dockerfile, DockerStep } from "#builds/dockerfile/parse-dockerfile.ts";
import { CliError } from "../failure.ts";
import { type ContextFile, filesOf } from "./context-files.ts";
import { hashOf, type Packed } from "./pack-context.ts";

export interface PlannedStep {
  readonly type: DockerStep["type"];
  readonly args: readonly string[];
  /** In the Dockerfile. */
  readonly line: number;
  readonly files?: { readonly hash: string; readonly list: readonly Packed[] };
}

export async function planSteps({ steps }: Dockerfile, context: readonly ContextFile[]): Promise<readonly PlannedStep[]> {
  const planned: PlannedStep[] = [];
  for (const step of steps) planned.push(step.type === "COPY" ? await plannedCopy(step, context) : step);
  return planned;
}

async function plannedCopy(step: Extract<DockerStep, { type: "COPY" }>, context: readonly ContextFile[]): Promise<PlannedStep> {
  const { line, source, target, owner, mode, content } = step;
  const list: readonly Packed[] = content === undefined ? filesOf(source, context) : [{ name: source, content }];
  if (list.length === 0) {
    throw new CliError(`Dockerfile line ${line}: the context has no ${source}, or .dockerignore leaves it out`);
  }
  return { type: "COPY", line, args: [source, target, owner, mode], files: { hash: await hashOf(list), list } };
}
