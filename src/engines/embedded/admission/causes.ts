import type { StatusCause } from "#kube/api-error.ts";

/**
 * What is wrong with an object, said as the API server says it: the reasons and the wording of each sort of mistake.
 * A list of causes is filled while the rules walk through an object; paths are written as `spec.containers[0].name`.
 */
export class Causes {
  readonly #list: StatusCause[] = [];

  get count(): number {
    return this.#list.length;
  }

  get all(): readonly StatusCause[] {
    return this.#list;
  }

  /** Forgets what was added since there were `count` causes. */
  backTo(count: number): void {
    this.#list.length = count;
  }

  /** `value` undefined leaves the value out of the message: it is too large to help, or not given at all. */
  invalid(field: string, value: unknown, detail: string): void {
    this.#add("FieldValueInvalid", field, withValue("Invalid value", value, detail));
  }

  typeInvalid(field: string, value: unknown, detail: string): void {
    this.#add("FieldValueTypeInvalid", field, withValue("Invalid value", value, detail));
  }

  required(field: string, detail?: string): void {
    this.#add("FieldValueRequired", field, withDetail("Required value", detail));
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    const detail = supported.length === 0 ? undefined : `supported values: ${supported.map(quote).join(", ")}`;
    this.#add("FieldValueNotSupported", field, withValue("Unsupported value", value, detail));
  }

  duplicate(field: string, value: unknown): void {
    this.#add("FieldValueDuplicate", field, withValue("Duplicate value", value, undefined));
  }

  notFound(field: string, value: unknown): void {
    this.#add("FieldValueNotFound", field, withValue("Not found", value, undefined));
  }

  forbidden(field: string, detail: string): void {
    this.#add("FieldValueForbidden", field, withDetail("Forbidden", detail));
  }

  tooLong(field: string, maxBytes: number): void {
    this.#add("FieldValueTooLong", field, `Too long: may not be more than ${plural(maxBytes, "byte")}`);
  }

  tooMany(field: string, actual: number, max: number): void {
    this.#add("FieldValueTooMany", field, `Too many: ${actual}: must have at most ${plural(max, "item")}`);
  }

  addAll(others: Causes): void {
    for (const { reason, field, message } of others.all) this.#add(reason, field, message);
  }

  /** One cause for each of the messages that a syntax check of `value` gave. */
  invalidEach(field: string, value: string, messages: readonly string[]): void {
    for (const message of messages) this.invalid(field, value, message);
  }

  /** The server repeats some causes when several of its layers find the same mistake. Once is enough. */
  #add(reason: string, field: string, message: string): void {
    const known = this.#list.some((cause) => cause.field === field && cause.reason === reason && cause.message === message);
    if (!known) this.#list.push({ field, reason, message });
  }
}

/** Where the server has no path for a mistake, it says so. */
export const noField = "<nil>";

export const immutable = "field is immutable";

export function quote(text: string): string {
  return JSON.stringify(text);
}

function withValue(what: string, value: unknown, detail: string | undefined): string {
  return withDetail(value === undefined ? what : `${what}: ${JSON.stringify(value)}`, detail);
}

function withDetail(what: string, detail: string | undefined): string {
  return detail === undefined || detail === "" ? what : `${what}: ${detail}`;
}

function plural(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
