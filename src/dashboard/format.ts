/** Formats numbers and times for people. Pure. */
const units = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** The two largest units: 2 h 5 min, 12 s. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  let rest = Math.round(ms / 1000);
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0 || parts.length > 0) parts.push(count > 0 ? `${count} ${unit}` : "");
    if (parts.length === 2) break;
  }
  return parts.filter((part) => part !== "").join(" ");
}

export function agoText(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time);
  return ms < 1500 && ms > -1500 ? "now" : ms < 0 ? `in ${spanText(-ms)}` : `${spanText(ms)} ago`;
}

/** 1536 is 1.5 KiB. */
export function bytesText(bytes: number): string {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, at] = [bytes, 0];
  for (; value >= 1024 && at < names.length - 1; at++) value /= 1024;
  return `${at === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10} ${names[at] ?? ""}`;
}

export function numberText(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
}

export function msText(ms: number | undefined): string {
  if (ms === undefined) return "–";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${numberText(ms / 1000)} s`;
}
