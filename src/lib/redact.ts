/**
 * Makes a value fit to be logged: what stands under a key that looks like a secret is replaced, credentials inside texts
 * too, errors become plain data. A rule without a check decays, so it sits in the one place that every log line passes.
 */
const secretKey = /authorization|cookie|token|password|passwd|passphrase|apikey|privatekey|credential|secrets?$/;
const credentialInText = /\b(bearer|basic)\s+[\w.~+/-]+=*/gi;
/** API keys have a form that nothing else has, so they are found wherever they stand. */
const keyInText = /\be2b_[0-9a-f]{8,}/gi;
/** Deep enough for any Status; also ends what refers to itself. */
const maxDepth = 8;

export const redacted = "[redacted]";

export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.replace(credentialInText, `$1 ${redacted}`).replace(keyInText, redacted);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  return depth >= maxDepth ? "[too deep]" : redactObject(value, depth);
}

function redactObject(value: object, depth: number): unknown {
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  if (value instanceof Error) return redactError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof URL) return redact(value.origin + value.pathname);
  return redactEntries(value instanceof Map ? value.entries() : Object.entries(value), depth);
}

function redactEntries(entries: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    clean[String(key)] = looksSecret(String(key)) && value !== undefined ? redacted : redact(value, depth + 1);
  }
  return clean;
}

function looksSecret(key: string): boolean {
  return secretKey.test(key.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
}

/** Only what tells about the failure: other properties of an error may hold whole requests. */
function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  return {
    type: error.name,
    message: redact(error.message),
    ...(code === undefined ? {} : { code: redact(code, depth + 1) }),
    ...(reason === undefined ? {} : { reason: redact(reason, depth + 1) }),
    stack: redact(error.stack),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
    ...(error instanceof AggregateError ? { errors: redact(error.errors, depth + 1) } : {}),
  };
}
