/** Our credentials for the server. Tokens and certificates are rotated by others, so they are read again and again. */
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "#lib/clock.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";

export interface Credentials {
  /** What goes with every request. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What connections are made with. The same object for as long as its content is the same. */
  readonly tls: TlsMaterial;
}

/** Texts in PEM form. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Reads the credentials; with `fresh`, past any cache, because the server refused the last ones. */
export type ReadCredentials = (fresh: boolean) => Promise<Credentials>;

export interface CredentialOptions {
  readonly clock: Clock;
  /** How old they may become before they are read again; never, when left out. */
  readonly rereadMs?: number | undefined;
}

export class CredentialCache {
  readonly #read: ReadCredentials;
  readonly #options: CredentialOptions;
  #known: Credentials | undefined;
  #readAt = 0;
  #reading: Promise<Credentials> | undefined;

  constructor(read: ReadCredentials, options: CredentialOptions) {
    this.#read = read;
    this.#options = options;
  }

  async current(): Promise<Credentials> {
    const known = this.#known;
    if (known === undefined) return this.#reread(false);
    const { clock, rereadMs } = this.#options;
    if (rereadMs === undefined || clock.now() - this.#readAt < rereadMs) return known;
    // A file that is just being replaced must not fail requests that the old token would pass.
    return this.#reread(false).catch(() => {
      this.#readAt = clock.now();
      return known;
    });
  }

  /** After the server refused `refused`: what is there now. Many requests refused together cause one read. */
  async renew(refused: Credentials): Promise<Credentials> {
    return this.#known !== undefined && this.#known !== refused ? this.#known : this.#reread(true);
  }

  #reread(fresh: boolean): Promise<Credentials> {
    this.#reading ??= this.#read(fresh)
      .then((read) => this.#accept(read))
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  #accept(read: Credentials): Credentials {
    this.#readAt = this.#options.clock.now();
    const tls = this.#known !== undefined && isDeepStrictEqual(this.#known.tls, read.tls) ? this.#known.tls : read.tls;
    this.#known = { headers: read.headers, tls };
    return this.#known;
  }
}

/** A text, or the file that holds it. */
export type TextSource = { readonly text: string } | { readonly file: string } | undefined;

async function readText(source: TextSource): Promise<string | undefined> {
  if (source === undefined) return undefined;
  return "text" in source ? source.text : readFile(source.file, "utf8");
}

export interface PlainCredentials {
  readonly token?: TextSource;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly ca?: TextSource;
  readonly cert?: TextSource;
  readonly key?: TextSource;
  readonly servername?: string | undefined;
  readonly insecure?: boolean | undefined;
  /** Impersonation, for one. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** Everything that is a text or a file: all but credential plugins. */
export async function readPlainCredentials(plain: PlainCredentials): Promise<Credentials> {
  const [token, ca, cert, key] = await Promise.all([plain.token, plain.ca, plain.cert, plain.key].map(readText));
  const authorization = authorizationOf(token, plain.basic);
  return {
    headers: { ...plain.headers, ...(authorization === undefined ? {} : { authorization }) },
    tls: withoutUndefined({
      ca,
      cert,
      key,
      servername: plain.servername,
      rejectUnauthorized: plain.insecure === true ? false : undefined,
    }),
  };
}

function authorizationOf(token: string | undefined, basic: PlainCredentials["basic"]): string | undefined {
  // Token files end with a line end more often than not.
  if (token !== undefined && token.trim() !== "") return `Bearer ${token.trim()}`;
  if (basic === undefined) return undefined;
  return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}`;
}
