/**
 * How a gateway reaches what listens on the sandbox's own loopback: `CONNECT 127.0.0.1:<port>` to the daemon, with the sandbox's tunnel
 * token in this header. The daemon learns the token when it is armed (`InitBody.tunnelToken`), and answers 200 and then carries bytes,
 * 403 without the right token, 502 when nobody listens there.
 */
export const tunnelTokenHeader = "agentbox-tunnel-token";
