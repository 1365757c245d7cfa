import type { ServiceError } from "#services/service-error.ts";

/** What a use case answered instead of a result. Listens from the start, so that nothing is reported as unhandled. */
export function refusal(work: Promise<unknown>): Promise<ServiceError> {
  return work.then(
    () => {
      throw new Error("it should have failed");
    },
    (error: unknown) => error as ServiceError,
  );
}
