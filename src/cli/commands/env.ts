import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { NoPrefix } from "../failure-text.ts";

const formats: Readonly<Record<string, (name: string, value: string) => string>> = {
  sh: (name, value) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  fish: (name, value) => `set -gx ${name} '${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  dotenv: (name, value) => `${name}=${JSON.stringify(value)}`,
};

/** Unsets variables of an earlier call without --hosts in the same shell. */
const unset: Readonly<Record<string, readonly string[]>> = {
  sh: ["unset E2B_API_URL E2B_SANDBOX_URL"],
  fish: ["set -e E2B_API_URL", "set -e E2B_SANDBOX_URL"],
};

export const env: Command = {
  usage: ["env [--hosts] [-o FORMAT]"],
  about:
    "Prints the addresses of a running AgentBox and this user's key as environment variables; fails if none runs.\n" +
    "Variables with E2B in their names point E2B's SDKs here. With --hosts, SDKs get only the domain, and\n" +
    "reach the API and each sandbox over TLS as hosts of it; without, they send plain requests with the sandbox id in a header.",
  examples: [
    { does: "Set them in this shell", line: 'eval "$(agentbox env)"' },
    { does: "Set them in fish", line: "agentbox env -o fish | source" },
    { does: "Run a program that uses E2B's SDK", line: 'eval "$(agentbox env)" && node agent.js' },
    { does: "Reach sandboxes as hosts of the domain (see also agentbox trust)", line: 'eval "$(agentbox env --hosts)"' },
    { does: "For a program", line: "agentbox env -o json" },
  ],
  flags: {
    hosts: { help: "Have E2B's SDKs reach the API and sandboxes as hosts of the domain" },
    output: { short: "o", value: "FORMAT", choices: ["sh", "fish", "json", "dotenv"], help: "Output format" },
  },
  run: async (context, args) => {
    const byHosts = args.isOn("hosts");
    if ((await context.home.httpAddress()) === undefined) throw new NoPrefix("AgentBox is not running here. Start it with: make up");
    const variables = await environmentOf(context, byHosts);
    const output = args.text("output") ?? "sh";
    const format = formats[output];
    const text =
      format === undefined
        ? JSON.stringify(Object.fromEntries(variables), null, 2)
        : [...variables.map((pair) => format(...pair)), ...(byHosts ? (unset[output] ?? []) : [])].join("\n");
    context.stdout.write(`${text}\n`);
    return 0;
  },
};

async function environmentOf({ home }: CliContext, byHosts: boolean): Promise<readonly [string, string][]> {
  const [address, gateway, key] = await Promise.all([home.httpAddress(), home.gateway(), home.adminKey()]);
  const variables: readonly (readonly [string, string | undefined])[] = [
    ["AGENTBOX_HOME", home.folder],
    ["AGENTBOX_SOCKET", home.socketPath],
    ["AGENTBOX_API_URL", address],
    ["AGENTBOX_API_KEY", key],
    // Without sandboxes, E2B's SDKs have no use for it.
    ["E2B_API_KEY", gateway === undefined ? undefined : key],
    ["E2B_API_URL", gateway === undefined || byHosts ? undefined : address],
    ["E2B_SANDBOX_URL", byHosts ? undefined : gateway?.address],
    ["E2B_DOMAIN", gateway?.domain],
    // Node adds this authority to its list. Python would trust only this one: see agentbox trust.
    ["NODE_EXTRA_CA_CERTS", byHosts ? gateway?.authorityFile : undefined],
  ];
  return variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]]));
}
