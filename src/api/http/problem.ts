/** Failures as problem details (RFC 9457): the shape of every error of the native API. */
import type { ErrorBody, ErrorShape } from "./error-shape.ts";
import { errorTitle } from "./status.ts";

export const problemShape: ErrorShape = ({ status, code, message, details }, requestId): ErrorBody => ({
  contentType: "application/problem+json",
  body: { type: `urn:agentbox:error:${code}`, title: errorTitle[code], status, code, detail: message, ...details, requestId },
});
