/**
 * Where requests to registries may go. Tenants name images, and a registry names token servers and other places, so every address is
 * foreign input (ADR 61):
 *
 * O1 A connection goes to a public address, or to a host that the settings name. The address is checked after the name is resolved, and
 *    the connection is made to the address that was checked: a second answer of the name server changes nothing.
 * O2 A host that only the settings open is reached for itself and for other such hosts. A public registry cannot send us there.
 * O3 A token server is the registry's own host, or one that the settings (or the list below) name for this registry.
 */
import { lookup as resolveName, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { buildConnector } from "undici";
import { isPublicAddress } from "#lib/public-address.ts";
import { ImageError } from "../image-error.ts";
import { mirrorUrl, type RegistrySettings } from "./endpoints.ts";

export interface OutboundDeps {
  /** Whether the address is public, so that every request may go there. */
  readonly isPublic?: (address: string) => boolean;
  readonly resolve?: (
    name: string,
    options: LookupOptions & { all: true },
    callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ) => void;
}

/** Token servers of public registries that are on another host. */
const knownTokenServers: Readonly<Record<string, readonly string[]>> = {
  "registry-1.docker.io": ["auth.docker.io"],
  "registry.gitlab.com": ["gitlab.com"],
  "docker.elastic.co": ["docker-auth.elastic.co"],
};

/** How connections say that a name leads to no address that is allowed. */
const notAllowedCode = "ERR_ADDRESS_NOT_ALLOWED";

export class Outbound {
  readonly #named: ReadonlySet<string>;
  readonly #tokenServers: Readonly<Record<string, readonly string[]>>;
  readonly #isPublic: (address: string) => boolean;
  readonly #resolve: NonNullable<OutboundDeps["resolve"]>;

  constructor(settings: RegistrySettings, { isPublic = isSomebodyElses, resolve = resolveName }: OutboundDeps = {}) {
    this.#named = namedHosts(settings);
    this.#tokenServers = settings.tokenServers ?? {};
    this.#isPublic = isPublic;
    this.#resolve = resolve;
  }

  /** Throws if the registry at `from` may not send us to `to`, as far as names tell (O2). Addresses are checked by the connection. */
  check(what: string, from: URL, to: URL): void {
    if (!this.#isNamed(to) || this.#isNamed(from)) return;
    throw notAllowed(what, `${from.origin} leads to ${to.origin}, which only the settings open and which public registries may not use`);
  }

  /** Throws if the token server does not belong to the registry (O3). */
  checkTokenServer(what: string, registry: URL, server: URL): void {
    const others = [...(knownTokenServers[registry.hostname] ?? []), ...(this.#tokenServers[registry.host] ?? [])];
    if (server.hostname === registry.hostname || others.some((host) => host === server.host)) return;
    const remedy = `if that is right, write "tokenServers": {"${registry.host}": ["${server.host}"]} into registries.json`;
    throw notAllowed(what, `${registry.origin} names the token server ${server.origin}, which is another host; ${remedy}`);
  }

  /** Makes connections as O1 says. */
  connector(options: buildConnector.BuildOptions): buildConnector.connector {
    const free = buildConnector(options);
    const checked = buildConnector({ ...options, lookup: this.#lookup() });
    return (target, callback) => {
      const { hostname, protocol, port } = target;
      if (this.#isNamed({ hostname, protocol, port })) return free(target, callback);
      // An address in place of a name is not looked up.
      const address = hostname.replace(/^\[(.*)\]$/, "$1");
      if (isIP(address) !== 0 && !this.#isPublic(address)) return callback(refusedAddress(hostname), null);
      return checked(target, callback);
    };
  }

  #lookup(): LookupFunction {
    return (name, options, callback) => {
      this.#resolve(name, { ...options, all: true }, (error, found) => {
        if (error !== null) return callback(error, "");
        const allowed = found.filter(({ address }) => this.#isPublic(address));
        const [first] = allowed;
        if (first === undefined) return callback(refusedAddress(name), "");
        return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
      });
    };
  }

  #isNamed({ hostname, protocol, port }: Pick<URL, "hostname" | "protocol" | "port">): boolean {
    const number = port === "" ? (protocol === "https:" ? "443" : "80") : port;
    return this.#named.has(`${hostname}:${number}`) || this.#named.has(`${hostname}:*`);
  }
}

/** The error for all that is closed: it does not say whether there is something at that address. */
export function notAllowed(what: string, detail: string, cause?: unknown): ImageError {
  return new ImageError("not_allowed", `${what}: ${unreachableText}`, { detail, cause });
}

export const unreachableText = "the registry cannot be reached or is not allowed";

/** Whether the error of a connection is ours, or means that there is no such name: both look the same to a tenant. */
export function isClosedName(code: string | undefined): boolean {
  return code === notAllowedCode || code === "ENOTFOUND";
}

function refusedAddress(host: string): Error {
  const message = `${host} has no public address; a registry elsewhere must stand in "private" of registries.json`;
  return Object.assign(new Error(message), { code: notAllowedCode });
}

/** This machine has services for itself also on its public addresses. */
function isSomebodyElses(address: string): boolean {
  if (!isPublicAddress(address)) return false;
  const own = Object.values(networkInterfaces()).flatMap((list) => list?.map((one) => one.address) ?? []);
  return !own.includes(address);
}

/** What the settings speak of is meant to be reached: `host:port`, or `host:*`. */
function namedHosts({ private: own = [], plainHttp = [], tls = [], ...settings }: RegistrySettings): ReadonlySet<string> {
  const mirrors = Object.values(settings.mirrors ?? {}).flatMap((list) => list.map((mirror) => mirrorUrl(mirror, { plainHttp, tls }).host));
  return new Set([...own, ...plainHttp, ...tls, ...mirrors].flatMap(hostsOf));
}

function hostsOf(entry: string): string[] {
  const anyPort = entry.endsWith(":*");
  const text = anyPort ? entry.slice(0, -2) : entry;
  const url = /[/?#@\s]/.test(text) || !URL.canParse(`http://${text}`) ? undefined : new URL(`http://${text}`);
  if (url === undefined) throw new ImageError("invalid_config", `the registry ${JSON.stringify(entry)} is not a host, host:port or host:*`);
  if (anyPort) return [`${url.hostname}:*`];
  // A port that is the usual one of http is left out of a URL.
  const port = /:(\d+)$/.exec(text)?.[1];
  return port === undefined ? [`${url.hostname}:443`, `${url.hostname}:80`] : [`${url.hostname}:${port}`];
}
