/** Foreign JSON is `unknown` until it is checked against a schema; the message of a failed check names the place. */
import type { Static, TSchema } from "typebox";
import { Value } from "typebox/value";
import { ImageError, type ImageErrorCode } from "./image-error.ts";

/** The parsed text, in the schema's shape. Fields that the schema does not name are let through. */
export function parseJsonAs<T extends TSchema>(
  schema: T,
  text: Buffer | string,
  what: string,
  code: ImageErrorCode = "broken_content",
): Static<T> {
  let value: unknown;
  try {
    value = JSON.parse(text.toString());
  } catch (error) {
    throw new ImageError(code, `${what} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (Value.Check(schema, value)) return value;
  const [first] = Value.Errors(schema, value);
  const place = first === undefined || first.instancePath === "" ? "it" : first.instancePath.slice(1).replaceAll("/", ".");
  // How the validator says that nothing of this name is allowed.
  const problem = first?.keyword === "boolean" ? "is not known" : (first?.message ?? "does not match");
  throw new ImageError(code, `${what} has not the form it must have: ${place} ${problem}`);
}
