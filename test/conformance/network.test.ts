/** Where a sandbox may connect to, changed while it runs; seen by connections from inside to addresses that this machine plays. */
import { expect, test } from "vitest";
import { anOutside, ask, type Outside, outsidePort } from "../node/isolation/outside.ts";
import { describeSdks } from "./describe-sdks.ts";
import type { Sandbox } from "./sdk.ts";

const everywhere = "0.0.0.0/0";

/** Whether it gets an answer of the first and of the second address. */
async function reachedBy(sandbox: Sandbox, outside: Outside): Promise<readonly boolean[]> {
  const answers = [outside.publicAddress, outside.secondPublicAddress].map(async (address) => {
    const { stdout } = await sandbox.commands.run(`python3 -c '${ask(address, outsidePort)}'`);
    return stdout.startsWith("answered");
  });
  return Promise.all(answers);
}

describeSdks(
  "the network of a running sandbox",
  (use) => {
    const outside = anOutside();
    const reached = (sandbox: Sandbox): Promise<readonly boolean[]> => reachedBy(sandbox, outside);

    test("addresses are denied and allowed again", async () => {
      const sandbox = await use.create();
      expect(await reached(sandbox)).toEqual([true, true]);
      await sandbox.updateNetwork({ denyOut: [outside.secondPublicAddress] });
      expect(await reached(sandbox)).toEqual([true, false]);
      await sandbox.updateNetwork({});
      expect(await reached(sandbox)).toEqual([true, true]);
    });

    test("a network is denied, but for an address in it that is allowed", async () => {
      const sandbox = await use.create();
      await sandbox.updateNetwork({ denyOut: ["25.0.0.0/8"], allowOut: [outside.publicAddress] });
      expect(await reached(sandbox)).toEqual([true, false]);
      await sandbox.updateNetwork({ denyOut: ["25.0.0.0/8"] });
      expect(await reached(sandbox)).toEqual([false, false]);
    });

    test("where everything is denied, what is allowed is all there is", async () => {
      const sandbox = await use.create();
      await use.sdk.Sandbox.updateNetwork(sandbox.sandboxId, { denyOut: [everywhere], allowOut: [`${outside.secondPublicAddress}/32`] });
      expect(await reached(sandbox)).toEqual([false, true]);
      expect(await sandbox.getInfo()).toMatchObject({
        network: { denyOut: [everywhere], allowOut: [`${outside.secondPublicAddress}/32`] },
      });
    });

    test("what a sandbox was made with is replaced as a whole", async () => {
      const sandbox = await use.create({ network: { denyOut: [outside.publicAddress] } });
      expect(await reached(sandbox)).toEqual([false, true]);
      await sandbox.updateNetwork({ denyOut: [outside.secondPublicAddress] });
      expect(await reached(sandbox)).toEqual([true, false]);
    });

    test("what is no address is refused, and changes nothing", async () => {
      const sandbox = await use.create({ network: { denyOut: [outside.publicAddress] } });
      await expect(sandbox.updateNetwork({ denyOut: ["example.com"] })).rejects.toThrow(/example\.com/);
      expect(await reached(sandbox)).toEqual([false, true]);
    });

    test("a sandbox that never was has no network to change", async () => {
      await expect(use.sdk.Sandbox.updateNetwork("inosuchsandbox", {})).rejects.toBeInstanceOf(use.sdk.NotFoundError);
    });
  },
  // Older ones have no such call.
  { needs: "egress", by: (version) => version !== "2.14.1" },
);
