/** Structured values about a pod that carries sandboxes, beside what Kubernetes itself has in a pod. */
import { Type, type Static } from "typebox";
import type { Frozen } from "./frozen.ts";
import { resourceList, text, time } from "./schema-builders.ts";

/** JSON in annotationKeys.sandboxStatusDetail. */
const sandboxStatusDetailSchema = Type.Object(
  {
    reason: text("One word for programs, such as ImagePullBackOff."),
    message: text("The same for people."),
    lastUpdatedTime: time("When this was written."),
  },
  { description: "Why a pod is where it is." },
);

/** For schedulers that keep room for sandboxes before their pods exist. */
const sandboxReservationSchema = Type.Object(
  {
    priorityClassName: Type.Optional(text("PriorityClass of the pods.")),
    replicaQuota: resourceList("Resources to keep for each pod."),
  },
  { description: "Room that is kept for the pods of a pool." },
);

export type SandboxStatusDetail = Frozen<Static<typeof sandboxStatusDetailSchema>>;
export type SandboxReservationSpec = Frozen<Static<typeof sandboxReservationSchema>>;
