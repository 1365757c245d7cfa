/** How many requests and upgraded connections may be under way at a time: of one sandbox, whose traffic must not be everybody's trouble, and of all. */
export interface OpenLimits {
  readonly perSandbox: number;
  readonly total: number;
}

export const usualOpenLimits: OpenLimits = { perSandbox: 4000, total: 20_000 };
