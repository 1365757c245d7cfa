import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { SystemTrust, TrustStore } from "../system-trust.ts";

export const trust: Command = {
  usage: ["trust", "trust --remove", "trust --print"],
  about:
    "Makes this system trust the certificate of the gateway: https://<port>-<sandbox id>.DOMAIN and https://api.DOMAIN open without warnings. " +
    "It installs the certificate authority that the first start created; its key never leaves the data folder. This needs root, and works on " +
    "Debian, Ubuntu, Fedora and their relatives. Node, Python and Firefox have lists of their own; the command prints what to set for them.",
  examples: [
    { does: "Trust it on this system", line: "sudo agentbox trust" },
    { does: "Set what Node and Python need in this shell", line: 'eval "$(agentbox trust --print)"' },
    { does: "Stop trusting it", line: "sudo agentbox trust --remove" },
  ],
  flags: {
    remove: { help: "Remove the authority from the system's list" },
    print: { help: "Change nothing: print the variables for Node and Python, for a shell" },
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`trust takes only flags: unexpected ${args.words.join(" ")}`);
    if (args.isOn("remove") && args.isOn("print")) throw new UsageError("--remove and --print exclude each other");
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
      "curl, wget, git and most other programs trust it from now on. These programs have lists of their own:\n" +
      `  Node              NODE_EXTRA_CA_CERTS=${file}\n` +
      `  Python            SSL_CERT_FILE=${store.bundle} REQUESTS_CA_BUNDLE=${store.bundle}\n` +
      "  Firefox, Chrome   import the file in their settings, under certificates and authorities\n" +
      "  other machines    copy the file there, and install it in their lists\n\n" +
      "agentbox trust --print prints the variables for a shell.\n",
  );
}

async function remove({ stdout }: CliContext, store: TrustStore): Promise<void> {
  const wasThere = await changed(store, () => store.remove());
  stdout.write(wasThere ? `Removed from ${store.name} list\n` : `${store.name} list has no authority of this data folder\n`);
}

/** Lines for a shell, with explanations after a #. */
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
    "there is no authority to trust: the first start of AgentBox with sandboxes creates one, unless a certificate is configured (--tls-cert)",
  );
}

function changeable({ store, authorityFile }: SystemTrust, flag: string): TrustStore {
  if (store === undefined) {
    const where = authorityFile === undefined ? "" : `. The authority is ${authorityFile}: install it in the way of your system`;
    throw new CliError(`AgentBox does not support this system's list of authorities (only those of Debian and Fedora)${where}`);
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
