import { expect, test } from "vitest";
import { agentbox, type CliSurroundings } from "../../../test/world/run-cli.ts";
import type { MachineService, ServiceStep, ServiceWish } from "../machine-service.ts";

const steps: readonly ServiceStep[] = [
  { do: "make folder", path: "/var/lib/agentbox", mode: 0o700 },
  { do: "write", path: "/etc/x.service", mode: 0o644, content: "[Unit]\n\n[Service]\n" },
  { do: "link", path: "/usr/local/bin/agentbox", to: "/opt/agentbox/bin/agentbox" },
  { do: "keep", path: "/etc/agentbox" },
  { do: "run", command: ["systemctl", "start", "agentbox.service"] },
];

function machine(more: Partial<MachineService> = {}): {
  readonly done: ServiceStep[];
  readonly wishes: ServiceWish[];
  readonly surroundings: CliSurroundings;
} {
  const done: ServiceStep[] = [];
  const wishes: ServiceWish[] = [];
  const service: MachineService = {
    isRunning: true,
    mayChange: true,
    plan: async (wish) => {
      wishes.push(wish);
      return wish.do === "install" ? steps : [];
    },
    carryOut: async (all, onDone) => {
      for (const step of all) {
        done.push(step);
        onDone(step);
      }
    },
    ...more,
  };
  return { done, wishes, surroundings: { service: async () => service } };
}

test("a dry run prints every step with the files that it would write, and needs no root", async () => {
  const { done, surroundings } = machine({ mayChange: false });
  expect(await agentbox(["install", "--dry-run"], surroundings)).toEqual({
    code: 0,
    stderr: "",
    stdout:
      "would make folder /var/lib/agentbox (700)\nwould write /etc/x.service (644)\n    [Unit]\n\n    [Service]\n" +
      "would link /usr/local/bin/agentbox to /opt/agentbox/bin/agentbox\nwould keep /etc/agentbox\nwould run systemctl start agentbox.service\n",
  });
  expect(done).toEqual([]);
});

test("install does the steps, says each, and where the log and the key are", async () => {
  const { done, wishes, surroundings } = machine();
  const { code, stdout } = await agentbox(["install", "--no-start"], surroundings);
  expect([code, done, wishes]).toEqual([0, steps, [{ do: "install", start: false }]]);
  expect(stdout).toContain("kept /etc/agentbox\nrun systemctl start agentbox.service\nIts log: logs/agentbox.log");
});

test("install says so where systemd does not run", async () => {
  const { surroundings } = machine({ isRunning: false });
  expect((await agentbox(["install"], surroundings)).stdout).toContain("systemd does not run on this machine: nothing was started\n");
});

test.each(["install", "uninstall"])("%s needs root and takes no words", async (command) => {
  const { done, surroundings } = machine({ mayChange: false });
  expect(await agentbox([command], surroundings)).toMatchObject({
    code: 1,
    stderr: `error: ${command} needs root: sudo agentbox ${command}\n`,
  });
  expect(await agentbox([command, "now"], surroundings)).toMatchObject({ code: 2, stderr: expect.stringContaining("unexpected now") });
  expect(done).toEqual([]);
});

test("uninstall asks for the data only when told, and says when nothing is there", async () => {
  const { wishes, surroundings } = machine();
  expect((await agentbox(["uninstall"], surroundings)).stdout).toBe("nothing to do: AgentBox is not installed here\n");
  await agentbox(["uninstall", "--data"], surroundings);
  expect(wishes).toEqual([
    { do: "uninstall", data: false },
    { do: "uninstall", data: true },
  ]);
});
