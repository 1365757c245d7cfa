import { ServiceError } from "#services/service-error.ts";
import type { WebhookWish } from "./webhook-service.ts";

const longest = { name: 128, url: 2048, secret: 256 } as const;

/** Where its address leads is checked with each delivery, because names change. Throws invalid_request. */
export function checkWebhook({ name, url, events, secret }: WebhookWish): void {
  for (const [field, text] of Object.entries({ name, url, secret }) as [keyof typeof longest, string][]) {
    if (text.length < 1 || text.length > longest[field]) throw invalid(field, `must have 1 to ${longest[field]} characters`);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol))
    throw invalid("url", "must be an address such as https://example.com/hook");
  if (parsed.username !== "" || parsed.password !== "") throw invalid("url", "must not hold a user or a password");
  if (events.length === 0) throw invalid("events", "must name at least one type of event");
}

function invalid(field: keyof typeof longest | "events", why: string): ServiceError {
  const named = field === "secret" ? "signatureSecret" : field;
  return new ServiceError("invalid_request", `${named}: ${why}`, { field: named });
}
