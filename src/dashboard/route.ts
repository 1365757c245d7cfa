/** The current page: the path below /console, and filters in the query, so that every view has an address. */
import { signal } from "@preact/signals";

export interface Place {
  /** Without /console and without slashes at the ends. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export const base = "/console";

/** Pure. */
export function placeOf(url: URL): Place {
  const path = url.pathname.startsWith(base) ? url.pathname.slice(base.length) : url.pathname;
  const parts = path.split("/").filter((part) => part !== "");
  return { parts: parts.map(decodeURIComponent), query: url.searchParams };
}

/** Pure: builds an address of the console. Undefined and empty values are left out. */
export function hrefOf(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") params.set(name, value);
  const path = [base, ...parts.map(encodeURIComponent)].join("/");
  return `${parts.length === 0 ? `${base}/` : path}${params.size === 0 ? "" : `?${params.toString()}`}`;
}

export const place = signal<Place>({ parts: [], query: new URLSearchParams() });

export function startRouting(): void {
  const read = (): void => {
    place.value = placeOf(new URL(window.location.href));
  };
  window.addEventListener("popstate", read);
  read();
}

export function go(href: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, "", href);
  else window.history.pushState(null, "", href);
  const before = place.value.parts.join("/");
  place.value = placeOf(new URL(window.location.href));
  // A new page starts at the top, and screen readers at its content.
  if (place.value.parts.join("/") === before) return;
  const main = document.querySelector<HTMLElement>("main");
  main?.scrollTo(0, 0);
  main?.focus();
}

/** Changes some parameters and keeps the rest, without a new entry in the browser's history. */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  const { parts, query } = place.value;
  go(hrefOf(parts, { ...Object.fromEntries(query), ...change }), { replace: true });
}
