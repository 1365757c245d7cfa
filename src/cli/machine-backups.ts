/** What `agentbox backup` and `agentbox restore` need of this machine. */
export interface MachineBackups {
  make(request: BackupRequest): Promise<BackupMade>;
  restore(request: RestoreRequest): Promise<Restored>;
}

interface Watched {
  readonly onProgress: (step: BackupStep) => void;
  readonly signal: AbortSignal;
}

/** How far one part of the work is. */
export interface BackupStep {
  /** Such as "copying objects". */
  readonly doing: string;
  readonly done: number;
  readonly total: number;
  readonly unit: "bytes" | "pages";
}

export interface BackupRequest extends Watched {
  /** A path, or `-` for standard output. */
  readonly file: string;
  /** With the images that were imported. */
  readonly images: boolean;
  /** Replaces an existing file. */
  readonly replace: boolean;
}

export interface BackupMade {
  readonly files: number;
  readonly bytes: number;
  /** The moment whose state it holds, in milliseconds since 1970. */
  readonly at: number;
  /** Undefined: without images. */
  readonly images: readonly string[] | undefined;
  /** Where the history is, if the backup does not contain it. */
  readonly historyElsewhere: string | undefined;
  /** Entries of the data folder that are no files. */
  readonly leftOut: readonly string[];
}

export interface RestoreRequest extends Watched {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** Replaces existing data, which is moved aside. */
  readonly replace: boolean;
}

export interface Restored {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
  readonly at: number;
  /** Of the AgentBox that made the backup. */
  readonly version: string;
  readonly images: readonly string[] | undefined;
  readonly historyElsewhere: string | undefined;
  /** Where the data is that was there before. */
  readonly putAside: string | undefined;
}
