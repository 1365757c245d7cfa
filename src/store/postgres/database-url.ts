/**
 * DATABASE_URL, read by us and not by the driver: a URL that cannot be read must not be shown, for it holds the password, and where
 * a special character was left unescaped parts of the password stand where host, port, path or parameters are expected. So messages
 * from here name what is wrong, never the text itself.
 */
import { readFileSync } from "node:fs";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { HistoryError } from "../history-error.ts";

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly tls: TlsOptions | false;
}

const tlsModes = ["disable", "require", "verify-ca", "verify-full"] as const;
type TlsMode = (typeof tlsModes)[number];
const parameters = ["host", "sslmode", "sslrootcert"];
const example = "postgres://USER:PASSWORD@HOST:5432/DATABASE";

/** Throws HistoryError `misconfigured`. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = URL.parse(text);
  if (url === null) throw wrong(`is not a URL such as ${example}; special characters in the password must be percent-encoded`);
  refuseMisread(url);
  const database = decoded(url.pathname.slice(1));
  const host = url.searchParams.get("host") ?? (decoded(url.hostname) || "localhost");
  return {
    host: host.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 5432 : Number(url.port),
    ...(url.username === "" ? {} : { user: decoded(url.username) }),
    ...(url.password === "" ? {} : { password: decoded(url.password) }),
    ...(database === "" ? {} : { database }),
    tls: tlsOptions(url.searchParams, host),
  };
}

/** A special character of the password ends it early, and its rest is read as something else. */
function refuseMisread(url: URL): void {
  if (url.hash !== "") throw wrong("has a # in it: if it belongs to the password, write it as %23");
  if (`${url.pathname}${url.search}`.includes("@")) {
    throw wrong("has an @ behind the host: in the password, a / is written as %2F and a ? as %3F");
  }
  if (url.pathname.slice(1).includes("/")) throw wrong("must have one database name behind the host, without a / in it");
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name)) throw wrong(`has a parameter that is not known; there are ${parameters.join(", ")}`);
  }
}

/** For logs and messages: the address, without user and password. */
export function describeAddress({ host, port, database }: DatabaseAddress): string {
  const place = host.startsWith("/") ? `${host} (port ${port})` : `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return `PostgreSQL at ${place}${database === undefined ? "" : `/${database}`}`;
}

/**
 * The modes of libpq: `require` encrypts without checking the server, `verify-ca` asks for a known signer, `verify-full` also for the name.
 * With a signer given, `require` means `verify-ca`, as in libpq.
 */
function tlsOptions(search: URLSearchParams, host: string): TlsOptions | false {
  const mode = tlsModes.find((known) => known === (search.get("sslmode") ?? "disable"));
  if (mode === undefined) throw wrong(`has an sslmode that is not known; there are ${tlsModes.join(", ")}`);
  const rootFile = search.get("sslrootcert");
  if (mode === "disable") {
    if (rootFile !== null) throw wrong("names sslrootcert, but no sslmode that uses it: add sslmode=verify-full");
    return false;
  }
  if (rootFile === null) return verification(mode, host);
  return { ...verification(mode === "require" ? "verify-ca" : mode, host), ca: rootCertificate(rootFile) };
}

function verification(mode: Exclude<TlsMode, "disable">, host: string): TlsOptions {
  switch (mode) {
    case "require":
      return { rejectUnauthorized: false };
    case "verify-ca":
      return { rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case "verify-full":
      return { rejectUnauthorized: true, host };
  }
}

function rootCertificate(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw wrong("names an sslrootcert file that cannot be read", error);
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw wrong("has a % that is not followed by two hexadecimal digits: a % of the password is written as %25");
  }
}

function wrong(what: string, cause?: unknown): HistoryError {
  return new HistoryError("misconfigured", `DATABASE_URL ${what}`, { cause });
}
