/** Example code of the playground, and equivalent programs to copy. Pure. */
export type Language = "python" | "javascript" | "shell";

export const languages: Readonly<
  Record<Language, { readonly name: string; readonly file: string; readonly command: readonly string[]; readonly first: string }>
> = {
  python: {
    name: "Python",
    file: "main.py",
    command: ["python3", "-"],
    first: 'import platform\n\nprint("Hello from", platform.node())\nprint(sum(n * n for n in range(10)))\n',
  },
  javascript: {
    name: "JavaScript",
    file: "main.mjs",
    command: ["node", "--input-type=module", "-"],
    first: 'import { hostname } from "node:os";\n\nconsole.log("Hello from", hostname());\nconsole.log([1, 2, 3].map((n) => n * n));\n',
  },
  shell: { name: "Shell", file: "main.sh", command: ["sh", "-s"], first: "uname -a\nnproc\ndf -h / | tail -1\n" },
};

export interface Snippet {
  readonly language: Language;
  readonly code: string;
  readonly from: string;
  /** Address of this server. */
  readonly url: string;
  readonly domain: string;
  readonly sandboxUrl?: string | undefined;
}

const scripts: Readonly<Record<Language, string>> = { python: "python3", javascript: "node", shell: "sh" };

export function pythonSnippet({ language, code, from, url, domain, sandboxUrl }: Snippet): string {
  const path = `/tmp/${languages[language].file}`;
  return `# pip install e2b
import os
from e2b import Sandbox

os.environ.update(E2B_API_KEY="YOUR_KEY", E2B_API_URL=${JSON.stringify(url)}, E2B_DOMAIN=${JSON.stringify(domain)})${sandboxUrl === undefined ? "" : `\nos.environ["E2B_SANDBOX_URL"] = ${JSON.stringify(sandboxUrl)}`}

code = ${pythonText(code)}

sandbox = Sandbox.create(${JSON.stringify(from)})
sandbox.files.write(${JSON.stringify(path)}, code)
result = sandbox.commands.run("${scripts[language]} ${path}")
print(result.stdout)
sandbox.kill()
`;
}

export function typescriptSnippet({ language, code, from, url, domain, sandboxUrl }: Snippet): string {
  const path = `/tmp/${languages[language].file}`;
  return `// npm install e2b
import { Sandbox } from "e2b";

const code = ${JSON.stringify(code)};

const sandbox = await Sandbox.create(${JSON.stringify(from)}, {
  apiKey: "YOUR_KEY",
  apiUrl: ${JSON.stringify(url)},
  domain: ${JSON.stringify(domain)},${sandboxUrl === undefined ? "" : `\n  sandboxUrl: ${JSON.stringify(sandboxUrl)},`}
});
await sandbox.files.write(${JSON.stringify(path)}, code);
const result = await sandbox.commands.run("${scripts[language]} ${path}");
console.log(result.stdout);
await sandbox.kill();
`;
}

export function curlSnippet({ language, code, from, url }: Snippet): string {
  const body = JSON.stringify({ command: languages[language].command, stdin: code });
  return `AGENTBOX_API_URL=${url}
AGENTBOX_API_KEY=YOUR_KEY
api() { curl --silent --show-error --fail-with-body --header "X-API-Key: $AGENTBOX_API_KEY" "$@"; }

id=$(api --json ${shellText(JSON.stringify({ poolName: from }))} "$AGENTBOX_API_URL/v1/sandboxes" | sed 's/.*"sandboxId":"\\([^"]*\\)".*/\\1/')
api --json ${shellText(body)} "$AGENTBOX_API_URL/v1/sandboxes/$id/exec"
api --request DELETE "$AGENTBOX_API_URL/v1/sandboxes/$id"
`;
}

/** JSON strings are valid Python strings. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
