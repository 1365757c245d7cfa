/** As much of the JavaScript SDK as the cases call: it is not a dependency of ours, so its own types are not at hand. */
export interface Sdk {
  /** Undefined in SDKs that build no templates. */
  readonly Template?: TemplateFactory;
  readonly BuildError: ErrorClass;
  readonly Sandbox: SandboxClass;
  /** Only in later versions. */
  readonly Volume: VolumeClass;
  readonly VolumeError: ErrorClass;
  readonly VolumePathNotFoundError: ErrorClass;
  readonly CommandExitError: ErrorClass;
  readonly TimeoutError: ErrorClass;
  readonly NotFoundError: ErrorClass;
  readonly InvalidArgumentError: ErrorClass;
  readonly AuthenticationError: ErrorClass;
  readonly SandboxError: ErrorClass;
}

type ErrorClass = new (...args: never) => Error;

export interface SandboxClass {
  create(options?: CreateOptions): Promise<Sandbox>;
  create(template: string, options?: CreateOptions): Promise<Sandbox>;
  connect(sandboxId: string, options?: { readonly timeoutMs?: number }): Promise<Sandbox>;
  kill(sandboxId: string): Promise<boolean>;
  pause(sandboxId: string): Promise<boolean>;
  getInfo(sandboxId: string, options?: { readonly apiKey?: string }): Promise<SandboxInfo>;
  getMetrics(sandboxId: string): Promise<Metrics[]>;
  setTimeout(sandboxId: string, timeoutMs: number): Promise<void>;
  updateNetwork(sandboxId: string, network: NetworkUpdate): Promise<void>;
  list(options?: ListOptions): Paginator;
  createSnapshot(sandboxId: string): Promise<Snapshot>;
  listSnapshots(options?: { readonly sandboxId?: string; readonly limit?: number }): Paginator<Snapshot>;
  deleteSnapshot(snapshotId: string): Promise<boolean>;
  fork(sandboxId: string, options?: ForkOptions): Promise<(Sandbox | Error)[]>;
}

export interface Snapshot {
  readonly snapshotId: string;
  readonly names?: readonly string[];
}

interface ForkOptions {
  readonly count?: number;
  readonly timeoutMs?: number;
}

export interface VolumeClass {
  create(name: string): Promise<Volume>;
  connect(volumeId: string): Promise<Volume>;
  list(): Promise<readonly { readonly volumeId: string; readonly name: string }[]>;
  destroy(volumeId: string): Promise<boolean>;
}

export interface Volume {
  readonly volumeId: string;
  readonly name: string;
  readonly token: string;
  list(path: string, options?: { readonly depth?: number }): Promise<VolumeEntry[]>;
  makeDir(path: string, options?: VolumeWrite): Promise<VolumeEntry>;
  getInfo(path: string): Promise<VolumeEntry>;
  exists(path: string): Promise<boolean>;
  updateMetadata(path: string, change: VolumeWrite): Promise<VolumeEntry>;
  readFile(path: string): Promise<string>;
  readFile(path: string, options: { readonly format: "stream" }): Promise<ReadableStream<Uint8Array>>;
  writeFile(path: string, data: string | ReadableStream<Uint8Array>, options?: VolumeWrite): Promise<VolumeEntry>;
  remove(path: string): Promise<void>;
}

interface VolumeWrite {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
  readonly force?: boolean;
}

interface VolumeEntry {
  readonly name: string;
  readonly path: string;
  readonly type: string;
  readonly size: number;
  readonly uid: number;
  readonly mode: number;
  readonly mtime: Date;
  readonly target?: string;
}

export interface CreateOptions {
  readonly volumeMounts?: Readonly<Record<string, string | Volume>>;
  readonly timeoutMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly envs?: Readonly<Record<string, string>>;
  readonly secure?: boolean;
  readonly allowInternetAccess?: boolean;
  readonly apiKey?: string;
  readonly lifecycle?: { readonly onTimeout: "pause" | "kill"; readonly autoResume?: boolean };
  readonly network?: NetworkUpdate & { readonly allowPublicTraffic?: boolean; readonly maskRequestHost?: string };
}

export interface NetworkUpdate {
  readonly allowOut?: readonly string[];
  readonly denyOut?: readonly string[];
}

export interface ListOptions {
  readonly query?: {
    readonly metadata?: Readonly<Record<string, string>>;
    readonly state?: readonly ("running" | "paused")[];
    readonly template?: string;
    readonly startedAfter?: Date;
  };
  readonly order?: "asc" | "desc";
  readonly limit?: number;
  readonly nextToken?: string;
}

export interface Paginator<Item = SandboxInfo> {
  readonly hasNext: boolean;
  readonly nextToken?: string;
  nextItems(): Promise<Item[]>;
}

export interface SandboxInfo {
  readonly sandboxId: string;
  readonly templateId: string;
  readonly name?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: Date;
  readonly endAt: Date;
  readonly state: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly envdVersion: string;
  readonly volumeMounts?: readonly { readonly name: string; readonly path: string }[];
}

export interface Metrics {
  readonly timestamp: Date;
  readonly cpuCount: number;
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}

export interface Sandbox {
  readonly sandboxId: string;
  readonly sandboxDomain: string;
  readonly trafficAccessToken?: string;
  readonly commands: Commands;
  readonly pty: Terminals;
  readonly files: Files;
  getHost(port: number): string;
  isRunning(): Promise<boolean>;
  setTimeout(timeoutMs: number): Promise<void>;
  kill(): Promise<unknown>;
  pause(): Promise<unknown>;
  connect(options?: { readonly timeoutMs?: number }): Promise<Sandbox>;
  updateNetwork(network: NetworkUpdate): Promise<void>;
  getInfo(): Promise<SandboxInfo>;
  getMetrics(): Promise<Metrics[]>;
  createSnapshot(options?: { readonly name?: string }): Promise<Snapshot>;
  fork(options?: ForkOptions): Promise<(Sandbox | Error)[]>;
  uploadUrl(path?: string, options?: UrlOptions): Promise<string>;
  downloadUrl(path: string, options?: UrlOptions): Promise<string>;
}

interface UrlOptions {
  readonly useSignatureExpiration?: number;
  readonly user?: string;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly user?: string;
  readonly envs?: Readonly<Record<string, string>>;
  readonly stdin?: boolean;
  readonly timeoutMs?: number;
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
}

export interface CommandHandle {
  readonly pid: number;
  readonly stdout: string;
  readonly exitCode?: number;
  wait(): Promise<CommandResult>;
  kill(): Promise<boolean>;
  disconnect(): Promise<void>;
}

export interface Commands {
  run(command: string, options?: CommandOptions): Promise<CommandResult>;
  run(command: string, options: CommandOptions & { readonly background: true }): Promise<CommandHandle>;
  list(): Promise<{ readonly pid: number; readonly cmd: string; readonly args: readonly string[]; readonly tag?: string }[]>;
  connect(pid: number, options?: CommandOptions): Promise<CommandHandle>;
  kill(pid: number): Promise<boolean>;
  sendStdin(pid: number, data: string): Promise<void>;
  closeStdin(pid: number): Promise<void>;
}

export interface Terminals {
  create(options: {
    readonly cols: number;
    readonly rows: number;
    readonly onData: (data: Uint8Array) => void;
    readonly timeoutMs?: number;
    readonly envs?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly user?: string;
  }): Promise<CommandHandle>;
  connect(pid: number, options: { readonly onData: (data: Uint8Array) => void }): Promise<CommandHandle>;
  sendInput(pid: number, data: Uint8Array): Promise<void>;
  resize(pid: number, size: { readonly cols: number; readonly rows: number }): Promise<void>;
  kill(pid: number): Promise<boolean>;
}

export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly type?: string;
  readonly size: number;
  readonly mode: number;
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime?: Date;
  readonly symlinkTarget?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface FileEvent {
  readonly name: string;
  readonly type: string;
  readonly entry?: Entry;
}

interface WriteOptions {
  readonly user?: string;
  readonly gzip?: boolean;
  readonly useOctetStream?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

type Contents = string | ArrayBuffer | Blob | ReadableStream;

export interface Files {
  read(path: string, options?: { readonly format?: "text"; readonly user?: string; readonly gzip?: boolean }): Promise<string>;
  read(path: string, options: { readonly format: "bytes" }): Promise<Uint8Array>;
  read(path: string, options: { readonly format: "blob" }): Promise<Blob>;
  read(path: string, options: { readonly format: "stream" }): Promise<ReadableStream<Uint8Array>>;
  write(path: string, data: Contents, options?: WriteOptions): Promise<{ readonly name: string; readonly path: string }>;
  write(files: readonly { readonly path: string; readonly data: Contents }[]): Promise<{ readonly name: string; readonly path: string }[]>;
  list(path: string, options?: { readonly depth?: number; readonly user?: string }): Promise<Entry[]>;
  makeDir(path: string): Promise<boolean>;
  rename(from: string, to: string): Promise<Entry>;
  remove(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  getInfo(path: string): Promise<Entry>;
  watchDir(
    path: string,
    onEvent: (event: FileEvent) => void,
    options?: { readonly recursive?: boolean; readonly includeEntry?: boolean; readonly onExit?: (error?: Error) => void },
  ): Promise<{ stop(): Promise<void> }>;
}

export interface TemplateFactory {
  (options?: { readonly fileContextPath?: string }): TemplateSteps;
  build(
    template: unknown,
    name: string,
    options?: TemplateBuildOptions,
  ): Promise<{ readonly templateId: string; readonly buildId: string }>;
  /** As older SDKs are called. */
  build(template: unknown, options: TemplateBuildOptions & { readonly alias: string }): Promise<unknown>;
  exists(name: string): Promise<boolean>;
  assignTags(target: string, tags: readonly string[]): Promise<{ readonly buildId: string; readonly tags: readonly string[] }>;
  removeTags(name: string, tags: readonly string[]): Promise<void>;
  getTags(name: string): Promise<readonly { readonly tag: string; readonly buildId: string }[]>;
}

export interface TemplateBuildOptions {
  readonly tags?: readonly string[];
  readonly skipCache?: boolean;
  readonly onBuildLogs?: (entry: { readonly message: string }) => void;
}

export interface TemplateSteps {
  fromBaseImage(): TemplateSteps;
  fromImage(image: string): TemplateSteps;
  fromTemplate(name: string): TemplateSteps;
  fromDockerfile(text: string): TemplateSteps;
  copy(source: string, target: string, options?: { readonly mode?: number; readonly user?: string }): TemplateSteps;
  runCmd(command: string, options?: { readonly user?: string }): TemplateSteps;
  setEnvs(variables: Readonly<Record<string, string>>): TemplateSteps;
  setWorkdir(path: string): TemplateSteps;
  setUser(name: string): TemplateSteps;
  setStartCmd(start: string, ready: string): unknown;
}
