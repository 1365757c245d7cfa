import { constants, PerformanceObserver } from "node:perf_hooks";

/** Tells of every collection of the whole heap of this process, a moment after it. Returns what ends it. */
export function onWholeCollection(handler: () => void): () => void {
  const observer = new PerformanceObserver((seen) => {
    if (seen.getEntries().some(isWhole)) handler();
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}

function isWhole(entry: object): boolean {
  const { detail } = entry as { readonly detail?: { readonly kind?: number } };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
