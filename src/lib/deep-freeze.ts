/** Freezes a JSON value and all that is in it, and returns it. What is frozen already is taken to be frozen all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
