import {
  type Client as WireClient,
  type ClientDetails as WireClientDetails,
  ClientTransport,
  getClient,
  getClients,
  getMe,
  nameOf,
  NO_USER_ID,
} from "@iggy/protocol";
import { u32 } from "../values/check.js";
import type { CallOptions, Calls } from "./caller.js";

export interface ClientInfo {
  /** Short number of the connection on its node. */
  readonly clientId: number;
  /** null before sign-in. */
  readonly userId: number | null;
  readonly transport: "tcp" | "quic" | "http" | "ws" | "unknown";
  readonly address: string;
  readonly consumerGroupsCount: number;
}

export interface ClientDetails extends ClientInfo {
  readonly consumerGroups: readonly { readonly streamId: number; readonly topicId: number; readonly groupId: number }[];
}

/** Connections of the node that answers. */
export class ClientApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  async getMe(options?: CallOptions): Promise<ClientDetails> {
    return clientDetails(await this.#caller.read(getMe, {}, {}, options));
  }

  async get({ clientId }: { readonly clientId: number }, options?: CallOptions): Promise<ClientDetails | null> {
    const request = { clientId: u32("clientId", clientId) };
    const found = await this.#caller.read(getClient, request, { clientId }, options);
    return found === null ? null : clientDetails(found);
  }

  async list(options?: CallOptions): Promise<ClientInfo[]> {
    const { clients } = await this.#caller.read(getClients, {}, {}, options);
    return clients.map(clientInfo);
  }
}

function clientInfo(client: WireClient): ClientInfo {
  const transport = nameOf(ClientTransport, client.transport) ?? "unknown";
  return {
    clientId: client.clientId,
    userId: client.userId === NO_USER_ID ? null : client.userId,
    transport: transport === "websocket" ? "ws" : transport,
    address: client.address,
    consumerGroupsCount: client.consumerGroupsCount,
  };
}

const clientDetails = (details: WireClientDetails): ClientDetails => ({
  ...clientInfo(details.client),
  consumerGroups: details.consumerGroups,
});
