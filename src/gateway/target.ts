/**
 * Finds the sandbox and port of a request, in this order:
 * 1. the host: `<port>-<id>[-…].<domain>`, as E2B's clients and browsers do
 * 2. the headers `E2b-Sandbox-Id` and `E2b-Sandbox-Port`, where the host says nothing
 * 3. the path: `/sandboxes/<id>/<port>/…`; this prefix is removed before the request is forwarded
 */
export interface TargetRequest {
  /** Value of Host or :authority. */
  readonly host: string;
  readonly idHeader?: string | undefined;
  readonly portHeader?: string | undefined;
  /** Path and query as received. */
  readonly url: string;
}

export interface Target {
  readonly sandboxId: string;
  readonly port: number;
  /** Path and query for the sandbox. */
  readonly url: string;
  readonly by: "host" | "headers" | "path";
}

export type TargetResult = { readonly kind: "target"; readonly target: Target } | { readonly kind: "refused"; readonly message: string };

/** Matches a name with port, or an address with port; no underscores or user parts. */
const hostText = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
/** A suffix after the id comes from older clients and has no meaning. */
const sandboxLabel = /^(\d{1,5})-([a-z0-9]+)(?:-[a-z0-9-]*)?$/;
const portText = /^\d{1,5}$/;
const idText = /^[a-z0-9]{1,63}$/;
const sandboxPath = /^\/sandboxes\/([^/?#]+)\/([^/?#]+)(\/[^?#]*)?(\?[^#]*)?$/;

export function targetOf(request: TargetRequest): TargetResult {
  const { host } = request;
  if (host.length > 255 || !hostText.test(host)) return refused("the Host header is not a host name");
  return (
    byHost(request) ??
    byHeaders(request) ??
    byPath(request) ??
    refused(
      "the request names no sandbox. Use the host <port>-<sandbox id>.<domain>, the headers E2b-Sandbox-Id and E2b-Sandbox-Port, or the path /sandboxes/<sandbox id>/<port>/…",
    )
  );
}

function byHost({ host, url }: TargetRequest): TargetResult | undefined {
  // A name without a dot is a machine of a local network whose name only looks like ours.
  if (!host.includes(".")) return undefined;
  const label = sandboxLabel.exec(host.split(/[.:]/, 1)[0]?.toLowerCase() ?? "");
  return label === null ? undefined : target("host", label[2], label[1], url);
}

function byHeaders({ idHeader, portHeader, url }: TargetRequest): TargetResult | undefined {
  if (idHeader === undefined && portHeader === undefined) return undefined;
  if (idHeader === undefined || portHeader === undefined) return refused("send both E2b-Sandbox-Id and E2b-Sandbox-Port, or neither");
  // Older clients send `<id>-<client>`.
  return target("headers", idHeader.split("-", 1)[0], portHeader, url);
}

function byPath({ url }: TargetRequest): TargetResult | undefined {
  const path = sandboxPath.exec(url);
  return path === null ? undefined : target("path", path[1]?.split("-", 1)[0], path[2], `${path[3] ?? "/"}${path[4] ?? ""}`);
}

function target(by: Target["by"], sandboxId = "", portString = "", url = "/"): TargetResult {
  if (!idText.test(sandboxId)) return refused("a sandbox id may contain only lower-case letters and digits");
  const port = portText.test(portString) ? Number(portString) : 0;
  if (port < 1 || port > 65_535) return refused("a port is a number from 1 to 65535");
  // An absolute form or an asterisk is for proxies, which this is not.
  if (!url.startsWith("/")) return refused("the request target must be a path");
  return { kind: "target", target: { sandboxId, port, url, by } };
}

function refused(message: string): TargetResult {
  return { kind: "refused", message };
}
