export interface Bar {
  readonly name: string;
  readonly count: number;
  readonly isBad?: boolean;
}

/** Counts beside each other. */
export function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return (
    <div class="bars">
      {bars.map(({ name, count, isBad = false }) => (
        <div class="bar-row" key={name}>
          <span class="cell" title={name}>
            {name}
          </span>
          <span class="bar" aria-hidden="true">
            <span class={isBad ? "bad" : ""} style={{ width: `${(100 * count) / most}%` }} />
          </span>
          <span class="amount">{count}</span>
        </div>
      ))}
    </div>
  );
}
