/** The gateway of the all-in-one server: plain for programs of this machine, and encrypted for `*.<domain>`. */
import { readFile } from "node:fs/promises";
import { CliError } from "#cli/failure.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import type { TrafficLog } from "#gateway/activity.ts";
import { Gateway } from "#gateway/gateway.ts";
import { type GatewayServer, listen } from "#gateway/listen.ts";
import { type Certificate, localCertificates } from "#gateway/local-certificates.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Caller } from "#services/caller.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import type { SandboxTokens } from "#services/sandbox-tokens.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface GatewaySettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tlsPort: number;
  readonly domain: string;
  /** PEM files; a certificate of this machine's own when left out. */
  readonly certificate?: { readonly certFile: string; readonly keyFile: string } | undefined;
}

export interface GatewayParts {
  readonly settings: GatewaySettings;
  /** Where certificates of our own are kept. */
  readonly certificateFolder: string;
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly history: Pick<HistoryStore, "get">;
  readonly sandboxes: Pick<SandboxService, "resume">;
  readonly tokens: SandboxTokens;
  readonly traffic: TrafficLog;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface ServedGateway extends AsyncDisposable {
  readonly address: string;
  /** With the port, as E2B's clients take it. */
  readonly domain: string;
  /** Of our own authority, when the certificate is one of ours. */
  readonly authorityFile?: string;
}

/** For what the gateway does by itself: it has let nobody in who may not. */
const gatewayCaller: Caller = { role: "admin", team: "", keyId: "gateway" };
const wakeTimeoutMs = 30_000;
/** How long streams may go on when the server ends. */
const graceMs = 2000;

export async function serveGateway(parts: GatewayParts): Promise<ServedGateway> {
  const { settings, traffic, tokens, history, sandboxes } = parts;
  await using open = new AsyncDisposableStack();
  const writer = new ActivityWriter({ ...parts, random: Math.random });
  open.defer(() => writer.stop());
  const gateway = new Gateway({
    ...parts,
    traffic,
    ended: (sandboxId) => history.get(sandboxId, { kind: "admin" }).catch(() => undefined),
    wake: async (sandboxId) => void (await sandboxes.resume(gatewayCaller, sandboxId, AbortSignal.timeout(wakeTimeoutMs))),
    trafficTokenOf: (sandboxId) => tokens.trafficTokenOf(sandboxId),
  });
  open.defer(() => gateway.close());
  const { tls, authorityFile } = await certificateOf(parts);
  const { host, port, tlsPort, domain } = settings;
  const plain = open.adopt(await started(gateway, { host, port }), (server) => server.close(graceMs));
  const encrypted = open.adopt(await started(gateway, { host, port: tlsPort, tls }), (server) => server.close(graceMs));
  const served = open.move();
  return {
    address: `http://${reachable(host)}:${plain.port}`,
    domain: encrypted.port === 443 ? domain : `${domain}:${encrypted.port}`,
    ...(authorityFile === undefined ? {} : { authorityFile }),
    [Symbol.asyncDispose]: () => served.disposeAsync(),
  };
}

async function certificateOf(parts: GatewayParts): Promise<{ readonly tls: Certificate; readonly authorityFile?: string }> {
  const { certificate, domain } = parts.settings;
  if (certificate === undefined) {
    const { certificate: tls, authorityFile } = await localCertificates(parts.certificateFolder, domain, parts.clock);
    return { tls, authorityFile };
  }
  try {
    const [cert, key] = await Promise.all([readFile(certificate.certFile, "utf8"), readFile(certificate.keyFile, "utf8")]);
    return { tls: { cert, key } };
  } catch (error) {
    throw new CliError(`the certificate cannot be read: ${(error as Error).message}`);
  }
}

async function started(gateway: Gateway, at: Parameters<typeof listen>[1]): Promise<GatewayServer> {
  try {
    return await listen(gateway, at);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new CliError(`port ${at.port} of the gateway is in use by another program. Choose others: --gateway-port, --gateway-tls-port`);
    }
    throw new CliError(`the gateway cannot start at ${at.host}:${at.port}: ${message}`);
  }
}

/** "Everywhere" is no address that one can connect to on every machine. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
