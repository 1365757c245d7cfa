/** What a wait can end with instead of its object. One class, closed codes; matched by fields, so that a caller can ask for exactly the case it means. */
export type WaitAction = "pause" | "pause without memory" | "resume" | "ready" | "checkpoint";

export type WaitErrorDetail =
  /** Another action holds the object. Nothing was taken. */
  | { readonly code: "conflict"; readonly existing: WaitAction; readonly requested: WaitAction }
  /** The time was up, or the caller gave up, before the state was reached. */
  | {
      readonly code: "not-satisfied";
      readonly action: WaitAction;
      readonly because: "deadline" | "cancelled" | "no-time";
      /** False when there was no time even to hold the object: only what the caller brought was looked at. */
      readonly duringDoubleCheck: boolean;
      readonly waitingFor: string;
    }
  /** The state cannot be reached any more. */
  | { readonly code: "failed"; readonly action: WaitAction; readonly reason: string }
  /** The object is gone, also from the server, or another one has its name. */
  | { readonly code: "gone"; readonly action: WaitAction }
  /** The task was waited for or released before. */
  | { readonly code: "used"; readonly action: WaitAction };

export class WaitError extends Error {
  override readonly name = "WaitError";
  readonly detail: WaitErrorDetail;
  /** `pods team-a/py-x1`. */
  readonly object: string;

  constructor(object: string, detail: WaitErrorDetail, options: { readonly message: string; readonly cause?: unknown }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.object = object;
    this.detail = detail;
  }
}

/** Any of the fields that some detail has. */
export type WaitErrorMatch = {
  readonly [Field in WaitErrorDetail extends infer Detail ? (Detail extends Detail ? keyof Detail : never) : never]?: Extract<
    WaitErrorDetail,
    Readonly<Record<Field, unknown>>
  >[Field];
};

/** True for a WaitError whose fields equal all given ones: `isWaitError(error, { code: "conflict", existing: "pause" })`. */
export function isWaitError(error: unknown, match: WaitErrorMatch = {}): error is WaitError {
  if (!(error instanceof WaitError)) return false;
  const fields = new Map<string, unknown>(Object.entries(error.detail));
  return Object.entries(match).every(([field, wanted]) => fields.get(field) === wanted);
}
