/** Keyboard shortcuts of the console. They are inactive in text fields and terminals. */
import { useEffect, useRef } from "preact/hooks";

export type KeyActions = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Names of KeyboardEvent.key; `Mod+` stands for Ctrl, or Cmd on a Mac. */
export function useKeys(actions: KeyActions): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isMod = event.ctrlKey || event.metaKey;
      const action = current.current[isMod ? `Mod+${event.key.toLowerCase()}` : event.key];
      if (action === undefined || event.defaultPrevented || event.altKey) return;
      if (isTyping(event.target) || (!isMod && document.querySelector("dialog[open]") !== null)) return;
      event.preventDefault();
      action(event);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest(".xterm") !== null || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
