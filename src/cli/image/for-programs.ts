import type { MachineImage } from "../machine-images.ts";

/** An image for programs: with times in RFC 3339. */
export type PrintedImage = Omit<MachineImage, "since" | "lastUsed"> & { readonly since: string; readonly lastUsed: string };

export function forPrograms(image: MachineImage): PrintedImage {
  return { ...image, since: new Date(image.since).toISOString(), lastUsed: new Date(image.lastUsed).toISOString() };
}
