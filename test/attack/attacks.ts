import { apiAttacks } from "./api-attacks.ts";
import { imageAttacks } from "./image-attacks.ts";
import { sandboxAttacks } from "./sandbox-attacks.ts";
import type { Attack } from "./scene.ts";

export const attacks: readonly Attack[] = [...apiAttacks, ...sandboxAttacks, ...imageAttacks];
