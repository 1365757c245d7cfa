/** Volumes: make, list, show, delete. Their files are reached with a volume's token (api/e2b/volume-content-routes.ts). */
import { Type } from "typebox";
import { choice, text } from "#model/schema-builders.ts";
import { volumeNameLength, volumeNamePattern, volumeSizes } from "#model/sandbox-volume.ts";
import type { VolumeService } from "#services/volumes/volume-service.ts";
import { noteSubject } from "../http/observe-requests.ts";
import { type Route, route } from "./route.ts";
import { closed, named, open, optional, time } from "./schemas/builders.ts";

const { smallestMiB, largestMiB, usualMiB } = volumeSizes;

const wishSchema = named(
  "CreateVolume",
  closed(
    {
      name: text("Name of the volume, unique for its owner.", { pattern: volumeNamePattern, minLength: 1, maxLength: volumeNameLength }),
      sizeMiB: optional(
        Type.Integer({
          minimum: smallestMiB,
          maximum: largestMiB,
          description: `How much it can hold, in MiB; ${usualMiB} when left out.`,
        }),
      ),
    },
    "A volume to create.",
  ),
);

const properties = {
  id: text("Id of the volume."),
  name: text("Name of the volume."),
  sizeMiB: Type.Integer({ description: "How much it can hold, file system included." }),
  usedMiB: optional(Type.Integer({ description: "How much of that is used. Not in lists; absent where it is not known now." })),
  phase: choice(["Pending", "Ready", "Failed", "Deleting"], "Whether sandboxes can mount it."),
  message: optional(text("Why they cannot.")),
  team: optional(text("Owner; absent for a volume that an admin made without a team.")),
  user: optional(text("Owner; absent for a volume of the whole team.")),
  createdAt: time("Creation time."),
  mountedBy: Type.Array(Type.String(), { description: "Ids of the sandboxes that have it mounted." }),
};
const volumeSchema = named("Volume", open(properties, "Files that outlive sandboxes."));
const withTokenSchema = named(
  "VolumeWithToken",
  open(
    { ...properties, token: text("Bearer token for the files of this volume, under /volumecontent/{id}.") },
    "A volume, with the token of its files.",
  ),
);
const listSchema = open({ volumes: Type.Array(volumeSchema, { description: "By name." }) }, "Volumes.");
const params = Type.Object({ volume: text("Name or id of a volume.", { minLength: 1, maxLength: 253 }) });
const forceQuery = closed(
  {
    force: optional(
      Type.Boolean({ description: "Also while sandboxes have it mounted: they keep it until they end. False when left out." }),
    ),
  },
  "What to do with a volume in use.",
);

export interface VolumeRoutesDeps {
  readonly volumes: VolumeService;
}

export function volumeRoutes({ volumes }: VolumeRoutesDeps): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/volumes",
      name: "createVolume",
      summary: "Create a volume",
      description: "Mount it with volumeMounts of a sandbox to create.",
      body: wishSchema,
      answers: [{ status: 201, description: "The new volume, empty.", schema: withTokenSchema }],
      errors: ["conflict", "limit_reached", "not_implemented"],
      handle: async ({ caller, body, request }) => {
        const made = await volumes.make(caller(), body);
        noteSubject(request, { volume: made.id });
        return { ...made, token: volumes.tokenOf(caller(), made.id) };
      },
    }),
    route({
      method: "GET",
      path: "/volumes",
      name: "listVolumes",
      summary: "List volumes: the caller's, or all for an admin",
      answers: [{ status: 200, description: "All of them.", schema: listSchema }],
      errors: ["not_implemented"],
      handle: async ({ caller }) => ({ volumes: volumes.list(caller()) }),
    }),
    route({
      method: "GET",
      path: "/volumes/{volume}",
      name: "getVolume",
      summary: "Show a volume, with the token of its files",
      params,
      answers: [{ status: 200, description: "The volume.", schema: withTokenSchema }],
      errors: ["not_found", "conflict", "not_implemented"],
      handle: async ({ caller, params: { volume } }) => {
        const view = await volumes.get(caller(), volume);
        return { ...view, token: volumes.tokenOf(caller(), view.id) };
      },
    }),
    route({
      method: "DELETE",
      path: "/volumes/{volume}",
      name: "deleteVolume",
      summary: "Delete a volume with all that is in it",
      params,
      query: forceQuery,
      answers: [{ status: 204, description: "The volume is gone." }],
      errors: ["not_found", "conflict", "not_implemented"],
      handle: ({ caller, params: { volume }, query: { force = false } }) => volumes.remove(caller(), volume, { force }),
    }),
  ];
}
