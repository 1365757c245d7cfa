/** Rewrites import statements as expressions: they are allowed only in modules, and code that runs piece by piece is none. Pure. */

/** The runner offers its `import()` under this name: code that is evaluated piece by piece has none of its own. */
export const importName = "__agentboxImport";

// Strings and comments come first, so that an import inside one is skipped.
const parts = new RegExp(
  [
    String.raw`\/\*[\s\S]*?\*\/|\/\/[^\n]*`,
    String.raw`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|` + "`(?:\\\\.|[^`\\\\])*`",
    String.raw`(?<![\w$.])import\s+(?<clause>[\w$\s{},*]+?)\s+from\s*(?<from>"[^"\n]*"|'[^'\n]*')`,
    String.raw`(?<![\w$.])import\s*(?<bare>"[^"\n]*"|'[^'\n]*')`,
    String.raw`(?<![\w$.])import\s*\(`,
  ].join("|"),
  "g",
);

export function withoutImports(code: string): string {
  if (!code.includes("import")) return code;
  return code.replaceAll(parts, (found: string, ...rest: unknown[]) => {
    const { clause, from, bare } = rest.at(-1) as { readonly clause?: string; readonly from?: string; readonly bare?: string };
    if (clause !== undefined && from !== undefined) return declaration(clause.trim(), `await ${importName}(${from})`);
    if (bare !== undefined) return `await ${importName}(${bare})`;
    return found.startsWith("import") ? `${importName}(` : found;
  });
}

/** Turns `a, { b as c }` or `a, * as d` into a declaration of the same names. */
function declaration(clause: string, module: string): string {
  const [, first, rest = ""] = /^(?:([\w$]+)\s*(?:,\s*|$))?([\s\S]*)$/.exec(clause) ?? [];
  const whole = /^\*\s*as\s+([\w$]+)$/.exec(rest)?.[1];
  const names = [
    ...(first === undefined ? [] : [`default: ${first}`]),
    ...(rest.startsWith("{") ? [rest.slice(1, -1).replaceAll(/\s+as\s+/g, ": ")] : []),
  ];
  if (whole === undefined) return `const { ${names.join(", ")} } = ${module}`;
  return first === undefined ? `const ${whole} = ${module}` : `const ${whole} = ${module}, { default: ${first} } = ${whole}`;
}
