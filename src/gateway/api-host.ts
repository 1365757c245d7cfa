/** Serves the API as `api.<domain>`, for clients that know only the domain. */

export interface ApiPlace {
  /** Of the domain, without a port. */
  readonly host: string;
  /** Where the API listens; undefined while it does not. */
  readonly at: () => ApiAddress | undefined;
}

export interface ApiAddress {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

/** Of a URL. */
export function apiAddressOf(url: string): ApiAddress {
  const { hostname, port } = new URL(url);
  return { host: hostname.replaceAll(/[[\]]/g, ""), port: Number(port) };
}

/** Matches every spelling of the host: capitals, with a port, with a dot at the end. */
export function isApiHost(api: ApiPlace | undefined, host: string): boolean {
  if (api === undefined || host.length < api.host.length) return false;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  return name === api.host;
}
