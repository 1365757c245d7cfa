/**
 * How deeply JSON from outside may be nested. Objects are walked by recursion in many places (merging, comparing, checking, printing),
 * and each has only its stack; so what none of them could hold is refused where it comes in. Real objects have some twenty levels.
 */
export const maxJsonDepth = 500;

/** Whether the value has more levels of objects and lists than may be. Never deeper in the stack than that itself. */
export function isTooDeep(value: unknown, levels: number = maxJsonDepth): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, levels - 1));
  for (const key in value) if (isTooDeep((value as Readonly<Record<string, unknown>>)[key], levels - 1)) return true;
  return false;
}
