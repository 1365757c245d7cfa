/** Reaching into pods over their network: the machine's own way of doing what probes and hooks ask for. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { PodHttpRequest, PodNetwork } from "../ports.ts";

export const podNetwork: PodNetwork = {
  httpGet: ({ scheme, address, port, path, headers }: PodHttpRequest, signal) =>
    new Promise((resolve, reject) => {
      const send = scheme === "https" ? httpsRequest : httpRequest;
      const request = send({
        host: address,
        port,
        path,
        headers: [...defaultHeaders(`${address}:${port}`, headers), ...headers].flat(),
        // A connection of its own each time: whether new ones are taken is what is asked. Pods make their own certificates.
        agent: false,
        rejectUnauthorized: false,
        signal,
      });
      request.on("response", (response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      });
      request.on("error", reject);
      request.end();
    }),

  connect: (address, port, signal) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: address, port, signal });
      socket.on("connect", () => {
        resolve();
        socket.destroy();
      });
      socket.on("error", reject);
    }),
};

function defaultHeaders(host: string, given: PodHttpRequest["headers"]): PodHttpRequest["headers"] {
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const usual = [
    // Node adds none of its own to a list of headers.
    ["Host", host],
    ["User-Agent", "agentbox-probe"],
    ["Accept", "*/*"],
    ["Connection", "close"],
  ] as const;
  return usual.filter(([name]) => !names.has(name.toLowerCase()));
}
