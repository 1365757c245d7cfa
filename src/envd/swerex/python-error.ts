/** An error as SWE-ReX's client raises it again: the path of a Python class, and the message to construct it with. */

const pythonClasses = {
  sessionExists: "swerex.exceptions.SessionExistsError",
  noSession: "swerex.exceptions.SessionDoesNotExistError",
  commandTimeout: "swerex.exceptions.CommandTimeoutError",
  nonZeroExit: "swerex.exceptions.NonZeroExitCodeError",
  noExitCode: "swerex.exceptions.NoExitCodeError",
  badSyntax: "swerex.exceptions.BashIncorrectSyntaxError",
  timeout: "pexpect.exceptions.TIMEOUT",
  endOfFile: "pexpect.exceptions.EOF",
  badPattern: "builtins.ValueError",
  memory: "builtins.MemoryError",
  lookup: "builtins.LookupError",
  unicodeDecode: "builtins.UnicodeDecodeError",
  badZip: "zipfile.BadZipFile",
  os: "builtins.OSError",
} as const;

export class PythonError extends Error {
  override readonly name = "PythonError";
  readonly classPath: string;
  readonly extraInfo: Readonly<Record<string, string>>;

  constructor(kind: keyof typeof pythonClasses, message: string, extraInfo: Readonly<Record<string, string>> = {}) {
    super(message);
    this.classPath = pythonClasses[kind];
    this.extraInfo = extraInfo;
  }
}

interface SystemError {
  readonly errno: number;
  readonly words: string;
  readonly classPath: string;
}

/** Python's messages for system errors, by their names. */
const systemErrors: Readonly<Record<string, SystemError>> = {
  ENOENT: { errno: 2, words: "No such file or directory", classPath: "builtins.FileNotFoundError" },
  EACCES: { errno: 13, words: "Permission denied", classPath: "builtins.PermissionError" },
  EPERM: { errno: 1, words: "Operation not permitted", classPath: "builtins.PermissionError" },
  EEXIST: { errno: 17, words: "File exists", classPath: "builtins.FileExistsError" },
  ENOTDIR: { errno: 20, words: "Not a directory", classPath: "builtins.NotADirectoryError" },
  EISDIR: { errno: 21, words: "Is a directory", classPath: "builtins.IsADirectoryError" },
  ENOSPC: { errno: 28, words: "No space left on device", classPath: pythonClasses.os },
  ENOEXEC: { errno: 8, words: "Exec format error", classPath: pythonClasses.os },
};

export interface TransferredError {
  readonly message: string;
  readonly class_path: string;
  readonly traceback: string;
  readonly extra_info: Readonly<Record<string, string>>;
}

/** The body of an answer with status 511. */
export function transferred(error: unknown): { readonly swerexception: TransferredError } {
  return { swerexception: { traceback: "", extra_info: {}, ...described(error) } };
}

function described(error: unknown): Pick<TransferredError, "message" | "class_path"> & Partial<TransferredError> {
  if (error instanceof PythonError) return { message: error.message, class_path: error.classPath, extra_info: error.extraInfo };
  if (!(error instanceof Error)) return { message: String(error), class_path: "builtins.RuntimeError" };
  const { code = "", path, message } = error as NodeJS.ErrnoException;
  const known = systemErrors[code];
  if (known === undefined) return { message, class_path: "builtins.RuntimeError" };
  return { message: systemText(known, path), class_path: known.classPath };
}

function systemText({ errno, words }: SystemError, path: string | undefined): string {
  return path === undefined ? `[Errno ${errno}] ${words}` : `[Errno ${errno}] ${words}: '${path}'`;
}

/** For errors that Node words in another way. */
export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, path });
}
