import type { FastifyRequest } from "fastify";

/** Where the files of a build are sent, without a key. */
export const uploadPath = "/templates/files";

/** By the name under which the client reached this server, perhaps through the gateway, which says so. */
export function uploadUrl(request: FastifyRequest, token: string): string {
  const proto = request.headers["x-forwarded-proto"];
  return `${proto === "https" || proto === "http" ? proto : request.protocol}://${request.host}${uploadPath}/${token}`;
}
