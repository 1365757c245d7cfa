import type { CliContext } from "../context.ts";
import type { MachineImage } from "../machine-images.ts";

/** Images for programs: times in their usual form. */
export function printJson(context: CliContext, images: readonly MachineImage[]): void {
  const shown = images.map((image) => ({ ...image, since: isoTime(image.since), lastUsed: isoTime(image.lastUsed) }));
  context.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
