import { expect, test } from "vitest";
import { parseMountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { cgroupLayout } from "./detect.ts";

const entry = (target: string, type: string): string => `30 1 0:30 / ${target} rw - ${type} ${type} rw`;

test.each([
  ["v2 alone", "unified", [entry("/sys/fs/cgroup", "cgroup2")]],
  [
    "v1 with v2 beside it",
    "hybrid",
    [entry("/sys/fs/cgroup", "tmpfs"), entry("/sys/fs/cgroup/memory", "cgroup"), entry("/sys/fs/cgroup/unified", "cgroup2")],
  ],
  ["v2 mounted over v1", "unified", [entry("/sys/fs/cgroup", "tmpfs"), entry("/sys/fs/cgroup", "cgroup2")]],
])("a machine with %s has the layout %s", (_, layout, lines) => {
  expect(cgroupLayout(parseMountTable(lines.join("\n")))).toBe(layout);
});

test("a machine without cgroups is refused with what to do", () => {
  expect(() => cgroupLayout(parseMountTable(entry("/", "ext4")))).toThrow("elsewhere: mount -t cgroup2 none /sys/fs/cgroup");
});
