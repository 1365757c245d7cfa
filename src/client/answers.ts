/** Types of answers and queries that have no name in the OpenAPI document, taken from the operations that use them. */
import type { Api } from "./generated/api.generated.ts";

type Operation = Exclude<keyof Api, "prototype">;

/** What an operation answers. */
export type AnswerOf<Name extends Operation> = Awaited<ReturnType<Api[Name]>>;

/** What an operation may be asked for in its query. */
export type QueryOf<Name extends Operation, Place extends string = never> = Omit<
  NonNullable<Parameters<Api[Name]>[0]>,
  "signal" | "body" | Place
>;

export type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;
