import { isServiceError } from "#services/service-error.ts";

/** For traces: the code and the words of whatever was thrown. */
export function failureCode(error: unknown): string {
  if (isServiceError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
