/**
 * Annotations may have been written by any program with access to the pod. Each reader returns undefined for text in another form, so that no decision is
 * based on a misread value.
 */
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** UTC with milliseconds: the order of the texts is the order of the times. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch. Takes any RFC 3339, because API servers write whole seconds. */
export function parseTime(text: string | null | undefined): number | undefined {
  if (typeof text !== "string" || !rfc3339.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whole seconds; a started second counts, so that no limit becomes shorter than it was asked for. */
export function formatSeconds(ms: number): string {
  return String(Math.ceil(ms / 1000));
}

/** In milliseconds. */
export function parseSeconds(text: string | undefined): number | undefined {
  const seconds = parseCount(text);
  return seconds === undefined ? undefined : seconds * 1000;
}

export function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

/** JSON object with texts in it. */
export function parseStringMap(text: string | undefined): Readonly<Record<string, string>> | undefined {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.values(value).every((item) => typeof item === "string") ? (value as Record<string, string>) : undefined;
}

export function parseStringList(text: string | undefined): readonly string[] | undefined {
  const value = parseJson(text);
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
