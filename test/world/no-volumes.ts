import { unable } from "#engine-port/abilities.ts";
import { type VolumeService, volumeService } from "#services/volumes/volume-service.ts";

/** Of an engine that has none: every call says so. */
export const noVolumes: VolumeService = volumeService({
  abilities: { volumes: () => unable("this server has no volumes") },
  client: undefined as never,
  cache: { listSandboxes: () => [].values() },
  namespace: "default",
  tokenOf: () => "",
});
