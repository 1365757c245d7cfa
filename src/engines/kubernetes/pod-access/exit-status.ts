/** How a command ended, as the API says it: a Status on the last channel. */

export type Exit = { readonly kind: "exited"; readonly code: number } | { readonly kind: "failed"; readonly why: string };

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

export function exitCodeOf(text: string): Exit {
  const status = parse(text);
  if (status?.status === "Success") return { kind: "exited", code: 0 };
  const code = Number(status?.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message);
  if (Number.isInteger(code)) return { kind: "exited", code };
  return { kind: "failed", why: status?.message ?? "the node does not say how the command ended" };
}

function parse(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
