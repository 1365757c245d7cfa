import type { Plant } from "./world.ts";

export interface PlantedBug {
  readonly name: string;
  readonly plant: Plant;
}

export const plants: readonly PlantedBug[] = [];
