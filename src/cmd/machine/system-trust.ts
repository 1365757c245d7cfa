/** The lists of trusted authorities of Debian, Fedora and their derivatives. */
import { access, constants, copyFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import type { SystemTrust, TrustStore } from "#cli/system-trust.ts";
import { authorityFileIn } from "#gateway/local-certificates.ts";
import { isConstrained } from "#gateway/name-constraints.ts";
import { instanceOf } from "./embedded-node.ts";

export interface SystemTrustOptions {
  /** AgentBox's data folder. */
  readonly home: string;
  readonly certificateFolder: string;
  /** Where the system's files begin. */
  readonly root?: string;
  readonly isRoot?: boolean;
  /** Runs a program of the system to its end. */
  readonly run?: (program: string, args: readonly string[]) => Promise<unknown>;
}

interface Kind {
  readonly name: string;
  /** Where authorities are put that shall be trusted. */
  readonly folder: string;
  /** Makes the list anew. */
  readonly update: readonly [program: string, ...args: string[]];
  readonly bundle: string;
}

const kinds: readonly Kind[] = [
  {
    name: "Debian's",
    folder: "usr/local/share/ca-certificates",
    update: ["update-ca-certificates"],
    bundle: "etc/ssl/certs/ca-certificates.crt",
  },
  {
    name: "Fedora's",
    folder: "etc/pki/ca-trust/source/anchors",
    update: ["update-ca-trust", "extract"],
    bundle: "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  },
];

const runProgram = (program: string, args: readonly string[]): Promise<string> => runCommand([program, ...args]);

export async function systemTrust(options: SystemTrustOptions): Promise<SystemTrust> {
  const { certificateFolder, root = "/" } = options;
  const authorityFile = authorityFileIn(certificateFolder);
  let found: Kind | undefined;
  for (const kind of kinds) if (found === undefined && (await isThere(join(root, kind.folder)))) found = kind;
  return {
    authorityFile: (await isThere(authorityFile)) ? authorityFile : undefined,
    store: found && storeOf(found, authorityFile, options),
  };
}

function storeOf({ name, folder, update, bundle }: Kind, authorityFile: string, options: SystemTrustOptions): TrustStore {
  const { home, root = "/", isRoot = process.getuid?.() === 0, run = runProgram } = options;
  // Two data folders have two authorities.
  const own = join(root, folder, `agentbox-${instanceOf(home)}.crt`);
  const [program, ...args] = update;
  const isListed = async (): Promise<boolean> => {
    const [all, one] = await Promise.all([textOf(join(root, bundle)), textOf(authorityFile)]);
    return one !== "" && all.includes(bodyOf(one));
  };
  return {
    name,
    bundle: join(root, bundle),
    mayChange: isRoot,
    isInstalled: isListed,
    install: async () => {
      if (!isConstrained(await readFile(authorityFile, "utf8"))) {
        throw new Error("the authority is one of an earlier AgentBox, and good for every name: start AgentBox once, which makes it anew");
      }
      await copyFile(authorityFile, own);
      await run(program, args);
      if (!(await isListed())) throw new Error(`${program} has run, and the authority is not in ${join(root, bundle)}`);
    },
    remove: async () => {
      if (!(await isThere(own))) return false;
      await rm(own);
      await run(program, args);
      return true;
    },
  };
}

/** Without the lines around it, which systems write in their own way. */
function bodyOf(pem: string): string {
  return /-----BEGIN CERTIFICATE-----\s*([A-Za-z0-9+/=\s]+?)\s*-----END/.exec(pem)?.[1] ?? pem;
}

async function isThere(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
