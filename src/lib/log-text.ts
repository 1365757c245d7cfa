/** Turns one JSON log line into one that a person reads at a terminal: time of day, level, message, fields, then stacks. */
export function textLine(jsonLine: string): string {
  const { time, level, msg, ...fields } = JSON.parse(jsonLine) as Record<string, unknown>;
  const stacks: string[] = [];
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shortForm(value, stacks)}`);
  const head = `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(msg)}`;
  return `${[head + shown.join(""), ...stacks].join("\n")}\n`;
}

function shortForm(value: unknown, stacks: string[]): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "object" && value !== null && "stack" in value && "message" in value) {
    stacks.push(String(value.stack));
    return JSON.stringify(value.message);
  }
  return JSON.stringify(value);
}
