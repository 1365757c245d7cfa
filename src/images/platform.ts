/** For which machine an image is: operating system, processor, and the processor's variant where that matters. */
import { arch } from "node:process";
import { ImageError } from "./image-error.ts";

export interface Platform {
  readonly os: string;
  /** In Go's words, as images use them: amd64, arm64, … */
  readonly architecture: string;
  /** Such as v7 of arm, v3 of amd64. */
  readonly variant?: string;
}

const goArchitectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le", mips: "mips" };

/** What this machine runs. Sandboxes run on Linux, so images for it are the only ones of use. */
export function machinePlatform(): Platform {
  return { os: "linux", architecture: goArchitectures[arch] ?? arch };
}

/** Reads `linux/arm64`, `linux/arm/v7`. */
export function parsePlatform(text: string): Platform {
  const [os, architecture, variant, ...more] = text.split("/");
  if (!os || !architecture || more.length > 0 || variant === "") {
    throw new ImageError("invalid_config", `${JSON.stringify(text)} is not a platform; write it as linux/amd64 or linux/arm/v7`);
  }
  return { os, architecture, ...(variant === undefined ? {} : { variant }) };
}

export function formatPlatform({ os, architecture, variant }: Platform): string {
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join("/");
}

/**
 * The one of `offers` that suits `wanted` best: same system and processor, and the highest variant that is not above the
 * wanted one, because processors run what was made for their forerunners. Undefined if none does.
 */
export function choosePlatform<T extends { readonly platform?: Platform | undefined }>(
  offers: readonly T[],
  wanted: Platform,
): T | undefined {
  const limit = variantNumber(wanted);
  let best: { readonly offer: T; readonly variant: number } | undefined;
  for (const offer of offers) {
    const { platform } = offer;
    if (platform?.os !== wanted.os || platform.architecture !== wanted.architecture) continue;
    const variant = variantNumber(platform);
    if (variant <= limit && (best === undefined || variant > best.variant)) best = { offer, variant };
  }
  return best?.offer;
}

/** The variant of a processor when none is given: every arm64 is v8, every amd64 at least v1, and arm has long been v7. */
const usualVariants: Readonly<Record<string, number>> = { arm64: 8, arm: 7, amd64: 1 };

function variantNumber({ architecture, variant }: Platform): number {
  const written = /^v(\d+(?:\.\d+)?)$/.exec(variant ?? "")?.[1];
  return written === undefined ? (usualVariants[architecture] ?? 0) : Number(written);
}
