import { describeServers } from "./servers.ts";
import { waitContract } from "./wait.contract.ts";

describeServers("wait tasks", waitContract);
