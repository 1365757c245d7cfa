/** Rules for the daemon's port: some routes belong to the control plane, and pages of any origin may call it. */
import { defaultDaemonPort } from "#sandbox/runtimes/known-runtimes.ts";

/** Clients always use this port, whatever port a template's daemon listens on. */
export const publicDaemonPort = defaultDaemonPort;

const internalRoutes: ReadonlySet<string> = new Set([
  "/init",
  "/retire",
  "/freeze",
  "/unfreeze",
  "/fsfreeze",
  "/fsthaw",
  "/collapse",
  "/upgrade",
]);

/** Matches every spelling of the path: encoded, with dots, with repeated slashes. */
export function isInternalRoute(url: string): boolean {
  const path = url.split(/[?#]/, 1)[0] ?? "/";
  let plain = path;
  try {
    plain = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded names no route; it is compared as it is.
  }
  const parts: string[] = [];
  for (const part of plain.split(/[/\\]/)) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return internalRoutes.has(`/${parts[0]?.toLowerCase() ?? ""}`);
}

const exposed = { "access-control-allow-origin": "*", "access-control-expose-headers": "*" };

export const corsHeaders: Readonly<Record<string, string>> = exposed;

export function isPreflight(method: string, askedMethod: string | undefined): boolean {
  return method === "OPTIONS" && askedMethod !== undefined;
}

export function preflightHeaders(askedHeaders: string | undefined): Readonly<Record<string, string>> {
  return {
    ...exposed,
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": askedHeaders ?? "*",
    "access-control-max-age": "7200",
  };
}
