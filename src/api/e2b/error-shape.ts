/** Failures in E2B's form: some SDKs read the status, others read `code`. */
import type { ErrorBody, ErrorShape } from "../http/error-shape.ts";

export const e2bErrors: ErrorShape = ({ status, message }): ErrorBody => ({
  contentType: "application/json; charset=utf-8",
  body: { code: status, message },
});
