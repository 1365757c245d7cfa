/** `-o jsonpath=…`: text with expressions in braces, as kubectl has it: `{.metadata.name}{"\n"}`. Several values are joined by spaces. */
import { UsageError } from "../failure.ts";
import { compileJsonPaths } from "../table/json-path.ts";

export function jsonPathText(template: string, value: unknown): string {
  const parts = template.split(/(\{(?:"(?:\\.|[^"\\])*"|[^{}])*\})/);
  return parts
    .map((part) =>
      part.startsWith("{") && part.endsWith("}") ? expressionText(part.slice(1, -1).trim(), value) : literalText(part, template),
    )
    .join("");
}

function literalText(text: string, template: string): string {
  if (/[{}]/.test(text)) throw new UsageError(`-o jsonpath: braces do not match in ${JSON.stringify(template)}`);
  return text;
}

function expressionText(expression: string, value: unknown): string {
  if (expression.startsWith('"')) return JSON.parse(expression) as string;
  if (/^(range|end)\b/.test(expression))
    throw new UsageError("-o jsonpath does not support range: use [*], which joins values with spaces");
  try {
    return compileJsonPaths(expression)(value)
      .map((found) => (typeof found === "string" ? found : JSON.stringify(found)))
      .join(" ");
  } catch (error) {
    throw new UsageError(`-o jsonpath: ${(error as Error).message}`);
  }
}
