import { describe, expect, test } from "vitest";
import { factsOf, type Written } from "../../../../../../test/world/rendered-container.ts";
import type { ContainerSecurity } from "../../pod-runtime.ts";
import { containerSecurity } from "./security.ts";

function security(pod: object, container: object, imageUser = ""): ContainerSecurity {
  const written: Written = { container: { securityContext: container }, spec: { securityContext: pod } };
  const facts = factsOf(written);
  return containerSecurity(facts.pod, facts.container, imageUser);
}

describe("the user", () => {
  test.each([
    ["is root when nobody says otherwise", {}, {}, "", "0"],
    ["is the image's", {}, {}, "app:web", "app:web"],
    ["is the pod's before the image's, without the image's group", { runAsUser: 1 }, {}, "app:web", "1"],
    ["is the container's before the pod's", { runAsUser: 1, runAsGroup: 2 }, { runAsUser: 3 }, "", "3:2"],
    ["keeps the image's name with another group", { runAsGroup: 5 }, {}, "app", "app:5"],
    ["may be 0", { runAsUser: 1 }, { runAsUser: 0 }, "", "0"],
  ])("%s", (...[, pod, container, image, user]) => expect(security(pod, container, image).user).toBe(user));
});

describe("runAsNonRoot", () => {
  test.each([
    ["refuses root", {}, "", "its user is 0"],
    ["refuses a name that cannot be told", {}, "app", "cannot be told from its name"],
  ])("%s", (_, container, image, message) => expect(() => security({ runAsNonRoot: true }, container, image)).toThrow(message));

  test("lets others run", () => {
    expect(security({ runAsNonRoot: true }, { runAsUser: 1000 }).user).toBe("1000");
    expect(security({ runAsNonRoot: true }, { runAsNonRoot: false }).user).toBe("0");
  });
});

test("groups are the pod's and its volumes' group, each once", () => {
  expect(security({ supplementalGroups: [1, 2], fsGroup: 2 }, {}).supplementalGroups).toEqual([1, 2]);
});

test("capabilities have one form, however they are written", () => {
  expect(security({}, { capabilities: { add: ["net_admin", "CAP_SYS_PTRACE"], drop: ["ALL"] } })).toMatchObject({
    addCapabilities: ["CAP_NET_ADMIN", "CAP_SYS_PTRACE"],
    dropCapabilities: ["ALL"],
  });
});

test("escalation is allowed unless it is forbidden, and the root is writable unless it is not", () => {
  expect(security({}, {})).toMatchObject({ allowPrivilegeEscalation: true, readOnlyRootFilesystem: false });
  expect(security({}, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })).toMatchObject({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
  });
});
