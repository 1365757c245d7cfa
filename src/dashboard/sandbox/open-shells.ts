/** The terminals that this page shows, remembered over a reload. Only their process ids: what they show comes from the sandbox. */
const keyOf = (sandboxId: string): string => `agentbox.terminals.${sandboxId}`;

export function rememberedShells(sandboxId: string, storage: Pick<Storage, "getItem"> = sessionStorage): readonly number[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(keyOf(sandboxId)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((pid): pid is number => Number.isSafeInteger(pid) && (pid as number) > 0) : [];
  } catch {
    return [];
  }
}

export function rememberShells(sandboxId: string, pids: readonly number[], storage: Pick<Storage, "setItem"> = sessionStorage): void {
  storage.setItem(keyOf(sandboxId), JSON.stringify(pids));
}
