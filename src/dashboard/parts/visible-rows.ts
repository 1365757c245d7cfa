/** Computes which rows of a long list are on the screen, plus some on both sides. Pure. */
export interface RowWindow {
  readonly first: number;
  /** Not included. */
  readonly end: number;
}

const more = 8;

export function visibleRows(count: number, rowHeight: number, scroll: { readonly top: number; readonly height: number }): RowWindow {
  const first = Math.max(0, Math.floor(scroll.top / rowHeight) - more);
  const end = Math.min(count, Math.ceil((scroll.top + scroll.height) / rowHeight) + more);
  return { first: Math.min(first, end), end };
}
