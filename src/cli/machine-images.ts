/** What the image commands need from the images on this machine. They work on the folder itself; no server has to run. */
export interface MachineImages extends AsyncDisposable {
  list(): Promise<readonly MachineImage[]>;
  pull(reference: string, options: PullRequest): Promise<MachineImage>;
  /** `source` is an archive, a folder in OCI layout, or `-` for an archive on standard input. */
  import(source: string, options: ImportRequest): Promise<readonly MachineImage[]>;
  importRootfs(folder: string, options: RootfsRequest): Promise<readonly MachineImage[]>;
  /** Writes an image into a folder in OCI layout. */
  export(reference: string, folder: string, options: ExportRequest): Promise<void>;
  remove(reference: string, signal: AbortSignal): Promise<Removed>;
  collect(options: CollectRequest): Promise<Removed>;
}

export interface MachineImage {
  readonly name: string;
  /** Short form, without the default registry. */
  readonly shortName: string;
  readonly digest: string;
  readonly id: string;
  readonly platform: string;
  readonly source: "registry" | "import" | "checkpoint";
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly lastUsed: number;
}

export interface LayerState {
  /** Digest of the compressed layer. */
  readonly layer: string;
  readonly state: "waiting" | "downloading" | "unpacking" | "done";
  readonly bytes: number;
  readonly total: number;
}

interface Watched {
  readonly onProgress: (state: LayerState) => void;
  readonly signal: AbortSignal;
}

export interface PullRequest extends Watched {
  readonly platform: string | undefined;
  /** Contents of files in Docker's config.json format. */
  readonly credentials: readonly string[];
}

export interface ExportRequest {
  /** Contents of files in Docker's config.json format. */
  readonly credentials: readonly string[];
  readonly signal: AbortSignal;
}

export interface ImportRequest extends Watched {
  readonly name: string | undefined;
  readonly platform: string | undefined;
}

export interface RootfsRequest extends Watched {
  readonly name: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly user: string;
  readonly workingDir: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Called for files that an image cannot contain. */
  readonly onSkipped: (path: string) => void;
}

export interface CollectRequest {
  readonly keepBytes: number | undefined;
  /** Milliseconds since the epoch. */
  readonly keepNewerThan: number;
  readonly signal: AbortSignal;
}

export interface Removed {
  readonly images: readonly string[];
  readonly freedBytes: number;
  readonly keptBytes: number;
}
