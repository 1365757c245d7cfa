import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { program, transcriptOf } from "../contract/cli-transcript.ts";

/** `vitest run --project kubernetes kubectl-transcript --update` records it anew, after a change of the scenario. */
test("kubectl answers the command-line scenario as it is recorded", async () => {
  const kubectl = program(join(inject("kubernetes").bin, "kubectl"), ["--kubeconfig", inject("kubeconfig")]);
  await expect(await transcriptOf(kubectl, "cli-them")).toMatchFileSnapshot("../contract/cli-transcript.txt");
});
