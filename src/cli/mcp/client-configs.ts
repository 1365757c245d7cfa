/** Where AI clients keep their MCP servers, and what an entry looks like there. Pure. */

export interface McpEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Folders {
  readonly home: string;
  /** Of the project: where the user stands. */
  readonly cwd: string;
  readonly isMac: boolean;
}

export interface ClientConfig {
  readonly file: (folders: Folders) => string;
  readonly form: "json" | "toml";
  /** Under which the file has its servers. */
  readonly key: string;
  /** Written before command, args and env. */
  readonly more?: Readonly<Record<string, string>>;
}

const inHome =
  (path: string) =>
  ({ home }: Folders): string =>
    `${home}/${path}`;

export const clientConfigs: Readonly<Record<string, ClientConfig>> = {
  "claude-code": { file: ({ cwd }) => `${cwd}/.mcp.json`, form: "json", key: "mcpServers", more: { type: "stdio" } },
  "claude-desktop": {
    file: ({ home, isMac }) => `${home}/${isMac ? "Library/Application Support" : ".config"}/Claude/claude_desktop_config.json`,
    form: "json",
    key: "mcpServers",
  },
  codex: { file: inHome(".codex/config.toml"), form: "toml", key: "mcp_servers" },
  cursor: { file: inHome(".cursor/mcp.json"), form: "json", key: "mcpServers" },
  gemini: { file: inHome(".gemini/settings.json"), form: "json", key: "mcpServers" },
  vscode: { file: ({ cwd }) => `${cwd}/.vscode/mcp.json`, form: "json", key: "servers", more: { type: "stdio" } },
  windsurf: { file: inHome(".codeium/windsurf/mcp_config.json"), form: "json", key: "mcpServers" },
};

export const clientNames: readonly string[] = Object.keys(clientConfigs);

const name = "agentbox";

/** The file with the entry, everything else as it was; undefined when the file cannot be read as what it should be. */
export function withEntry({ form, key, more }: ClientConfig, text: string, { command, args, env }: McpEntry): string | undefined {
  const hasEnv = Object.keys(env).length > 0;
  if (form === "toml") return withTable(text, key, { command, args, env });
  const file = jsonObject(text);
  const servers = file?.[key] ?? {};
  if (file === undefined || typeof servers !== "object" || servers === null || Array.isArray(servers)) return undefined;
  const entry = { ...more, command, args, ...(hasEnv && { env }) };
  return `${JSON.stringify({ ...file, [key]: { ...servers, [name]: entry } }, undefined, 2)}\n`;
}

function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Texts of JSON are texts of TOML. */
function withTable(text: string, key: string, { command, args, env }: McpEntry): string {
  const pairs = Object.entries(env).map(([variable, value]) => `${variable} = ${JSON.stringify(value)}`);
  const table = [
    `[${key}.${name}]`,
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]`,
    ...(pairs.length === 0 ? [] : [`env = { ${pairs.join(", ")} }`]),
  ];
  const others = withoutTable(text, `${key}.${name}`).trimEnd();
  return `${others}${others === "" ? "" : "\n\n"}${table.join("\n")}\n`;
}

/** Without the table and those inside it. */
function withoutTable(text: string, table: string): string {
  let isOurs = false;
  const kept = text.split("\n").filter((line) => {
    const head = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (head !== undefined) isOurs = head === table || head.startsWith(`${table}.`);
    return !isOurs;
  });
  return kept.join("\n");
}
