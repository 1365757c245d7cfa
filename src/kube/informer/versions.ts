/**
 * Order of resourceVersions: negative when `a` is older than `b`, 0 when they are the same, positive when it is newer.
 * Both engines write them as decimal integers without leading zeros, and may outgrow a JavaScript number;
 * so the longer one is newer, and among equal lengths text order is number order.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function newerVersion(a: string, b: string): string {
  return compareVersions(a, b) >= 0 ? a : b;
}
