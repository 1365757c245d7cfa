/** A copy without the fields that are undefined, which optional fields of our types do not allow. */
export function withoutUndefined<T extends object>(record: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter((entry) => entry[1] !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
