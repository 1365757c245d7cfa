import { informerContract } from "./informer.contract.ts";
import { describeServers } from "./servers.ts";

describeServers("informers", informerContract);
