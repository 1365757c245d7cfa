/** As much of the JavaScript code-interpreter SDK as the cases call, beyond what it has of the SDK below it. */
import type { CreateOptions, Sandbox, SandboxClass, Sdk } from "./sdk.ts";

export interface InterpreterSdk extends Sdk {
  readonly Sandbox: InterpreterSandboxClass;
}

interface InterpreterSandboxClass extends SandboxClass {
  create(options?: CreateOptions): Promise<InterpreterSandbox>;
  create(template: string, options?: CreateOptions): Promise<InterpreterSandbox>;
  connect(sandboxId: string, options?: { readonly timeoutMs?: number }): Promise<InterpreterSandbox>;
}

export interface InterpreterSandbox extends Sandbox {
  runCode(code: string, options?: RunOptions): Promise<Execution>;
  createCodeContext(options?: { readonly cwd?: string; readonly language?: string }): Promise<Context>;
  removeCodeContext(context: Context | string): Promise<void>;
  listCodeContexts(): Promise<Context[]>;
  restartCodeContext(context: Context | string): Promise<void>;
}

export interface RunOptions {
  readonly language?: string;
  readonly context?: Context;
  readonly envs?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly onStdout?: (output: { readonly line: string; readonly error: boolean }) => unknown;
  readonly onStderr?: (output: { readonly line: string; readonly error: boolean }) => unknown;
  readonly onResult?: (result: Result) => unknown;
  readonly onError?: (error: ExecutionError) => unknown;
}

export interface Context {
  readonly id: string;
  readonly language: string;
  readonly cwd: string;
}

interface ExecutionError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

export interface Execution {
  readonly results: readonly Result[];
  readonly logs: { readonly stdout: readonly string[]; readonly stderr: readonly string[] };
  readonly error?: ExecutionError;
  readonly executionCount?: number;
  readonly text?: string;
}

export interface Result {
  readonly isMainResult: boolean;
  readonly text?: string;
  readonly html?: string;
  readonly png?: string;
  readonly json?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly chart?: Readonly<Record<string, unknown>>;
  readonly extra?: Readonly<Record<string, unknown>>;
  formats(): string[];
}
