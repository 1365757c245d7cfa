import koffi from "koffi";

const names: ReadonlyMap<number, string> = new Map(Object.entries(koffi.os.errno).map(([name, errno]) => [errno, name]));

/** The name that manuals use for an errno, such as `ENOSPC`. */
export function errnoName(errno: number): string {
  return names.get(errno) ?? `errno ${errno}`;
}

/** A system call that the kernel refused. `code` is the errno's name, as in the errors of `node:fs`. */
export class SystemCallError extends Error {
  override readonly name = "SystemCallError";
  readonly call: string;
  readonly code: string;

  constructor(call: string, errno: number, what: string) {
    const code = errnoName(errno);
    super(`${call} ${what}: ${code}`);
    this.call = call;
    this.code = code;
  }
}

/** True for errors of `node:fs` and of our own system calls that carry one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}
