/** The built files of the web console, as the server sends them. */
export interface ConsoleFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Absent where compressing gains nothing. */
  readonly gzip?: Buffer;
  readonly brotli?: Buffer;
}

export interface ConsoleFiles {
  /** The page; `__STYLE_NONCE__` in it stands for what each answer fills in. */
  readonly page: () => Promise<string>;
  /** By its name, which changes with its content. */
  readonly asset: (name: string) => Promise<ConsoleFile | undefined>;
}

export const styleNonceMark = "__STYLE_NONCE__";
