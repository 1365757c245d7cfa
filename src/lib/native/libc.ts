/**
 * Calls into the C library for what Node does not offer. This file binds functions and turns errno into errors;
 * beside it: files.ts (locks, device nodes, extended attributes).
 *
 * Paths go in as bytes, because Linux names are bytes and not always UTF-8.
 */
import koffi from "koffi";

/** What a bound function takes: numbers, and bytes for strings and buffers alike. */
export type Argument = number | bigint | Buffer | null;

/** Returns what C returned, or throws if that was -1. `about` ends up in the message: the path, most often. */
export type SystemCall = (about: string, ...args: readonly Argument[]) => number;

const library = koffi.load(null);
const codes = new Map(Object.entries(koffi.os.errno).map(([code, errno]) => [errno, code]));

/**
 * Binds a function by its C declaration. Its results must fit into a JavaScript number and use -1 for failure.
 * `name` is what errors call it; of `syscall` the caller knows better what it does.
 */
export function systemCall(declaration: string, name = / \*?(\w+)\(/.exec(declaration)?.[1] ?? declaration): SystemCall {
  const call = library.func(declaration) as (...args: readonly Argument[]) => number | bigint;
  return (about, ...args) => {
    const result = Number(call(...args));
    if (result === -1) throw systemError(koffi.errno(), name, about);
    return result;
  };
}

/** The form of Node's own system errors, so that callers treat both alike. */
export function systemError(errno: number, syscall: string, about: string): NodeJS.ErrnoException {
  const code = codes.get(errno) ?? `errno ${errno}`;
  return Object.assign(new Error(`${code}: ${syscall} ${about}`), { code, errno: -errno, syscall, path: about });
}

/** A path or name as C wants it: its bytes and a final zero. */
export function cString(text: string | Buffer): Buffer {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  return Buffer.concat([bytes, zero]);
}

const zero = Buffer.alloc(1);
