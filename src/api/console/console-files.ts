/** The built files of the web console, as the server sends them. */
export interface ConsoleFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Absent if compressing gains nothing. */
  readonly gzip?: Buffer;
  readonly brotli?: Buffer;
}

export interface ConsoleFiles {
  /** The page; each answer replaces `__STYLE_NONCE__` in it. */
  readonly page: () => Promise<string>;
  /** By name; the name changes with the content. */
  readonly asset: (name: string) => Promise<ConsoleFile | undefined>;
}

export const styleNonceMark = "__STYLE_NONCE__";
