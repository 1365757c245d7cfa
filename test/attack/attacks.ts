import { apiAttacks } from "./api-attacks.ts";
import { imageAttacks } from "./image-attacks.ts";
import { mcpAttacks } from "./mcp-attacks.ts";
import { sandboxAttacks } from "./sandbox-attacks.ts";
import type { Attack } from "./scene.ts";
import { streamAttacks } from "./stream-attacks.ts";
import { webhookAttacks } from "./webhook-attacks.ts";

export const attacks: readonly Attack[] = [
  ...apiAttacks,
  ...streamAttacks,
  ...mcpAttacks,
  ...webhookAttacks,
  ...sandboxAttacks,
  ...imageAttacks,
];
