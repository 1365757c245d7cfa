/** The time, for texts such as "3 s ago": one timer for the whole page. */
import { signal } from "@preact/signals";

export const now = signal(Date.now());

window.setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
