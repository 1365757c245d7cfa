/** The API key in a request's headers. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "#services/service-error.ts";

/** Where keys may stand; one is enough, and several must be the same: whoever sends two does not know which one counts. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const found = [headers["agentbox-api-key"], headers["x-api-key"], bearer(headers.authorization)]
    .flat()
    .map((text) => text?.trim())
    .filter((text) => text !== undefined && text !== "");
  const [first, ...others] = new Set(found);
  if (others.length > 0) {
    throw new ServiceError("invalid_request", "two different API keys in AGENTBOX-API-KEY, X-API-Key and Authorization: send one", {
      field: "header.authorization",
    });
  }
  return first;
}

/** Other schemes are somebody else's, such as a proxy's. */
function bearer(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization?.trim() ?? "")?.[1];
}
