/** Events for receivers that are not there: all of them wait. */
import { withSandbox } from "./sandbox-attacks.ts";
import { type Attack, again, Tally } from "./scene.ts";

/** As many as a team may have, at an address that is not allowed, so that each delivery fails at once; and a sandbox that changes all the time. */
const away: Attack = {
  name: "webhooks whose receiver is away",
  run: (attacker, signal) =>
    withSandbox(attacker, async (sandboxId) => {
      const tally = new Tally();
      const webhook = { url: "http://127.0.0.1:1/", signatureSecret: "secret", events: ["sandbox.lifecycle.updated"] };
      for (let count = 0; count < 25; count++) {
        await tally.count(attacker.ask("POST", "/events/webhooks", { name: `hook-${count}`, ...webhook }, signal));
      }
      await again(signal, { parallel: 8, rounds: 20_000 }, (round) =>
        tally.count(attacker.ask("PUT", `/v1/sandboxes/${sandboxId}/timeout`, { lifetime: `${600 + (round % 600)}s` }, signal)),
      );
      return tally.toString();
    }),
};

export const webhookAttacks: readonly Attack[] = [away];
