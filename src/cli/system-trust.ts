/** The port to the list of authorities that this system's programs trust. */
export interface SystemTrust {
  /** Of this data folder; undefined until a start has made one, and where the gateway has a certificate from elsewhere. */
  readonly authorityFile: string | undefined;
  /** Undefined: the system keeps its list in no way that we know. */
  readonly store: TrustStore | undefined;
}

export interface TrustStore {
  /** For people, such as Debian's. */
  readonly name: string;
  /** The file with all authorities that are trusted. */
  readonly bundle: string;
  /** Whether this user may change it. */
  readonly mayChange: boolean;
  readonly isInstalled: () => Promise<boolean>;
  /** Rejects with what the system's own program said. */
  readonly install: () => Promise<void>;
  /** False when there was nothing to remove. */
  readonly remove: () => Promise<boolean>;
}
