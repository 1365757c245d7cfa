/** Why a lookup has no answer. Two objects under one id are as bad as none: acting on one of them might hit another tenant's. */
export class LookupError extends Error {
  override readonly name = "LookupError";
  readonly code: "not-found" | "ambiguous";
  readonly what: "sandbox" | "checkpoint" | "pool";
  readonly id: string;
  /** `namespace/name` of the objects that have the id. */
  readonly found: readonly string[];

  constructor(what: LookupError["what"], id: string, found: readonly string[]) {
    super(found.length === 0 ? `no ${what} "${id}" in the cache` : `${what} "${id}" is ambiguous: ${found.join(" and ")} have this id`);
    this.code = found.length === 0 ? "not-found" : "ambiguous";
    this.what = what;
    this.id = id;
    this.found = found;
  }
}

export function isLookupError(error: unknown, code?: LookupError["code"]): error is LookupError {
  return error instanceof LookupError && (code === undefined || error.code === code);
}
