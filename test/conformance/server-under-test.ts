/**
 * The server that the SDKs are held against. Without settings it is one of our own, with real containers on this machine; with
 * AGENTBOX_CONFORMANCE_ENGINE=kubernetes it is our own on the cluster of `make cluster` (cluster-server.ts). With the other settings it is
 * any other, and the cases stay as they are:
 *
 * | variable | what it is |
 * |---|---|
 * | AGENTBOX_CONFORMANCE_URL | its API; this one makes it another server |
 * | AGENTBOX_CONFORMANCE_KEY | a key for it |
 * | AGENTBOX_CONFORMANCE_SANDBOX_URL | its gateway, plain |
 * | AGENTBOX_CONFORMANCE_DOMAIN | domain of the sandboxes' hosts, with the port of the gateway over TLS |
 * | AGENTBOX_CONFORMANCE_AUTHORITY | the file of the authority of its certificate; left out if it is publicly trusted |
 * | AGENTBOX_CONFORMANCE_ADDRESS | where the hosts of its domain are; left out when they can be resolved |
 * | AGENTBOX_CONFORMANCE_WITHOUT | abilities that it does not have, with commas between them: their cases are skipped |
 *
 * It needs a pool `base` with six places, and `code-interpreter-v1` with three.
 */
import { join } from "node:path";

/** What cases need and not every server can do. */
export const abilities = {
  "api-host": "the API at api.<domain>; without it, SDKs are told where the API is by hosts too",
  egress: "nodes that do what egress policies say, and this machine as one of them",
  interpreter: "a pool code-interpreter-v1",
  metrics: "metrics of sandboxes",
  pausing: "pods that can be frozen where they are",
  volumes: "volumes, and their files at the API",
  builds: "builds of templates",
  snapshots: "checkpoints of sandboxes",
} as const;

export type Ability = keyof typeof abilities;

/** By headers: plain, and the sandbox is named in headers. By hosts: TLS, and each sandbox is a host. */
export const modes = ["headers", "hosts"] as const;

export type Mode = (typeof modes)[number];

export interface ServerUnderTest {
  /** The data folder of our own. */
  readonly home?: string;
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly domain: string;
  readonly apiKey: string;
  readonly authorityFile?: string;
  /** Where the hosts of the domain are, for machines that do not know it. */
  readonly hostsAt?: string;
  readonly without: readonly Ability[];
}

declare module "vitest" {
  export interface ProvidedContext {
    readonly conformance: ServerUnderTest;
  }
}

/** Undefined: none is named, and one of our own is started. */
export function outsideServer(env: NodeJS.ProcessEnv): ServerUnderTest | undefined {
  const setting = (name: string): string | undefined => env[`AGENTBOX_CONFORMANCE_${name}`] || undefined;
  const apiUrl = setting("URL");
  if (apiUrl === undefined) return undefined;
  const needed = (name: string): string => {
    const value = setting(name);
    if (value === undefined) throw new Error(`AGENTBOX_CONFORMANCE_URL names a server; AGENTBOX_CONFORMANCE_${name} must be set too`);
    return value;
  };
  const [authorityFile, hostsAt] = [setting("AUTHORITY"), setting("ADDRESS")];
  return {
    apiUrl,
    gatewayUrl: needed("SANDBOX_URL"),
    domain: needed("DOMAIN"),
    apiKey: needed("KEY"),
    ...(authorityFile === undefined ? {} : { authorityFile }),
    ...(hostsAt === undefined ? {} : { hostsAt }),
    without: abilitiesWithout(env),
  };
}

export function abilitiesWithout(env: NodeJS.ProcessEnv): readonly Ability[] {
  return (env["AGENTBOX_CONFORMANCE_WITHOUT"] ?? "").split(",").filter(Boolean).map(abilityOf);
}

function abilityOf(name: string): Ability {
  const known = (Object.keys(abilities) as Ability[]).find((ability) => ability === name.trim());
  if (known === undefined) throw new Error(`AGENTBOX_CONFORMANCE_WITHOUT: '${name}' is none of ${Object.keys(abilities).join(", ")}`);
  return known;
}

/** What a user sets to point an SDK at the server, and what stands in for the user's resolver and trust. */
export function environment(server: ServerUnderTest, mode: Mode): Readonly<Record<string, string>> {
  const { apiKey, apiUrl, gatewayUrl, domain, authorityFile, hostsAt, without } = server;
  return {
    E2B_API_KEY: apiKey,
    ...(mode === "headers" || without.includes("api-host") ? { E2B_API_URL: apiUrl } : {}),
    ...(mode === "headers" || without.includes("api-host") ? { E2B_VOLUME_API_URL: apiUrl } : {}),
    ...(mode === "headers" ? { E2B_SANDBOX_URL: gatewayUrl } : { E2B_DOMAIN: domain }),
    ...(authorityFile === undefined ? {} : { SSL_CERT_FILE: authorityFile, NODE_EXTRA_CA_CERTS: authorityFile }),
    ...(hostsAt === undefined ? {} : { AGENTBOX_LOCAL_NAMES: `${domain.split(":", 1)[0]}=${hostsAt}` }),
    PYTHONPATH: join(import.meta.dirname, "local-names"),
  };
}

/** The same for a process of its own, whatever the SDKs of this one are pointed at. */
export function processEnvironment(server: ServerUnderTest, mode: Mode): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("E2B_"));
  return { ...Object.fromEntries(others), ...environment(server, mode) };
}
