import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { SystemTrust, TrustStore } from "../system-trust.ts";

export const trust: Command = {
  usage: ["trust", "trust --remove", "trust --print"],
  about:
    "Has this system trust the certificate of the gateway: https://<port>-<sandbox id>.DOMAIN and https://api.DOMAIN open without warnings. " +
    "It installs the authority that the first start made, whose key never leaves the data folder. This needs root, and works on " +
    "Debian, Ubuntu, Fedora and their relatives. Node, Python and Firefox keep lists of their own: what to set for them is printed.",
  examples: [
    { does: "Trust it on this system", line: "sudo agentbox trust" },
    { does: "Set what Node and Python need in this shell", line: 'eval "$(agentbox trust --print)"' },
    { does: "Trust it no longer", line: "sudo agentbox trust --remove" },
  ],
  flags: {
    remove: { help: "Take the authority out of the system's list again" },
    print: { help: "Change nothing: print the variables for Node and Python, for a shell" },
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`trust takes only flags: unexpected ${args.words.join(" ")}`);
    if (args.isOn("remove") && args.isOn("print")) throw new UsageError("--remove and --print are not good together");
    const system = await context.trust();
    if (args.isOn("print")) await print(context, system);
    else if (args.isOn("remove")) await remove(context, changeable(system, "--remove"));
    else await install(context, system);
    return 0;
  },
};

async function install({ stdout }: CliContext, system: SystemTrust): Promise<void> {
  // First: without root the authority cannot be read either.
  const store = changeable(system, "");
  const file = authorityOf(system);
  await changed(store, () => store.install());
  stdout.write(
    `Trusted in ${store.name} list: ${file}\n\n` +
      "curl, wget, git and most other programs trust it from now on. These have lists of their own:\n" +
      `  Node              NODE_EXTRA_CA_CERTS=${file}\n` +
      `  Python            SSL_CERT_FILE=${store.bundle} REQUESTS_CA_BUNDLE=${store.bundle}\n` +
      "  Firefox, Chrome   import the file in their settings, under certificates and authorities\n" +
      "  other machines    copy the file there, and install it in their lists\n\n" +
      "agentbox trust --print prints the variables for a shell.\n",
  );
}

async function remove({ stdout }: CliContext, store: TrustStore): Promise<void> {
  const wasThere = await changed(store, () => store.remove());
  stdout.write(wasThere ? `Removed from ${store.name} list\n` : `Nothing of this data folder is in ${store.name} list\n`);
}

/** Lines that a shell can take, and what to know about them behind a #. */
async function print({ stdout }: CliContext, system: SystemTrust): Promise<void> {
  const file = authorityOf(system);
  const isInstalled = (await system.store?.isInstalled()) === true;
  const bundle = isInstalled ? (system.store?.bundle ?? file) : file;
  if (!isInstalled)
    stdout.write("# Python trusts nothing else with these: install the authority first (agentbox trust, as root) to keep the others\n");
  for (const [name, value] of [
    ["NODE_EXTRA_CA_CERTS", file],
    ["SSL_CERT_FILE", bundle],
    ["REQUESTS_CA_BUNDLE", bundle],
  ] as const) {
    stdout.write(`export ${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`);
  }
}

function authorityOf({ authorityFile }: SystemTrust): string {
  if (authorityFile !== undefined) return authorityFile;
  throw new CliError(
    "there is no authority to trust: the first start of AgentBox with sandboxes makes one, unless it was given a certificate (--tls-cert)",
  );
}

function changeable({ store, authorityFile }: SystemTrust, flag: string): TrustStore {
  if (store === undefined) {
    const where = authorityFile === undefined ? "" : `. The authority is ${authorityFile}: install it as your system wants it`;
    throw new CliError(`this system's list of authorities is not one that AgentBox knows (Debian's and Fedora's are)${where}`);
  }
  if (!store.mayChange) throw new CliError(`changing the system's list of authorities needs root: sudo agentbox trust ${flag}`.trimEnd());
  return store;
}

async function changed<T>(store: TrustStore, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CliError(`${store.name} list could not be changed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
