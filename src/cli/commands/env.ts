import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";

const formats: Readonly<Record<string, (name: string, value: string) => string>> = {
  sh: (name, value) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  fish: (name, value) => `set -gx ${name} '${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  dotenv: (name, value) => `${name}=${JSON.stringify(value)}`,
};

export const env: Command = {
  usage: ["env [-o FORMAT]"],
  about:
    "Prints the data folder and the addresses of AgentBox as environment variables. Addresses are there while AgentBox runs.\n" +
    "Those with E2B in their names, this user's key among them, point E2B's SDKs here.",
  examples: [
    { does: "Set them in this shell", line: 'eval "$(agentbox env)"' },
    { does: "The same in fish", line: "agentbox env -o fish | source" },
    { does: "Run a program that uses E2B's SDK", line: 'eval "$(agentbox env)" && node agent.js' },
    { does: "For a program", line: "agentbox env -o json" },
  ],
  flags: { output: { short: "o", value: "FORMAT", choices: ["sh", "fish", "json", "dotenv"], help: "How they are written" } },
  run: async (context, args) => {
    const variables = await environmentOf(context);
    const format = formats[args.text("output") ?? "sh"];
    const text =
      format === undefined ? JSON.stringify(Object.fromEntries(variables), null, 2) : variables.map((pair) => format(...pair)).join("\n");
    context.stdout.write(`${text}\n`);
    return 0;
  },
};

async function environmentOf({ home }: CliContext): Promise<readonly [string, string][]> {
  const [address, gateway, key] = await Promise.all([home.httpAddress(), home.gateway(), home.adminKey()]);
  const variables: readonly (readonly [string, string | undefined])[] = [
    ["AGENTBOX_HOME", home.folder],
    ["AGENTBOX_SOCKET", home.socketPath],
    ["AGENTBOX_URL", address],
    // Without sandboxes there is nothing here for E2B's SDKs.
    ["E2B_API_KEY", gateway === undefined ? undefined : key],
    ["E2B_API_URL", gateway === undefined ? undefined : address],
    ["E2B_SANDBOX_URL", gateway?.address],
    ["E2B_DOMAIN", gateway?.domain],
  ];
  return variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]]));
}
