/** Makes what two servers answered comparable: what must differ (uids, versions, times, namespaces) is replaced by its role. */
export class Comparable {
  readonly #namespace: string;
  readonly #uids = new Map<string, string>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  of(value: unknown, field = ""): unknown {
    if (Array.isArray(value)) return value.map((item) => this.of(item, field));
    if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value).map(([key, own]) => [key, this.of(own, key)] as const);
      return Object.fromEntries(entries.filter(([, own]) => own !== undefined));
    }
    if (typeof value !== "string") return value;
    if (field === "uid") return this.#role(value);
    if (field === "resourceVersion") return "a version";
    if (field.endsWith("Timestamp")) return "a time";
    return value.replaceAll(this.#namespace, "NAMESPACE");
  }

  #role(uid: string): string {
    const known = this.#uids.get(uid) ?? `uid ${this.#uids.size + 1}`;
    this.#uids.set(uid, known);
    return known;
  }
}
