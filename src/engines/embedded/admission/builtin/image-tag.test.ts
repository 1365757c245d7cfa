import { expect, test } from "vitest";
import { defaultPullPolicy } from "./image-tag.ts";

const digest = `sha256:${"0".repeat(64)}`;

test.each(["x", "x:latest", "r:5000/x", "localhost/x", "a/b/c:latest", `x:latest@${digest}`, "a_b", "A.b/c", "[::1]:5000/x"])(
  "%s changes under its name, so it is always pulled",
  (image) => {
    expect(defaultPullPolicy(image)).toBe("Always");
  },
);

test.each(["x:1", "r:5000/x:1", `x@${digest}`, `x:1@${digest}`, "a.b/c_d/e__f:v1.2-3", `r:5000/x@${digest}`])(
  "%s stays what it is, so it is pulled once",
  (image) => {
    expect(defaultPullPolicy(image)).toBe("IfNotPresent");
  },
);

test.each(["", "UPPER", "x:", "x:a b", "x@sha256:12", "a..b", "a___b", "-a", `x:${"t".repeat(129)}`])(
  "%o is no image name, and is pulled once too",
  (image) => {
    expect(defaultPullPolicy(image)).toBe("IfNotPresent");
  },
);
