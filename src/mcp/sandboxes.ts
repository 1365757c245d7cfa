/** What the tools need of sandboxes, for one caller: whose they are was decided before. Failures that the caller is told are ToolFailures. */

export interface ToolSandboxes {
  create(wish: CreateWish, signal: AbortSignal): Promise<SandboxFacts>;
  list(query: ListQuery): Promise<{ readonly sandboxes: readonly SandboxFacts[]; readonly next?: string }>;
  view(sandboxId: string): Promise<SandboxFacts>;
  end(sandboxId: string): Promise<void>;
  /** Of the first container, the newest last. */
  logs(sandboxId: string, lines: number, signal: AbortSignal): Promise<string>;
  run(sandboxId: string, command: CommandWish, signal: AbortSignal): Promise<CommandEnd>;
  /** Resolves with the process id. */
  start(sandboxId: string, command: StartWish, signal: AbortSignal): Promise<number>;
  runCode(sandboxId: string, code: CodeWish, signal: AbortSignal): Promise<CodeOutcome>;
  readFile(sandboxId: string, wanted: FileRange, signal: AbortSignal): Promise<FileBytes>;
  writeFile(sandboxId: string, path: string, bytes: Buffer, signal: AbortSignal): Promise<void>;
  listFolder(sandboxId: string, folder: FolderWish, signal: AbortSignal): Promise<readonly FolderEntry[]>;
  /** Undefined where the server does not know its domain. */
  portUrl(sandboxId: string, port: number): string | undefined;
}

type Texts = Readonly<Record<string, string>>;

export interface CreateWish {
  readonly pool: string;
  readonly image?: string;
  readonly metadata?: Texts;
  readonly envVars?: Texts;
  readonly idleTimeoutMs?: number;
  readonly lifetimeMs?: number;
}

export interface SandboxFacts {
  readonly sandboxId: string;
  readonly status: string;
  readonly poolName: string;
  readonly templateName?: string;
  readonly claimedAt: string;
  readonly endTime?: string;
  readonly metadata: Texts;
  readonly privateTraffic?: boolean;
}

export interface ListQuery {
  readonly limit: number;
  readonly cursor?: string;
  readonly includeEnded: boolean;
}

export interface StartWish {
  readonly argv: readonly string[];
  readonly env?: Texts;
  readonly user?: string;
  readonly workingDir?: string;
}

export interface CommandWish extends StartWish {
  readonly stdin?: string;
  readonly timeoutMs: number;
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Buffer) => void;
}

export interface CommandEnd {
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly status?: string;
}

export interface CodeWish {
  readonly code: string;
  readonly language?: string;
  readonly timeoutMs: number;
}

export interface CodeOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string };
  readonly truncated: boolean;
}

export interface FileRange {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

export interface FileBytes {
  readonly bytes: Buffer;
  readonly size: number;
}

export interface FolderWish {
  readonly path: string;
  readonly depth: number;
}

export interface FolderEntry {
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  readonly size: number;
}
