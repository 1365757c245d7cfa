import type { MachineImage } from "../machine-images.ts";

/** An image as programs read it: times in their usual form. */
export type PrintedImage = Omit<MachineImage, "since" | "lastUsed"> & { readonly since: string; readonly lastUsed: string };

export function forPrograms(image: MachineImage): PrintedImage {
  return { ...image, since: new Date(image.since).toISOString(), lastUsed: new Date(image.lastUsed).toISOString() };
}
