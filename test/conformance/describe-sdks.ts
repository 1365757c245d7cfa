/** The same cases for every JavaScript SDK and both ways of reaching sandboxes: by headers (plain) and by host names (TLS). */
import dns from "node:dns";
import { readFile } from "node:fs/promises";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, inject } from "vitest";
import type { ServerUnderTest } from "./global-setup.ts";
import { jsModule, type JsVersion, jsVersions } from "./install.ts";
import type { CreateOptions, Sandbox, Sdk } from "./sdk.ts";

export type Mode = "headers" | "hosts";

export interface SdkUnderTest {
  readonly version: JsVersion;
  readonly mode: Mode;
  /** Loaded before the first case. */
  readonly sdk: Sdk;
  readonly server: ServerUnderTest;
  /** A sandbox of its own, ended after the case. */
  create(options?: CreateOptions): Promise<Sandbox>;
  /** One that all cases of this file share. */
  readonly sandbox: Sandbox;
}

const byHost: readonly JsVersion[] = ["2.51.0", "2.14.1"];
const variants: readonly (readonly [JsVersion, Mode])[] = [
  ...jsVersions.map((version) => [version, "headers"] as const),
  ...byHost.map((version) => [version, "hosts"] as const),
];

export function describeSdks(
  about: string,
  cases: (sdk: SdkUnderTest) => void,
  wanted: (version: JsVersion, mode: Mode) => boolean = () => true,
): void {
  for (const [version, mode] of variants.filter((variant) => wanted(...variant))) {
    describe(`e2b ${version}, by ${mode}: ${about}`, () => {
      cases(underTest(version, mode));
    });
  }
}

function underTest(version: JsVersion, mode: Mode): SdkUnderTest {
  const server = inject("conformance");
  const created: Sandbox[] = [];
  let loaded: Sdk | undefined;
  let shared: Sandbox | undefined;
  const known = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("only cases may use it");
    return value;
  };
  const create = async (options: CreateOptions = {}): Promise<Sandbox> => {
    const sandbox = await known(loaded).Sandbox.create({ timeoutMs: 600_000, ...options });
    created.push(sandbox);
    return sandbox;
  };
  const end = async (sandboxes: readonly Sandbox[]): Promise<void> => {
    await Promise.all(sandboxes.map(({ sandboxId }) => known(loaded).Sandbox.kill(sandboxId)));
  };
  beforeAll(async () => {
    Object.assign(process.env, environment(server, mode));
    if (mode === "headers") process.env["E2B_SANDBOX_URL"] = server.gatewayUrl;
    else delete process.env["E2B_SANDBOX_URL"];
    await reachHosts(server);
    loaded = (await import(jsModule(version))) as Sdk;
    shared = await known(loaded).Sandbox.create({ timeoutMs: 600_000 });
  });
  // Places in the pool are few: the next case may need them.
  afterEach(() => end(created.splice(0)));
  afterAll(async () => {
    if (shared !== undefined) await end([shared]);
  });
  return {
    version,
    mode,
    server,
    create,
    get sdk() {
      return known(loaded);
    },
    get sandbox() {
      return known(shared);
    },
  };
}

function environment({ apiKey, apiUrl, domain }: ServerUnderTest, mode: Mode): Readonly<Record<string, string>> {
  return { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, ...(mode === "hosts" ? { E2B_DOMAIN: domain } : {}) };
}

const lookup = dns.lookup;

/** What a user's machine does by a resolver and a trusted authority, for this process: names under localhost are this machine. */
async function reachHosts({ authorityFile }: ServerUnderTest): Promise<void> {
  tls.setDefaultCACertificates([...tls.getCACertificates("bundled"), await readFile(authorityFile, "utf8")]);
  const local = ((name: string, ...rest: unknown[]) =>
    Reflect.apply(lookup, dns, [name.endsWith(".localhost") ? "127.0.0.1" : name, ...rest])) as typeof lookup;
  dns.lookup = local;
}
