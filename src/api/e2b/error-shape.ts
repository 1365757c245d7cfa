/** Failures as E2B's SDKs read them: some look at the status, some at `code`. */
import type { ErrorBody, ErrorShape } from "../http/error-shape.ts";

export const e2bErrors: ErrorShape = ({ status, message }): ErrorBody => ({
  contentType: "application/json; charset=utf-8",
  body: { code: status, message },
});
