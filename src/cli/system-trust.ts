/** Port to the list of authorities that programs of this system trust. */
export interface SystemTrust {
  /** The authority of this data folder; undefined before the first start, and if the gateway's certificate comes from elsewhere. */
  readonly authorityFile: string | undefined;
  /** Undefined: AgentBox does not support this system's list. */
  readonly store: TrustStore | undefined;
}

export interface TrustStore {
  /** Name for people, such as Debian's. */
  readonly name: string;
  /** The file with all trusted authorities. */
  readonly bundle: string;
  /** Whether this user may change the list. */
  readonly mayChange: boolean;
  readonly isInstalled: () => Promise<boolean>;
  /** Rejects with the message of the system's program. */
  readonly install: () => Promise<void>;
  /** False if there was nothing to remove. */
  readonly remove: () => Promise<boolean>;
}
