/** Several sandboxes by one request: all, or as many as could be had if the caller is content with fewer. */
import { checkBatch } from "./check-create.ts";
import type { BatchOptions, CreatedBatch, CreatedSandbox } from "#services/sandbox-service.ts";
import { isServiceError, type ServiceError } from "#services/service-error.ts";

export interface OneByOne {
  /** Each ends when the signal is aborted, and then gives back what it has. */
  readonly create: (index: number) => Promise<CreatedSandbox>;
  readonly end: (sandboxId: string) => Promise<void>;
}

/** Throws what kept the first of them from being made, when there are too few; those that were made have been ended then. */
export async function createMany({ create, end }: OneByOne, options: BatchOptions): Promise<CreatedBatch> {
  const atLeast = checkBatch(options);
  const results = await Promise.allSettled(Array.from({ length: options.count }, (_, index) => create(index)));
  const sandboxes = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  // A bug is not a shortage of pods, so it fails the whole batch.
  const defect = failed.find((reason) => !isServiceError(reason));
  if (sandboxes.length < atLeast || defect !== undefined) {
    await Promise.allSettled(sandboxes.map(({ sandbox }) => end(sandbox.sandboxId)));
    throw defect ?? failed[0];
  }
  const failures = (failed as readonly ServiceError[]).map(({ code, message }) => ({ code, message }));
  return { sandboxes, failures };
}
