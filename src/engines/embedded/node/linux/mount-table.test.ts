import { expect, test } from "vitest";
import { mountOf, mountsBelow, parseMountTable } from "./mount-table.ts";

const recorded = `21 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
22 21 0:20 / /proc rw,relatime shared:5 master:1 - proc proc rw
40 21 0:30 / /run/agentbox-1 rw,nosuid - tmpfs agentbox rw,mode=711
41 40 0:4 net:[4026532300] /run/agentbox-1/slots/3/net rw - nsfs nsfs rw
42 21 0:31 / /mnt/with\\040blank\\134s rw - tmpfs my\\040disk rw
43 40 0:32 / /run/agentbox-1 rw - tmpfs over rw
`;

test("targets, types, sources and options are read, blanks in them too", () => {
  const table = parseMountTable(recorded);
  expect(table).toHaveLength(6);
  expect(table[0]).toEqual({ target: "/", type: "ext4", source: "/dev/vda", options: "rw,discard" });
  expect(table[3]).toMatchObject({ target: "/run/agentbox-1/slots/3/net", type: "nsfs" });
  expect(table[4]).toMatchObject({ target: "/mnt/with blank\\s", source: "my disk" });
});

test("a path lies on the nearest mount above it, the last one if several lie over each other", () => {
  const table = parseMountTable(recorded);
  expect(mountOf("/etc/passwd", table)?.target).toBe("/");
  expect(mountOf("/run/agentbox-1/pods", table)?.source).toBe("over");
  expect(mountOf("/run/agentbox-12", table)?.target).toBe("/");
  expect(mountOf("/proc", table)?.type).toBe("proc");
});

test("below a folder is what is mounted in it, the last one first, and neither itself nor a neighbour of a longer name", () => {
  const table = parseMountTable(
    `${recorded}44 21 0:33 / /run/agentbox-12/slots rw - tmpfs x rw\n45 40 0:34 / /run/agentbox-1/pods rw - tmpfs x rw\n`,
  );
  expect(mountsBelow("/run/agentbox-1", table)).toEqual(["/run/agentbox-1/pods", "/run/agentbox-1/slots/3/net"]);
});

test.each(["", "/", "//", "/run", "/run/", "run/agentbox-1"])("nothing is unmounted below %j: it is not a folder of AgentBox", (folder) => {
  expect(() => mountsBelow(folder, parseMountTable(recorded))).toThrow(/no folder of AgentBox/);
});
