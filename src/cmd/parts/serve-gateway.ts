/** The gateway at its addresses: plain for programs of this machine or behind a proxy, and encrypted for `*.<domain>`. */
import { readFile } from "node:fs/promises";
import { CliError } from "#cli/failure.ts";
import type { TrafficLog } from "#gateway/activity.ts";
import type { ApiPlace } from "#gateway/api-host.ts";
import { Gateway } from "#gateway/gateway.ts";
import { type GatewayServer, listen } from "#gateway/listen.ts";
import { type Certificate, localCertificates } from "#gateway/local-certificates.ts";
import { Newcomers } from "#gateway/newcomers.ts";
import { OpenOfTeams, usualOpenLimits } from "#gateway/open-limits.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Clock, sleep, type Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { teamLimit } from "#model/limits.ts";
import type { Caller } from "#services/caller.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import type { SandboxTokens } from "#services/creating/sandbox-tokens.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface GatewaySettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tlsPort: number;
  readonly domain: string;
  /** PEM files; left out: one of our own, where there is a folder for it, and else nothing is encrypted. */
  readonly certificate?: CertificateFiles | undefined;
  /** How much may be open to all sandboxes and to one; as usual when left out. */
  readonly maxOpen?: number | undefined;
  readonly maxOpenOfSandbox?: number | undefined;
}

interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface GatewayParts {
  readonly settings: GatewaySettings;
  /** Where certificates of our own are kept; left out: there are none. */
  readonly certificateFolder?: string | undefined;
  /** How long streams may go on when the server ends; two seconds when left out. */
  readonly graceMs?: number | undefined;
  /** For how long before that clients are told with every answer to go elsewhere; not at all when left out. */
  readonly handOverMs?: number | undefined;
  readonly cache: SandboxCache;
  readonly history: Pick<HistoryStore, "get">;
  readonly sandboxes: Pick<SandboxService, "resume">;
  /** Where `api.<domain>` leads; left out: nowhere. */
  readonly api?: ApiPlace["at"] | undefined;
  readonly tokens: SandboxTokens;
  readonly traffic: TrafficLog;
  /** Whether others make sandboxes too, of which this process hears later than their users. */
  readonly isApart?: boolean;
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

function openOfTeams(cache: Pick<SandboxCache, "limitTable">): OpenOfTeams {
  return new OpenOfTeams((team) => teamLimit(cache.limitTable(), team, "connections"));
}

/** For actions of the gateway itself, which has already checked access. */
const gatewayCaller: Caller = { role: "admin", team: "", keyId: "gateway" };
const wakeTimeoutMs = 30_000;
const usualGraceMs = 2000;
/** Certificates are reloaded at runtime: renewal changes the files. */
const rereadMs = 60_000;

export async function serveGateway(parts: GatewayParts): Promise<ServedGateway> {
  const { settings, traffic, tokens, history, sandboxes, graceMs = usualGraceMs } = parts;
  await using open = new AsyncDisposableStack();
  const { perSandbox, total } = usualOpenLimits;
  const newcomers = parts.isApart === true ? open.use(new Newcomers({ ...parts, pods: parts.cache.pods })) : undefined;
  const gateway = new Gateway({
    ...parts,
    newcomers,
    traffic,
    api: parts.api && { host: `api.${settings.domain}`, at: parts.api },
    limits: { perSandbox: settings.maxOpenOfSandbox ?? perSandbox, total: settings.maxOpen ?? total, teams: openOfTeams(parts.cache) },
    ended: (sandboxId) => history.get(sandboxId, { kind: "admin" }).catch(() => undefined),
    wake: async (sandboxId) => void (await sandboxes.resume(gatewayCaller, sandboxId, AbortSignal.timeout(wakeTimeoutMs))),
    trafficTokenOf: (sandboxId) => tokens.trafficTokenOf(sandboxId),
    accessTokenOf: (sandboxId) => tokens.accessTokenOf(sandboxId),
  });
  open.defer(() => gateway.close());
  const { tls, authorityFile } = await certificateOf(parts);
  const { host, port, tlsPort, domain } = settings;
  const plain = await started(gateway, { host, port });
  const servers = [plain];
  open.defer(async () => {
    for (const server of servers) server.handOver();
    if (parts.handOverMs !== undefined) await sleep(parts.clock, parts.handOverMs);
    // Both at once: what is under way on the one does not take from the time of the other.
    const cut = await Promise.all(servers.map((server) => server.close(graceMs)));
    const connections = cut.reduce((sum, count) => sum + count, 0);
    if (connections > 0) parts.log.info({ connections, graceMs }, "connections cut: their time was over");
  });
  const encrypted = tls && { server: await started(gateway, { host, port: tlsPort, tls }), tls };
  if (encrypted !== undefined) {
    servers.push(encrypted.server);
    open.adopt(renewLater(parts, encrypted.server, encrypted.tls), (timer) => timer.cancel());
  }
  const served = open.move();
  return {
    address: `http://${reachable(host)}:${plain.port}`,
    domain: encrypted === undefined || encrypted.server.port === 443 ? domain : `${domain}:${encrypted.server.port}`,
    ...(authorityFile === undefined ? {} : { authorityFile }),
    [Symbol.asyncDispose]: () => served.disposeAsync(),
  };
}

async function certificateOf(parts: GatewayParts): Promise<{ readonly tls?: Certificate; readonly authorityFile?: string }> {
  const { certificate, domain } = parts.settings;
  if (certificate === undefined) {
    if (parts.certificateFolder === undefined) return {};
    const { certificate: tls, authorityFile, isReplaced } = await localCertificates(parts.certificateFolder, domain, parts.clock);
    if (isReplaced) parts.log.warn({ authorityFile, domain }, "authority of the gateway's certificate made anew: run agentbox trust again");
    return { tls, authorityFile };
  }
  try {
    return { tls: await readCertificate(certificate) };
  } catch (error) {
    throw new CliError(`the certificate cannot be read: ${(error as Error).message}`);
  }
}

async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
  return { cert, key };
}

/** What cannot be read, or is no certificate with its key, is tried again: files that belong together change one after the other. */
function renewLater({ settings: { certificate }, clock, log }: GatewayParts, server: GatewayServer, first: Certificate): Timer {
  let [used, isEnded]: [Certificate, boolean] = [first, certificate === undefined];
  let timer: Timer | undefined;
  const look = async (files: CertificateFiles): Promise<void> => {
    try {
      const fresh = await readCertificate(files);
      if (fresh.cert !== used.cert || fresh.key !== used.key) {
        server.renew(fresh);
        used = fresh;
        log.info({ file: files.certFile }, "certificate exchanged");
      }
    } catch (error) {
      log.warn({ file: files.certFile, error }, "certificate not exchanged; the one before is used");
    }
  };
  const later = (files: CertificateFiles): void => {
    if (isEnded) return;
    timer = clock.after(rereadMs, () => void look(files).then(() => later(files)));
  };
  if (certificate !== undefined) later(certificate);
  return {
    cancel: () => {
      isEnded = true;
      timer?.cancel();
    },
  };
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
