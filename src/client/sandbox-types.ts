/** Sandboxes as the native API sends and receives them. Time spans are texts such as 90s, 30m or 1h30m; times are RFC 3339. */
import type { AnswerOf, ItemOf, QueryOf } from "./answers.ts";
import type {
  ChangeTimeouts as TimeoutWish,
  CreatedSandbox,
  CreateSandbox as SandboxWish,
  LogLine,
  OpenTerminal as TerminalWish,
  RunCommand as ExecWish,
  Sandbox,
} from "./generated/api-types.generated.ts";

export type { CreatedSandbox, ExecWish, LogLine, Sandbox, SandboxWish, TerminalWish, TimeoutWish };
export type MountWish = ItemOf<NonNullable<SandboxWish["volumeMounts"]>>;
export type SandboxQuery = QueryOf<"listSandboxes">;
export type SandboxPage = AnswerOf<"listSandboxes">;
export type LogQuery = QueryOf<"readLog", "sandboxId">;
export type LogPart = AnswerOf<"readLog">;
export type ExecResult = AnswerOf<"runCommand">;
export type ExecStreamWish = Omit<ExecWish, "stdin" | "stdinEncoding">;
