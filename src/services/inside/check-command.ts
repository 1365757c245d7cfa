/** Whether the kernel takes a command: what it refuses by a number is refused here with the place. */
import type { ExecRequest } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

/** MAX_ARG_STRLEN of Linux: of one argument, or one variable with its name, with the byte that ends it. */
export const longestString = 128 * 1024;
/** Bytes of all of them. Linux takes 2 MiB, of which the sandbox's own environment needs some. */
const longestCommand = 1024 * 1024;

export function checkCommand({ argv, env = {} }: Pick<ExecRequest, "argv" | "env">): void {
  argv.forEach((word, index) => checkString(`command[${index}]`, word));
  for (const [name, value] of Object.entries(env)) checkVariable(`env.${name}`, name, value);
  const all = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const bytes = all.reduce((sum, one) => sum + Buffer.byteLength(one) + 1, 0);
  if (bytes > longestCommand)
    throw invalid("command", `the command and its environment have ${bytes} bytes; there may be ${longestCommand}`);
}

/** Throws invalid_request. */
export function checkVariable(field: string, name: string, value: string): void {
  if (value.includes("\0")) throw invalid(field, `${field} has NUL in its value`);
  const bytes = Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
  if (bytes <= longestString) return;
  const most = longestString - Buffer.byteLength(name) - 2;
  throw invalid(
    field,
    `${field} has ${Buffer.byteLength(value)} bytes; Linux takes ${most} of a variable of this name. Put it into a file`,
  );
}

function checkString(field: string, word: string): void {
  if (word.includes("\0")) throw invalid(field, `${field} has NUL in it`);
  const bytes = Buffer.byteLength(word);
  if (bytes < longestString) return;
  throw invalid(field, `${field} has ${bytes} bytes; Linux takes ${longestString - 1} of an argument. Send it as the command's input`);
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError("invalid_request", message, { field });
}
