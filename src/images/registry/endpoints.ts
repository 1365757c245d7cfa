/** Where a registry's content can be fetched: its mirrors first, then itself. */
import { ImageError } from "../image-error.ts";
import { defaultRegistry } from "../reference.ts";

/** Settings by registry host, as it stands in references. */
export interface RegistrySettings {
  /** Tried in this order before the registry itself: host with optional port, or a URL with a path before /v2. */
  readonly mirrors?: Readonly<Record<string, readonly string[]>>;
  /** Hosts that are spoken to without TLS. Loopback always is, unless it is in `tls`. */
  readonly plainHttp?: readonly string[];
  /** Hosts on loopback that do speak TLS. */
  readonly tls?: readonly string[];
  /** Hosts that may have addresses that are not public: `host`, `host:port`, `host:*`. Hosts in the lists above may, too. */
  readonly private?: readonly string[];
  /** Token servers of a registry on other hosts than its own. */
  readonly tokenServers?: Readonly<Record<string, readonly string[]>>;
}

export interface Endpoint {
  /** Host and port: only credentials for these are used. */
  readonly host: string;
  /** Without a slash at the end; `/v2/…` comes behind it. */
  readonly url: string;
  readonly isMirror: boolean;
}

/** Where the default registry really is. */
const defaultEndpointHost = `registry-1.${defaultRegistry}`;

export function endpointsOf(registry: string, settings: RegistrySettings): Endpoint[] {
  const mirrors = (settings.mirrors?.[registry] ?? []).map((mirror) => mirrorEndpoint(mirror, settings));
  const scheme = schemeOf(registry, settings);
  const address = registry === defaultRegistry ? defaultEndpointHost : registry;
  return [...mirrors, { host: registry, url: `${scheme}://${address}`, isMirror: false }];
}

function mirrorEndpoint(mirror: string, settings: RegistrySettings): Endpoint {
  const url = mirrorUrl(mirror, settings);
  return { host: url.host, url: `${url.origin}${url.pathname}`.replace(/\/+$/, ""), isMirror: true };
}

export function mirrorUrl(mirror: string, settings: RegistrySettings): URL {
  const text = mirror.includes("://") ? mirror : `${schemeOf(mirror.split("/")[0] ?? "", settings)}://${mirror}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.search !== "") {
    throw new ImageError(
      "invalid_config",
      `the mirror ${JSON.stringify(mirror)} is neither a host nor an http or https URL without credentials`,
    );
  }
  return url;
}

function schemeOf(host: string, { plainHttp = [], tls = [] }: RegistrySettings): "http" | "https" {
  if (plainHttp.includes(host)) return "http";
  return isLoopback(host) && !tls.includes(host) ? "http" : "https";
}

/** True for hosts that never leave this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(name);
}
