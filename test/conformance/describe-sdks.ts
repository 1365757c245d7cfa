/** The same cases for every JavaScript SDK and both ways of reaching sandboxes. */
import { readFile } from "node:fs/promises";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, inject } from "vitest";
import type { InterpreterSandbox, InterpreterSdk } from "./interpreter-sdk.ts";
import { interpreterModule, interpreterVersions, jsModule, type JsVersion, jsVersions } from "./install.ts";
import type { CreateOptions, Sandbox, Sdk } from "./sdk.ts";
import { abilities, type Ability, environment, type Mode, modes, type ServerUnderTest } from "./server-under-test.ts";

export interface SdkUnderTest<S extends Sdk = Sdk, B extends Sandbox = Sandbox> {
  readonly version: string;
  readonly mode: Mode;
  /** Loaded before the first case. */
  readonly sdk: S;
  readonly server: ServerUnderTest;
  /** A sandbox of its own, ended after the case. */
  create(options?: CreateOptions): Promise<B>;
  /** One that all cases of this file share. */
  readonly sandbox: B;
}

export interface Wanted {
  /** Where not all of them can do it. */
  readonly by?: (version: JsVersion, mode: Mode) => boolean;
  /** What the server has to be able to do. */
  readonly needs?: Ability;
}

export function describeSdks(about: string, cases: (sdk: SdkUnderTest) => void, { by = () => true, needs }: Wanted = {}): void {
  for (const mode of modes) {
    for (const version of jsVersions.filter((one) => by(one, mode))) {
      describeNeeding(needs, `e2b ${version}, by ${mode}: ${about}`, () => cases(underTest(version, mode, jsModule(version))));
    }
  }
}

export function describeInterpreters(
  about: string,
  cases: (sdk: SdkUnderTest<InterpreterSdk, InterpreterSandbox>) => void,
  needs: Ability = "interpreter",
): void {
  const version = interpreterVersions.js;
  for (const mode of modes) {
    describeNeeding(needs, `@e2b/code-interpreter ${version}, by ${mode}: ${about}`, () =>
      cases(underTest(version, mode, interpreterModule())),
    );
  }
}

/** Skipped, with the reason in its name, when the server says that it cannot do it. */
export function describeNeeding(needs: Ability | undefined, name: string, cases: () => void): void {
  const isMissing = needs !== undefined && inject("conformance").without.includes(needs);
  const why = isMissing ? ` (this server has not: ${abilities[needs]})` : "";
  describe.skipIf(isMissing)(`${name}${why}`, () => {
    cases();
  });
}

function underTest<S extends Sdk, B extends Sandbox>(version: string, mode: Mode, module: string): SdkUnderTest<S, B> {
  const server = inject("conformance");
  const created: B[] = [];
  let loaded: S | undefined;
  let shared: B | undefined;
  const known = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("only cases may use it");
    return value;
  };
  // The class of an SDK makes sandboxes of that SDK.
  const start = async (options: CreateOptions): Promise<B> => (await known(loaded).Sandbox.create(options)) as B;
  const create = async (options: CreateOptions = {}): Promise<B> => {
    const sandbox = await start({ timeoutMs: 600_000, ...options });
    created.push(sandbox);
    return sandbox;
  };
  const end = async (sandboxes: readonly B[]): Promise<void> => {
    await Promise.all(sandboxes.map(({ sandboxId }) => known(loaded).Sandbox.kill(sandboxId)));
  };
  beforeAll(async () => {
    for (const name of ["E2B_API_URL", "E2B_SANDBOX_URL", "E2B_VOLUME_API_URL"]) delete process.env[name];
    Object.assign(process.env, environment(server, mode));
    await reachHosts(server);
    loaded = (await import(module)) as S;
    shared = await start({ timeoutMs: 600_000 });
  }, 60_000);
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

/** What a user's machine does by a resolver and a trusted authority, for this process. */
async function reachHosts({ authorityFile }: ServerUnderTest): Promise<void> {
  if (authorityFile !== undefined) {
    tls.setDefaultCACertificates([...tls.getCACertificates("bundled"), await readFile(authorityFile, "utf8")]);
  }
  await import("./local-names/lookup.ts");
}
