import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { MemberLease } from "#kube/members/member-lease.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { openTestStore } from "../../../test/world/bare-store.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { followNodeAgents, nodeAgentMember, nodeAgentTiming } from "./node-agents.ts";

const namespace = "agentbox";

test("sandboxes can be paused where an agent is, while it is started anew, and not a minute after it died", async () => {
  using store = openTestStore({ kinds: embeddedKindRules() });
  const { clock } = store;
  const deps = { client: store, clock, log: recordedLog().log, namespace };
  await store.create(Namespaces, { metadata: { name: namespace } });
  await using agents = followNodeAgents(deps);
  await agents.run(new AbortController().signal);
  expect([agents.freezes(), agents.freezes("a")]).toEqual([false, false]);

  const longName = "n".repeat(250);
  const leases = ["a", longName].map((node) => new MemberLease(deps, nodeAgentMember(namespace, node), nodeAgentTiming));
  await clock.step(2000);
  expect([agents.freezes(), agents.freezes("a"), agents.freezes("b"), agents.freezes(longName)]).toEqual([true, true, false, true]);

  for (const lease of leases) {
    const stopped = lease.stop();
    await clock.step(2000);
    await stopped;
  }
  await clock.step(40_000);
  expect(agents.freezes("a")).toBe(true);
  await clock.step(30_000);
  expect([agents.freezes(), agents.freezes("a")]).toEqual([false, false]);
});
