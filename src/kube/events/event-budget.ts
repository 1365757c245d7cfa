/** How many events one object may make: a few at once, then one in a while. What a broken one repeats is not worth a store full of it. */
export interface EventBudget {
  readonly tokens: number;
  readonly at: number;
}

const burst = 25;
const msPerToken = 10_000;

/** What is left after one more event; undefined when there is nothing to spend. */
export function spend(budget: EventBudget | undefined, now: number): EventBudget | undefined {
  const tokens = budget === undefined ? burst : Math.min(burst, budget.tokens + (now - budget.at) / msPerToken);
  return tokens < 1 ? undefined : { tokens: tokens - 1, at: now };
}
