/** Light or dark: follows the system until the user chooses. */
import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const stored = "agentbox-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const chosen = window.localStorage.getItem(stored);

export const theme = signal<Theme>(chosen === "light" || chosen === "dark" ? chosen : systemTheme());

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

system.addEventListener("change", () => {
  if (window.localStorage.getItem(stored) === null) theme.value = systemTheme();
});

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  window.localStorage.setItem(stored, theme.value);
}
