/** Inputs that several tools have. */
import { type TProperties, Type } from "typebox";

export const sandboxId = Type.String({
  minLength: 1,
  maxLength: 63,
  description: "Id of the sandbox, as create_sandbox and list_sandboxes give it",
});

export const path = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: "^[^\\u0000]*$",
  description: "Absolute, or relative to the home folder of the sandbox's user",
});

export const texts = (description: string) => Type.Record(Type.String(), Type.String(), { description });

export function whole(description: string, { usual, most }: { readonly usual: number; readonly most: number }) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: most, default: usual, description: `${description}; ${usual} when left out` }));
}

export const offset = (description: string) => Type.Optional(Type.Integer({ minimum: 0, default: 0, description }));

const strict = { additionalProperties: false } as const;

/** A call with a name that a tool does not know is refused, not half understood. */
export const input = <Properties extends TProperties>(properties: Properties) => Type.Object(properties, strict);
