/** Which pool is meant. */
export interface PoolRef {
  readonly namespace: string;
  readonly name: string;
}

/** The same text for the same pool; no two pools have the same one. */
export function poolKey({ namespace, name }: PoolRef): string {
  return `${namespace}/${name}`;
}
