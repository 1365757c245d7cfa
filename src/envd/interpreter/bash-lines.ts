/**
 * The lines sent to the bash of a context. It is an interactive bash, because only such a bash continues with its next line after an interrupt. Requests
 * are lines of its input; the code sees an empty input. Pure.
 */
import type { Execution } from "./languages.ts";

/** Copies of the outputs, under numbers that no script uses, because the code may redirect its own. */
const out = 198;
const err = 199;

export function bashOpening(mark: string): string {
  return `PS1= PS2=; unset HISTFILE; set +o history +o histexpand; exec ${out}>&1 ${err}>&2\n${endLine(mark, "0")}`;
}

export function bashExecution(mark: string, { code, env }: Execution): string {
  const variables = Object.entries(env).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  // `declare -p` prints a command that restores the variable.
  const set = variables.map(
    ([name, value]) => `__agentbox_kept+=("$(declare -p ${name} 2>/dev/null || echo unset ${name})"); export ${name}=${bashText(value)}\n`,
  );
  const restore =
    variables.length === 0 ? "" : `for __agentbox_one in "\${__agentbox_kept[@]}"; do eval "$__agentbox_one"; done; __agentbox_kept=();`;
  const run = `eval ${bashText(code)} </dev/null\n`;
  return `${set.join("")}${run}__agentbox_status=$?; ${restore} ${endLine(mark, "$__agentbox_status")}`;
}

function endLine(mark: string, status: string): string {
  return `printf '\\0%s.{"type":"end","status":%s}\\n' ${mark} "${status}" >&${out}; printf '\\0%s.{"type":"end"}\\n' ${mark} >&${err}\n`;
}

/** Any text without zero bytes, on one line. */
export function bashText(text: string): string {
  const escaped = text.replaceAll("\0", "").replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `$'${escaped}'`;
}
